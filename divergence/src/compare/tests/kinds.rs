//! Embeddings and generated text.

use super::*;
use crate::Kind;

fn vector(values: &[f64]) -> Output {
    Output { kind: Kind::Embedding, ..output("embedding", DType::Fp32, &[1, values.len() as u64], values) }
}

#[test]
fn embeddings_agree_by_direction_and_length_and_not_by_element() {
    let base: Vec<f64> = (1..=64).map(|index| f64::from(index).sin()).collect();
    let noisy: Vec<f64> = base
        .iter()
        .enumerate()
        .map(|(index, value)| value + if index % 2 == 0 { 0.01 } else { -0.01 })
        .collect();
    let near = pair(vector(&base), vector(&noisy));
    // Elements are off by many tolerances, a small one by more than its size: the direction is not.
    assert_eq!(verdict(&near), (Class::WithinTol, "", false));
    assert!(
        near.cosine.is_some_and(|cosine| cosine > 0.999)
            && near.max_absolute.is_some_and(|largest| largest > 0.009)
    );
    let longer: Vec<f64> = base.iter().map(|value| value * 1.05).collect();
    let scaled = pair(vector(&base), vector(&longer));
    assert_eq!(verdict(&scaled), (Class::Numeric, "", false));
    assert!(scaled.tolerance_units.is_some_and(|units| (units - 5.0).abs() < 1e-6));
    let tenfold = pair(vector(&base), vector(&base.iter().map(|value| value * 10.0).collect::<Vec<_>>()));
    assert_eq!(verdict(&tenfold), (Class::Gross, "ratio", true));
    let turned = pair(vector(&[1.0, 0.0, 0.0]), vector(&[0.8, 0.6, 0.0]));
    assert_eq!(verdict(&turned), (Class::Gross, "tolerance", true));
    assert_eq!(pair(vector(&base), vector(&base)).class, Class::BitEqual);
    let lost = pair(vector(&[1.0, 2.0]), vector(&[0.0, 0.0]));
    assert_eq!(verdict(&lost), (Class::Degenerate, "shadow_only:all_zero", true));
    let broken = [1.0, f64::NAN, f64::INFINITY, 4.0];
    assert_eq!(verdict(&pair(vector(&broken), vector(&broken))), (Class::BitEqual, "", false));
    let differently = pair(vector(&broken), vector(&[1.0, f64::NAN, f64::INFINITY, 5.0]));
    assert!(differently.serious);
}

#[test]
fn the_vector_that_turned_is_named() {
    let batch = |values: &[f64]| Output {
        kind: Kind::Embedding,
        ..output("embedding", DType::Fp32, &[3, 2], values)
    };
    let found = pair(batch(&[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]), batch(&[1.0, 0.0, 1.0, 0.0, 0.9, 0.1]));
    assert_eq!((found.class, found.worst_row, found.worst_index), (Class::Numeric, Some(2), Some(4)));
    assert!(found.fraction_beyond.is_some_and(|share| (share - 1.0 / 3.0).abs() < 1e-12));
}

/// A generation: its tokens, with the two best at each place.
fn generated(tokens: &[&str], logprob: f64, rivals: &[(&str, f64)], reason: &str) -> Vec<Output> {
    let kind = |kind, output: Output| Output { kind, ..output };
    let count = tokens.len() as u64;
    let logprobs = output("choices.0.logprobs", DType::Fp64, &[count], &vec![logprob; tokens.len()]);
    let best = tokens.iter().zip(rivals).flat_map(|(_, rival)| [logprob, rival.1]).collect::<Vec<_>>();
    let keys = tokens
        .iter()
        .zip(rivals)
        .flat_map(|(token, rival)| [(*token).to_owned(), rival.0.to_owned()])
        .collect();
    let top =
        Output { keys, ..output("choices.0.top_logprobs", DType::Fp64, &[rivals.len() as u64, 2], &best) };
    vec![
        kind(Kind::Reason, text("choices.0.finish_reason", &[reason])),
        kind(Kind::Logprobs, logprobs),
        kind(Kind::Text, text("choices.0.text", &[&tokens.concat()])),
        kind(Kind::Tokens, text("choices.0.tokens", tokens)),
        kind(Kind::Logprobs, top),
    ]
}

fn generations(primary: Vec<Output>, shadow: Vec<Output>) -> Divergence {
    judged(primary, shadow, &Rules::default())
}

#[test]
fn a_token_of_which_the_model_was_not_sure_is_a_near_tie_and_another_is_real() {
    let p =
        || generated(&["the", " cat", " sat"], -0.7, &[("a", -3.0), (" dog", -0.72), (" ran", -4.0)], "stop");
    let near = generations(
        p(),
        generated(&["the", " dog", " ran"], -0.7, &[("a", -3.0), (" cat", -0.73), (" sat", -2.0)], "stop"),
    );
    assert_eq!(verdict(&near), (Class::Flip, "near_tie:token", false));
    assert_eq!(near.measures.first_difference, Some(1));
    assert_eq!((near.worst_output.as_deref(), near.worst_index), (Some("choices.0.text"), Some(1)));
    assert!(near.measures.logprob_gap.is_some_and(|gap| (gap - 0.03).abs() < 1e-9));
    let real = generations(
        p(),
        generated(&["the", " xyz", " ran"], -0.1, &[("a", -3.0), (" abc", -5.0), (" sat", -2.0)], "stop"),
    );
    assert_eq!(verdict(&real), (Class::Flip, "real:token", true));
    assert_eq!(real.measures.logprob_gap, Some(f64::INFINITY));
    let same = generations(p(), p());
    assert_eq!((verdict(&same), same.measures.edit_distance), ((Class::BitEqual, "", false), Some(0.0)));
}

