//! Pairs that look worse than they are, and pairs that are worse than they look.

use super::*;

#[test]
fn almost_nothing_against_zero_is_no_ratio() {
    // An activation that one kernel rounds to 0 and the other does not: six absolute tolerances, of a vector of size 1.
    let tiny = pair(row(&[1.0, 0.0, 0.7]), row(&[1.0, 6e-5, 0.7]));
    assert_eq!(verdict(&tiny), (Class::Numeric, "", false));
    assert!(tiny.log10_ratio.is_some_and(|ratio| ratio > 0.7));
    // From above the floor the ratio counts, and so does what appears out of nothing beyond a hundred tolerances.
    let lost = pair(row(&[1.0, 9e-4, 0.7]), row(&[1.0, 0.0, 0.7]));
    assert_eq!(verdict(&lost), (Class::Gross, "ratio", true));
    let appeared = pair(row(&[1.0, 0.0, 0.7]), row(&[1.0, 0.5, 0.7]));
    assert_eq!(verdict(&appeared), (Class::Gross, "tolerance", true));
}

#[test]
fn rows_alike_within_noise_are_as_constant_as_rows_alike() {
    // A batch of one row twice: the primary's kernel is not batch-invariant, the shadow's is.
    let drift = pair(scores(&[0.300_01, 0.3]), scores(&[0.31, 0.31]));
    assert_eq!(verdict(&drift), (Class::Numeric, "", false));
    let (back, detail) = (pair(scores(&[0.31, 0.31]), scores(&[0.300_01, 0.3])), "");
    assert_eq!(verdict(&back), (Class::Numeric, detail, false));
    let stuck = pair(scores(&[0.3, 0.4]), scores(&[0.35, 0.35]));
    assert_eq!(verdict(&stuck), (Class::Degenerate, "shadow_only:constant", true));
}

#[test]
fn a_degenerate_output_of_the_primary_hides_no_other_output() {
    let mask = |values: &[f64]| output("mask", DType::Fp32, &[1, 2], values);
    let of = |p: &[f64], s: &[f64]| {
        judged(vec![mask(&[0.0, 0.0]), row(p)], vec![mask(&[0.0, 0.01]), row(s)], &Rules::default())
    };
    let tenfold = of(&[0.02, 0.01], &[0.2, 0.01]);
    assert_eq!(verdict(&tenfold), (Class::Gross, "ratio", true));
    assert_eq!(tenfold.primary_degenerate, "all_zero");
    let moved = of(&[0.52, 0.48], &[0.49, 0.51]);
    assert_eq!(verdict(&moved), (Class::Flip, "real", true));
    let good = of(&[0.52, 0.48], &[0.52, 0.48]);
    assert_eq!(verdict(&good), (Class::Degenerate, "primary_only:all_zero", false));
}

#[test]
fn what_is_not_finite_on_the_primary_hides_no_finite_element() {
    let hidden = pair(scores(&[f64::NAN, 0.02, 0.5]), scores(&[0.5, 0.2, 0.5]));
    assert_eq!(verdict(&hidden), (Class::Gross, "ratio", true));
    let far = pair(scores(&[f64::INFINITY, 0.5]), scores(&[0.5, 0.7]));
    assert_eq!(verdict(&far), (Class::Gross, "tolerance", true));
    let good = pair(scores(&[f64::NAN, 0.02]), scores(&[0.5, 0.02]));
    assert_eq!(verdict(&good), (Class::Degenerate, "primary_only:nan", false));
}

#[test]
fn the_signs_of_a_lone_answer_are_listed() {
    let (zero, rules) = (answer(vec![scores(&[0.0, 0.0])]), Rules::default());
    let shadow = compare(Side::Absent("timed_out"), Side::Outputs(&zero), &rules);
    assert_eq!((shadow.primary_degenerate.as_str(), shadow.shadow_degenerate.as_str()), ("", "all_zero"));
    let primary = compare(Side::Outputs(&zero), Side::Absent("timed_out"), &rules);
    assert_eq!((primary.primary_degenerate.as_str(), primary.shadow_degenerate.as_str()), ("all_zero", ""));
}

#[test]
fn tolerances_past_the_largest_number_tolerate_all_that_is_finite() {
    let wide = [(DType::Fp64, Tolerance { rtol: 2.0, atol: 0.0 })];
    let rules = Rules { tolerances: wide.into(), ..Rules::default() };
    let one = |value| vec![output("score", DType::Fp64, &[1, 1], &[value])];
    let apart = judged(one(f64::MAX), one(-f64::MAX), &rules);
    assert_eq!((apart.class, apart.tolerance_units), (Class::WithinTol, Some(0.0)));
}

