//! Differences planted into an answer, and all that is said of each: the table of `docs/DIFFERENCES.md`.

use divergence::{Answer, Divergence, Rules, Side, compare};

/// A difference, as two bodies of one path.
struct Planted {
    what: &'static str,
    path: &'static str,
    primary: String,
    candidate: String,
    rules: &'static str,
    /// Fields of the divergence that show it.
    metrics: &'static [&'static str],
}

const V2: &str = "/v2/models/m/infer";
const CHAT: &str = "/v1/chat/completions";

fn scores(data: &str) -> String {
    let count = data.split(',').count();
    format!(
        r#"{{"model_name":"m","outputs":[{{"name":"score","datatype":"FP32","shape":[1,{count}],"data":[{data}]}}]}}"#
    )
}

fn ranked(ids: &str, scores: &str) -> String {
    let ids = format!(r#"{{"name":"ids","datatype":"INT64","shape":[4],"data":[{ids}]}}"#);
    let scores = format!(r#"{{"name":"scores","datatype":"FP32","shape":[4],"data":[{scores}]}}"#);
    format!(r#"{{"model_name":"m","outputs":[{ids},{scores}]}}"#)
}

fn detected(boxes: &str, scores: &str) -> String {
    let count = scores.split(',').count();
    let boxes = format!(r#"{{"name":"boxes","datatype":"FP32","shape":[{count},4],"data":[{boxes}]}}"#);
    let scores = format!(r#"{{"name":"scores","datatype":"FP32","shape":[{count}],"data":[{scores}]}}"#);
    format!(r#"{{"model_name":"m","outputs":[{boxes},{scores}]}}"#)
}

fn chat(tokens: &[(&str, f64, &str, f64)]) -> String {
    let token = |(token, own, other, second): &(&str, f64, &str, f64)| {
        let top =
            format!(r#"[{{"token":"{token}","logprob":{own}}},{{"token":"{other}","logprob":{second}}}]"#);
        format!(r#"{{"token":"{token}","logprob":{own},"top_logprobs":{top}}}"#)
    };
    let text: String = tokens.iter().map(|(token, ..)| *token).collect();
    let logprobs: Vec<String> = tokens.iter().map(token).collect();
    let logprobs = logprobs.join(",");
    let message = format!(r#"{{"role":"assistant","content":"{text}"}}"#);
    let choice = format!(
        r#"{{"index":0,"message":{message},"logprobs":{{"content":[{logprobs}]}},"finish_reason":"stop"}}"#
    );
    format!(r#"{{"object":"chat.completion","model":"m","choices":[{choice}]}}"#)
}

const RANKING: &str = "[[rankings]]\nids = \"ids\"\nscores = \"scores\"";
const DETECTION: &str = "[[detections]]\nboxes = \"boxes\"\nscores = \"scores\"";
const GOOD: &str = "0.52,0.26,0.22";
const BOXES: &str = "0,0,10,10,20,0,30,10";

fn planted() -> Vec<Planted> {
    let of = |what, candidate: &str, metrics| Planted {
        what,
        path: V2,
        primary: scores(GOOD),
        candidate: scores(candidate),
        rules: "",
        metrics,
    };
    let near = |what, primary: &str, candidate: &str, metrics| Planted {
        primary: scores(primary),
        ..of(what, candidate, metrics)
    };
    let ranking = |what, ids: &str, values: &str, metrics| Planted {
        primary: ranked("7,8,9,5", "0.9,0.8,0.7,0.1"),
        candidate: ranked(ids, values),
        rules: RANKING,
        ..of(what, GOOD, metrics)
    };
    let detection = |what, boxes: &str, values: &str, metrics| Planted {
        primary: detected(BOXES, "0.9,0.6"),
        candidate: detected(boxes, values),
        rules: DETECTION,
        ..of(what, GOOD, metrics)
    };
    let said = [("Yes", -0.1, "No", -2.4), (" it", -0.2, " he", -1.8), (" is", -0.1, " was", -3.0)];
    let token = |what,
                 second: (&'static str, f64, &'static str, f64),
                 first: (&'static str, f64, &'static str, f64),
                 metrics| Planted {
        path: CHAT,
        primary: chat(&[said[0], first, said[2]]),
        candidate: chat(&[said[0], second, said[2]]),
        ..of(what, GOOD, metrics)
    };
    vec![
        of("nothing", GOOD, &["bit_equal"]),
        near(
            "one unit in the last place",
            "0.519999981,0.26,0.22",
            "0.520000041,0.26,0.22",
            &["ulp_max", "max_absolute"],
        ),
        of("one score drifts by 1 %", "0.52,0.2626,0.22", &["max_relative", "fraction_beyond"]),
        of("one score ten times too large", "0.52,0.26,2.2", &["log10_ratio", "max_absolute"]),
        of("all ten times too large", "5.2,2.6,2.2", &["log10_ratio", "norm_ratio", "cosine"]),
        of("a sign", "0.52,-0.26,0.22", &["sign_change", "cosine"]),
        of("nothing but zeros", "0.0,0.0,0.0", &["shadow_degenerate", "norm_ratio"]),
        of("NaN", "0.52,NaN,0.22", &["shadow_degenerate", "fraction_beyond"]),
        near("zeros on the primary", "0.0,0.0,0.0", GOOD, &["primary_degenerate"]),
        near(
            "the two best change places",
            "0.41,0.38,0.21",
            "0.38,0.41,0.21",
            &["argmax_flip", "argmax_near_tie", "rank_cost"],
        ),
        near(
            "two of nearly one score change places",
            "0.4001,0.4,0.2",
            "0.4,0.4001,0.2",
            &["argmax_flip", "argmax_near_tie"],
        ),
        of("another shape", "0.52,0.26", &["bit_equal"]),
        ranking(
            "a ranking listed in another order",
            "5,9,8,7",
            "0.1,0.7,0.8,0.9",
            &["kendall_tau", "rank_biased_overlap"],
        ),
        ranking(
            "two places below the top change",
            "7,9,8,5",
            "0.9,0.76,0.74,0.1",
            &["kendall_tau", "rank_cost"],
        ),
        ranking(
            "an item that the primary does not list",
            "7,8,9,6",
            "0.9,0.8,0.7,0.4",
            &["top_k_overlap", "rank_biased_overlap"],
        ),
        ranking("the items of another request", "1,2,3,4", "0.9,0.8,0.7,0.1", &["top_k_overlap"]),
        detection("boxes in another order", "20,0,30,10,0,0,10,10", "0.6,0.9", &["detection_f1", "mean_iou"]),
        detection(
            "a box shifted by a fifth",
            "2,0,12,10,20,0,30,10",
            "0.9,0.6",
            &["mean_iou", "detection_f1"],
        ),
        detection("a lost box", "0,0,10,10", "0.9", &["detection_f1"]),
        token(
            "another token, with the log probabilities well apart",
            (" he", -0.3, " it", -1.5),
            said[1],
            &["first_difference", "logprob_gap", "edit_distance"],
        ),
        token(
            "another token that was as likely",
            (" he", -0.690, " it", -0.696),
            (" it", -0.692, " he", -0.694),
            &["first_difference", "logprob_gap"],
        ),
        Planted {
            path: "/predict",
            primary: r#"{"risk":0.52,"label":"low"}"#.into(),
            candidate: r#"{"risk":0.52,"label":"high"}"#.into(),
            ..of("another label in JSON of no known shape", GOOD, &["json_differences"])
        },
        Planted {
            path: "/predict",
            primary: r#"{"risk":0.52,"label":"low"}"#.into(),
            candidate: r#"{"risk":null,"label":"low"}"#.into(),
            ..of(
                "a missing number in JSON of no known shape",
                GOOD,
                &["json_differences", "shadow_degenerate"],
            )
        },
    ]
}

fn judged(planted: &Planted) -> Divergence {
    let rules: Rules = toml::from_str(planted.rules).expect("rules that are valid");
    let decoded = |body: &str| {
        divergence::decode(&Answer::new(planted.path, 200, &[], body.as_bytes()), &rules)
            .unwrap_or_else(|error| panic!("{}: {error}", planted.what))
    };
    let (primary, candidate) = (decoded(&planted.primary), decoded(&planted.candidate));
    compare(Side::Outputs(&primary), Side::Outputs(&candidate), &rules)
}

fn short(number: f64) -> String {
    match number {
        number if number != 0.0 && number.abs() < 1e-4 => format!("{number:.2e}"),
        number => format!("{number:.6}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn line(planted: &Planted) -> String {
    let found = judged(planted);
    let all = serde_json::to_value(&found).expect("a divergence as JSON");
    let shown = |name: &&str| match &all[name] {
        serde_json::Value::Number(number) if number.is_f64() => {
            format!("{name} {}", short(number.as_f64().unwrap_or(f64::NAN)))
        }
        serde_json::Value::String(text) => format!("{name} {text}"),
        value => format!("{name} {value}"),
    };
    let measured: Vec<String> = planted.metrics.iter().map(shown).collect();
    let at = found.worst_output.map(|output| {
        let index = found.worst_index.map(|index| format!("[{index}]")).unwrap_or_default();
        format!("{output}{index}")
    });
    let detail = if found.detail.is_empty() { String::new() } else { format!(" `{}`", found.detail) };
    let serious = if found.serious { "yes" } else { "" };
    format!(
        "| {} | {}{detail} | {serious} | {} | {} |",
        planted.what,
        found.class,
        at.unwrap_or_default(),
        measured.join(", ")
    )
}

#[test]
fn what_is_said_of_each_planted_difference_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/DIFFERENCES.md");
    let text = std::fs::read_to_string(path).expect("docs/DIFFERENCES.md");
    let mut wanted = vec![
        "| difference | class | serious | where | measured |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    wanted.extend(planted().iter().map(line));
    let wanted = wanted.join("\n");
    let first = text.find("| difference |").expect("a table in docs/DIFFERENCES.md");
    let rest = &text[first..];
    let table = rest.split("\n\n").next().unwrap_or(rest).trim_end();
    assert!(table == wanted, "docs/DIFFERENCES.md must have this table:\n{wanted}");
}

#[test]
fn every_class_is_planted() {
    let found: std::collections::BTreeSet<_> =
        planted().iter().map(|planted| judged(planted).class).collect();
    // No answer to compare, and the answer of another request, are nothing that a pair of answers shows.
    let without = [divergence::Class::Incomparable, divergence::Class::Crosstalk];
    for class in divergence::Class::ALL.into_iter().filter(|class| !without.contains(class)) {
        assert!(found.contains(&class), "{class} is not in the table");
    }
}