#[test]
fn log_probabilities_are_noise_up_to_a_tenth_of_a_nat_and_never_a_ratio() {
    let of = |logprob| generated(&["a", "b"], logprob, &[("x", -3.0), ("y", -3.0)], "stop");
    assert_eq!(generations(of(-0.001), of(-0.06)).class, Class::WithinTol);
    assert_eq!(verdict(&generations(of(-0.001), of(-0.3))), (Class::Numeric, "", false));
    assert_eq!(verdict(&generations(of(-0.5), of(-11.0))), (Class::Gross, "tolerance", true));
}

#[test]
fn a_generation_that_breaks_off_is_truncated_and_one_that_ends_earlier_is_another_text() {
    let long = generated(&["a", "b", "c"], -0.1, &[], "stop");
    let cut = generations(long.clone(), generated(&["a", "b"], -0.1, &[], "length"));
    assert_eq!(verdict(&cut), (Class::Structure, "truncated:choices.0.text at 2", true));
    let ended = generations(long.clone(), generated(&["a", "b"], -0.1, &[], "stop"));
    assert_eq!(verdict(&ended), (Class::Flip, "real:token", true));
    let reason = generations(long, generated(&["a", "b", "c"], -0.1, &[], "tool_calls"));
    assert_eq!(verdict(&reason), (Class::Flip, "real:reason", true));
}

#[test]
fn a_model_that_repeats_one_token_or_says_nothing_is_degenerate() {
    let talk: Vec<String> = (0..20).map(|index| format!("w{index}")).collect();
    let talk: Vec<&str> = talk.iter().map(String::as_str).collect();
    let stuck =
        generations(generated(&talk, -0.1, &[], "length"), generated(&["!"; 20], -0.1, &[], "length"));
    assert_eq!(verdict(&stuck), (Class::Degenerate, "shadow_only:repeated", true));
    let say = |words: &str| vec![Output { kind: Kind::Text, ..text("text", &[words]) }];
    assert_eq!(
        verdict(&generations(say("all is well"), say(""))),
        (Class::Degenerate, "shadow_only:empty", true)
    );
}

#[test]
fn a_loop_is_degenerate_in_text_and_in_tokens_however_it_began() {
    let say = |words: &str| vec![Output { kind: Kind::Text, ..text("text", &[words]) }];
    let good = "the quick brown fox jumps over the lazy dog while nobody looks at it from the other side of the river bank";
    let begun = format!("{good} {}", "ha ".repeat(40));
    for stuck in ["!".repeat(100), "no ".repeat(40), begun, "a b c d e f g h i j k l ".repeat(40)] {
        let found = generations(say(good), say(&stuck));
        assert_eq!(verdict(&found), (Class::Degenerate, "shadow_only:repeated", true), "{stuck}");
        // What the primary does too is how the model is.
        assert_eq!(generations(say(&stuck), say(&stuck)).class, Class::BitEqual);
    }
    // A refrain at the end of a longer text.
    let refrain = format!("{} {}", (0..60).map(|n| format!("w{n} ")).collect::<String>(), "la ".repeat(40));
    assert_eq!(verdict(&generations(say(good), say(&refrain))), (Class::Flip, "real:text", true));
    let talk: Vec<String> = (0..40).map(|index| format!("w{index}")).collect();
    let talk: Vec<&str> = talk.iter().map(String::as_str).collect();
    let looping: Vec<&str> = talk[..20].iter().copied().chain(["ha"; 40]).collect();
    let found = generations(generated(&talk, -0.1, &[], "stop"), generated(&looping, -0.1, &[], "stop"));
    assert_eq!(verdict(&found), (Class::Degenerate, "shadow_only:repeated", true));
}

#[test]
fn text_without_tokens_is_measured_in_words() {
    let say = |words: &str| vec![Output { kind: Kind::Text, ..text("text", &[words]) }];
    let found = generations(say("police killed the gunman"), say("police kill the gunman"));
    assert_eq!(verdict(&found), (Class::Flip, "real:text", true));
    assert_eq!((found.measures.first_difference, found.measures.edit_distance), (Some(1), Some(0.25)));
    assert_eq!((found.measures.rouge_l, found.measures.common_prefix), (Some(0.75), Some(0.25)));
    assert_eq!((found.worst_output.as_deref(), found.worst_index), (Some("text"), Some(1)));
}

#[test]
fn a_count_that_alone_differs_is_a_small_thing() {
    let count = |tokens| {
        vec![
            Output { kind: Kind::Count, ..output("usage.prompt_tokens", DType::Int64, &[], &[tokens]) },
            scores(&[0.5]),
        ]
    };
    assert_eq!(verdict(&generations(count(7.0), count(9.0))), (Class::Numeric, "count", false));
}

#[test]
fn text_that_is_drawn_by_chance_may_be_another_and_not_none() {
    let say = |words: &str| vec![Output { kind: Kind::Text, ..text("text", &[words]) }];
    let other = generations(say("police killed the gunman"), say("the sun is out"));
    assert_eq!(verdict(&other.of_sampled()), (Class::Flip, "sampled:text", false));
    let cut = generations(
        generated(&["a", "b", "c"], -0.1, &[], "stop"),
        generated(&["a", "b"], -0.1, &[], "length"),
    );
    assert_eq!(verdict(&cut.of_sampled()), (Class::Flip, "sampled:text", false));
    let none = generations(say("all is well"), say("")).of_sampled();
    assert_eq!(verdict(&none), (Class::Degenerate, "shadow_only:empty", true));
    let score = pair(row(&[0.9, 0.1]), row(&[0.1, 0.9])).of_sampled();
    assert!(score.serious);
}