#[test]
fn a_wrong_row_among_rows_alike_is_the_shadows() {
    // One request's row twice in a batch: the primary's answers are the same, as they must be.
    let wrong = pair(scores(&[0.03, 0.03]), scores(&[0.03, 0.3]));
    assert_eq!(verdict(&wrong), (Class::Gross, "ratio", true));
    let small = pair(scores(&[0.3, 0.3]), scores(&[0.3, 0.31]));
    assert_eq!(verdict(&small), (Class::Degenerate, "primary_only:constant", false));
}

#[test]
fn moves_against_a_primary_of_zeros_are_measured_and_not_real() {
    let rule = OutputRule { threshold: Some(0.5), ..OutputRule::default() };
    let rules = Rules { outputs: [("score".to_owned(), rule)].into(), ..Rules::default() };
    let moved = judged(vec![row(&[0.0, 0.0])], vec![row(&[0.1, 0.9])], &rules);
    assert_eq!(verdict(&moved), (Class::Degenerate, "primary_only:all_zero", false));
    assert_eq!((moved.argmax_flip, moved.argmax_near_tie), (Some(true), Some(true)));
}

#[test]
fn a_masked_element_that_wins_is_a_real_flip() {
    let mask = f64::NEG_INFINITY;
    let lost = pair(row(&[mask, 0.9, 0.1]), row(&[0.95, 0.9, 0.1]));
    assert_eq!(verdict(&lost), (Class::Flip, "real", true));
    let kept = pair(row(&[mask, 0.9, 0.1]), row(&[mask, 0.9, 0.1]));
    assert_eq!(verdict(&kept), (Class::BitEqual, "", false));
    // An overflow of the primary's is its own fault.
    let overflow = pair(row(&[f64::INFINITY, 0.1]), row(&[0.1, 0.1]));
    assert!(!overflow.serious);
}

#[test]
fn scores_printed_into_text_are_compared_as_numbers() {
    let of = |p: &[&str], s: &[&str]| pair(text("SCORE", p), text("SCORE", s));
    let noise = of(&["0.997527:0:pos", "0.075858:0:pos"], &["0.997528:0:pos", "0.075858:0:pos"]);
    assert_eq!(verdict(&noise), (Class::WithinTol, "", false));
    let drift = of(&["0.50:3", "0.25:1"], &["0.51:3", "0.25:1"]);
    assert_eq!(verdict(&drift), (Class::Numeric, "", false));
    assert_eq!((drift.worst_output.as_deref(), drift.ulp_max), (Some("SCORE"), None));
    let tenfold = of(&["0.05:3", "0.25:1"], &["0.5:3", "0.25:1"]);
    assert_eq!(verdict(&tenfold), (Class::Gross, "ratio", true));
    let zero = of(&["0.5:3", "0.25:1"], &["0.0:3", "0.0:1"]);
    assert_eq!(verdict(&zero), (Class::Degenerate, "shadow_only:all_zero", true));
    let class = of(&["0.5:3"], &["0.5:4"]);
    assert_eq!(verdict(&class), (Class::Flip, "real", true));
    assert_eq!(of(&["0.5:3"], &["0.5:3"]).class, Class::BitEqual);
}

#[test]
fn printed_classes_are_a_ranking_of_each_row() {
    let of = |p: &[&str], s: &[&str]| pair(text("SCORE", p), text("SCORE", s));
    // Within noise of one another, two classes have no order.
    let tie = of(&["0.5000:3", "0.4999:1", "0.1:2"], &["0.5000:1", "0.4999:3", "0.1:2"]);
    assert_eq!(verdict(&tie), (Class::Flip, "near_tie", false));
    let moved = of(&["0.51:3", "0.49:1"], &["0.51:1", "0.49:3"]);
    assert_eq!((moved.class, moved.detail.as_str(), moved.serious), (Class::Flip, "real", true));
    let lower = of(&["0.6:3", "0.3:1", "0.1:2"], &["0.6:3", "0.3:7", "0.1:2"]);
    assert_eq!(verdict(&lower), (Class::Rank, "members", false));
    // A batch: each row is a ranking of its own, and may name what another names.
    let rows = |items: &[&str]| Output { shape: vec![2, 2], ..text("SCORE", items) };
    let batch = |last: [&str; 2]| {
        pair(rows(&["0.6:3", "0.4:1", "0.51:1", "0.49:3"]), rows(&["0.6:3", "0.4:1", last[0], last[1]]))
    };
    assert_eq!(batch(["0.51:1", "0.49:3"]).class, Class::BitEqual);
    let second = batch(["0.51:3", "0.49:1"]);
    assert_eq!((verdict(&second), second.worst_row), ((Class::Flip, "real", true), Some(1)));
}
