use super::*;
use crate::{Output, Protocol};

fn answer(outputs: Vec<Output>) -> Decoded {
    Decoded { protocol: Protocol::V2Json, model: None, model_version: None, outputs, tree: None }
}

fn numbers(name: &str, dtype: DType, shape: &[u64], values: &[f64]) -> Output {
    Output { values: values.to_vec(), ..Output::new(name, dtype, shape.to_vec()) }
}

fn one(primary: Output, candidate: Output) -> OutputReport {
    let (primary, candidate) = (answer(vec![primary]), answer(vec![candidate]));
    report(&primary, &candidate, &Rules::default()).remove(0)
}

#[test]
fn the_worst_element_is_named_with_what_it_takes_to_pass() {
    let score = |values: &[f64]| numbers("score", DType::Fp32, &[2, 2], values);
    let found = one(score(&[0.5, 0.5, 0.25, 0.75]), score(&[0.5, 0.5, 0.75, 0.25]));
    let worst = found.worst.unwrap();
    assert_eq!(
        (worst.index, worst.row, worst.primary.as_str(), worst.candidate.as_str()),
        (2, Some(1), "0.25", "0.75")
    );
    let needed = found.needed.unwrap();
    assert_eq!(Some(needed.factor), worst.tolerance_units);
    assert!(
        (needed.atol - (0.5 - 0.000_25)).abs() < 1e-12 && (needed.rtol - (0.5 - 1e-5) / 0.25).abs() < 1e-12
    );
    let flip = found.flips[0];
    assert_eq!(
        (flip.row, flip.primary, flip.candidate, flip.margin, flip.near_tie),
        (1, 1, 0, Some(0.5), false)
    );
    assert!(found.probabilities.is_some_and(|distances| (distances.total_variation - 0.5).abs() < 1e-12));
    let rules = Rules {
        outputs: [("score".to_owned(), crate::OutputRule { atol: Some(needed.atol), ..Default::default() })]
            .into(),
        ..Rules::default()
    };
    let (p, c) = (answer(vec![score(&[0.5, 0.5, 0.25, 0.75])]), answer(vec![score(&[0.5, 0.5, 0.75, 0.25])]));
    assert_eq!(report(&p, &c, &rules)[0].beyond, 0);
}

#[test]
fn equal_answers_need_no_tolerance() {
    let score = || numbers("score", DType::Fp32, &[1, 3], &[0.5, 0.25, 0.125]);
    let found = one(score(), score());
    assert_eq!((found.worst, found.beyond, found.flips.len()), (None, 0, 0));
    assert_eq!(found.needed, Some(Needed { factor: 0.0, atol: 0.0, rtol: 0.0 }));
    let order = found.order.unwrap();
    assert_eq!(
        (order.kendall_tau_b, order.rank_biased_overlap, order.fagin_footrule),
        (Some(1.0), Some(1.0), Some(0))
    );
    assert_eq!(found.numbers.unwrap().ulp, Some([0.0, 0.0]));
}

#[test]
fn every_kind_has_its_metrics() {
    let pixels: Vec<f64> = (0..64).map(|index| f64::from(index) / 64.0).collect();
    let picture = |values: &[f64]| numbers("mask", DType::Fp32, &[1, 8, 8], values);
    let shifted: Vec<f64> = pixels.iter().map(|value| value * 0.9).collect();
    let image = one(picture(&pixels), picture(&shifted)).image.unwrap();
    assert!(
        image.psnr.is_some_and(|ratio| ratio > 20.0) && image.mask_iou.is_some_and(|overlap| overlap < 1.0)
    );

    let ranking = |keys: &[&str], values: &[f64]| Output {
        kind: Kind::Ranking,
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        ..numbers("rank", DType::Fp32, &[values.len() as u64], values)
    };
    let order = one(ranking(&["a", "b", "c"], &[3.0, 2.0, 1.0]), ranking(&["b", "a", "d"], &[3.0, 2.0, 1.0]))
        .order
        .unwrap();
    assert_eq!((order.fagin_kendall, order.fagin_footrule), (Some(2), Some(4)));
    assert!(order.ndcg_by_primary.is_some_and(|gain| gain < 0.95) && order.kendall_tau_b == Some(-1.0));

    let text = |words: &str| Output {
        kind: Kind::Text,
        text: vec![words.to_owned()],
        ..Output::new("text", DType::Bytes, vec![1])
    };
    let found = one(text("a b c"), text("a x c"));
    assert_eq!(found.text.and_then(|text| text.first_difference), Some(1));
    assert_eq!(found.worst.map(|worst| worst.candidate), Some("a x c".to_owned()));
}

#[test]
fn a_text_is_shown_about_where_it_parts() {
    let text = |words: String| Output { text: vec![words], ..Output::new("text", DType::Bytes, vec![1]) };
    let (before, after) = ("é".repeat(200), "z".repeat(200));
    let worst = one(text(format!("{before}A{after}")), text(format!("{before}B{after}"))).worst.unwrap();
    assert_eq!(worst.primary, format!("…{}A{}…", "é".repeat(40), "z".repeat(79)));
    assert_eq!(worst.candidate, worst.primary.replace('A', "B"));
    let short = one(text("yes".to_owned()), text(String::new())).worst.unwrap();
    assert_eq!((short.primary.as_str(), short.candidate.as_str()), ("yes", ""));
}

#[test]
fn boxes_are_reported_with_their_scores_and_the_worst_image() {
    let rules: Rules = toml::from_str("[[detections]]\nboxes = \"boxes\"\nscores = \"scores\"").unwrap();
    let detected = |shift: f64, score: f64| {
        let corners = [[0.0, 0.0, 10.0, 10.0], [shift, 0.0, 10.0 + shift, 10.0]].concat();
        answer(vec![
            numbers("boxes", DType::Fp32, &[2, 1, 4], &corners),
            numbers("scores", DType::Fp32, &[2, 1], &[0.9, score]),
        ])
    };
    let found = report(&detected(0.0, 0.8), &detected(2.0, 0.7), &rules);
    let [boxes, scores] = &found[..] else { panic!("{found:?}") };
    assert_eq!((boxes.name.as_str(), boxes.elements, boxes.beyond), ("boxes", 2, 1));
    let worst = boxes.worst.as_ref().unwrap();
    assert_eq!((worst.index, worst.row, worst.primary.as_str()), (1, Some(1), "1 box"));
    assert!(worst.tolerance_units.is_some_and(|units| (units - (1.0 - 80.0 / 120.0) / 0.1).abs() < 1e-9));
    assert_eq!((scores.name.as_str(), scores.beyond), ("scores", 1));
    assert!(scores.needed.is_some_and(|needed| needed.factor > 1.0));
    let same = report(&detected(0.0, 0.8), &detected(0.0, 0.8), &rules);
    assert_eq!((same[0].beyond, &same[0].worst, same[1].beyond), (0, &None, 0));
}

#[test]
fn a_path_that_names_no_output_is_unused() {
    let rules: Rules = toml::from_str(
        "[[json_paths]]\nname = \"score\"\npath = \"/a\"\n[[json_paths]]\nname = \"b\"\npath = \"/b\"",
    )
    .unwrap();
    let one = answer(vec![numbers("score", DType::Fp64, &[1], &[0.5])]);
    assert_eq!(unused(&one, &one, &rules), ["json_paths `b`"]);
}

#[test]
fn answers_of_another_structure_have_no_report() {
    let (p, c) = (answer(vec![numbers("a", DType::Fp32, &[1], &[1.0])]), answer(vec![]));
    assert_eq!(report(&p, &c, &Rules::default()), []);
}
