//! The rules, one by one, in their order.

use super::*;

fn close(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() <= 1e-9 * expected.abs().max(1.0))
}

#[test]
fn an_absent_side_is_incomparable_with_its_reason() {
    let present = answer(vec![scores(&[0.5])]);
    let of = |primary, shadow| compare(primary, shadow, &Rules::default());
    let shadow = of(Side::Outputs(&present), Side::Absent("timeout"));
    assert_eq!(verdict(&shadow), (Class::Incomparable, "shadow: timeout", false));
    let primary = of(Side::Absent("status 500"), Side::Outputs(&present));
    assert_eq!(verdict(&primary), (Class::Incomparable, "primary: status 500", false));
    let both = of(Side::Absent("reset"), Side::Absent("reset"));
    assert_eq!(verdict(&both), (Class::Incomparable, "both: reset", false));
    let mixed = of(Side::Absent("status 500"), Side::Absent("timeout"));
    assert_eq!(verdict(&mixed), (Class::Incomparable, "both: status 500 / timeout", false));
}

#[test]
fn rules_that_leave_no_output_make_it_incomparable() {
    let rules = Rules { ignore: vec!["score".into()], ..Rules::default() };
    let nothing = judged(vec![scores(&[0.5])], vec![scores(&[0.5])], &rules);
    assert_eq!(nothing.class, Class::Incomparable);
    assert!(nothing.detail.starts_with("both: "));
}

#[test]
fn names_types_and_shapes_must_agree() {
    let one = || scores(&[0.5]);
    let of = |primary, shadow| judged(primary, shadow, &Rules::default());
    let missing = of(vec![text("label", &["a"]), one()], vec![one()]);
    assert_eq!(verdict(&missing), (Class::Structure, "missing:label", true));
    let extra = of(vec![one()], vec![one(), text("trace", &["a"])]);
    assert_eq!(verdict(&extra), (Class::Structure, "extra:trace", true));
    let dtype = pair(one(), output("score", DType::Fp16, &[1, 1], &[0.5]));
    assert_eq!(verdict(&dtype), (Class::Structure, "dtype:score FP32/FP16", true));
    let shape = pair(
        output("score", DType::Fp32, &[2, 3], &[0.5; 6]),
        output("score", DType::Fp32, &[2, 4], &[0.5; 8]),
    );
    assert_eq!(verdict(&shape), (Class::Structure, "shape:score 2x3/2x4", true));
}

#[test]
fn an_ignored_output_is_no_difference() {
    let rules = Rules { ignore: vec!["trace".into()], ..Rules::default() };
    let ignored = judged(vec![scores(&[0.5])], vec![scores(&[0.5]), text("trace", &["a"])], &rules);
    assert_eq!(verdict(&ignored), (Class::BitEqual, "", false));
}

#[test]
fn whole_numbers_and_fractions_are_one_type_only_where_none_is_declared() {
    let whole = answer(vec![output("predictions", DType::Int64, &[1], &[1.0])]);
    let fraction = answer(vec![output("predictions", DType::Fp64, &[1], &[1.0005])]);
    let declared = compare(Side::Outputs(&whole), Side::Outputs(&fraction), &Rules::default());
    assert_eq!(declared.detail, "dtype:predictions INT64/FP64");
    let free = |decoded: &Decoded| Decoded { protocol: Protocol::V1Predictions, ..decoded.clone() };
    let (whole, fraction) = (free(&whole), free(&fraction));
    let undeclared = compare(Side::Outputs(&whole), Side::Outputs(&fraction), &Rules::default());
    // Judged as FP32: 0.0005 is half of rtol 1e-3.
    assert_eq!(undeclared.class, Class::WithinTol);
    assert_eq!(undeclared.ulp_max, None);
}

#[test]
fn a_score_ten_times_too_large_is_gross_by_its_ratio() {
    let tenfold = pair(scores(&[0.02, 0.03]), scores(&[0.2, 0.03]));
    assert_eq!(verdict(&tenfold), (Class::Gross, "ratio", true));
    assert!(close(tenfold.log10_ratio, 1.0));
    assert!(close(tenfold.max_absolute, 0.18));
    assert!(close(tenfold.max_relative, 9.0));
    assert!(close(tenfold.fraction_beyond, 0.5));
    assert!(close(tenfold.tolerance_units, 0.18 / (1e-5 + 1e-3 * 0.02)));
    assert_eq!((tenfold.worst_output.as_deref(), tenfold.worst_index), (Some("score"), Some(0)));
}

#[test]
fn a_hundred_tolerances_a_turned_vector_and_a_changed_sign_are_gross() {
    let rules =
        Rules { tolerances: [(DType::Fp32, Tolerance { rtol: 0.0, atol: 0.25 })].into(), ..Rules::default() };
    let far = judged(vec![scores(&[40.0])], vec![scores(&[65.0])], &rules);
    assert_eq!(verdict(&far), (Class::Gross, "tolerance", true));
    assert_eq!(far.tolerance_units, Some(100.0));
    let turned = judged(vec![row(&[3.0, 1.0])], vec![row(&[1.0, 3.0])], &rules);
    assert_eq!(verdict(&turned), (Class::Gross, "cosine", true));
    assert!(close(turned.cosine, 0.6));
    let sign = judged(vec![scores(&[0.5])], vec![scores(&[-0.5])], &rules);
    assert_eq!(verdict(&sign), (Class::Gross, "sign", true));
    assert_eq!(sign.sign_change, Some(true));
}

#[test]
fn noise_around_zero_is_not_gross() {
    let noise = pair(row(&[1e-7, -2e-7, 3e-7]), row(&[-2e-6, 1e-6, -3e-6]));
    assert_eq!(noise.class, Class::Flip);
    assert_eq!(verdict(&noise), (Class::Flip, "near_tie", false));
    let single = pair(scores(&[1e-7]), scores(&[-5e-6]));
    assert_eq!(verdict(&single), (Class::WithinTol, "", false));
}

#[test]
fn a_moved_largest_element_is_real_or_a_near_tie() {
    let real = pair(row(&[0.52, 0.48]), row(&[0.49, 0.51]));
    assert_eq!(verdict(&real), (Class::Flip, "real", true));
    assert_eq!((real.argmax_flip, real.argmax_near_tie), (Some(true), Some(false)));
    let near = pair(row(&[0.5001, 0.4999]), row(&[0.4999, 0.5001]));
    assert_eq!(verdict(&near), (Class::Flip, "near_tie", false));
    assert_eq!((near.argmax_flip, near.argmax_near_tie), (Some(true), Some(true)));
    let none = pair(row(&[0.52, 0.48]), row(&[0.5201, 0.4799]));
    assert_eq!((none.argmax_flip, none.argmax_near_tie), (Some(false), None));
    let column = pair(scores(&[0.52, 0.48]), scores(&[0.49, 0.51]));
    assert_eq!(column.argmax_flip, None);
    assert_eq!(column.class, Class::Numeric);
}

#[test]
fn a_crossed_threshold_is_a_flip() {
    let rule = OutputRule { threshold: Some(0.5), ..OutputRule::default() };
    let rules = Rules { outputs: [("score".to_owned(), rule)].into(), ..Rules::default() };
    let real = judged(vec![scores(&[0.49])], vec![scores(&[0.5])], &rules);
    assert_eq!(verdict(&real), (Class::Flip, "real:threshold", true));
    let near = judged(vec![scores(&[0.4999])], vec![scores(&[0.5001])], &rules);
    assert_eq!(verdict(&near), (Class::Flip, "near_tie:threshold", false));
    let same_side = judged(vec![scores(&[0.51])], vec![scores(&[0.52])], &rules);
    assert_eq!(same_side.class, Class::Numeric);
}

#[test]
fn a_changed_label_is_a_flip_however_far() {
    let label = |value| output("label", DType::Int64, &[1, 1], &[value]);
    let changed = judged(vec![label(1.0)], vec![label(1000.0)], &Rules::default());
    assert_eq!(verdict(&changed), (Class::Flip, "real:label", true));
    assert_eq!(changed.tolerance_units, Some(f64::INFINITY));
    let both = judged(vec![label(0.0), scores(&[0.02])], vec![label(1.0), scores(&[0.2])], &Rules::default());
    assert_eq!(both.class, Class::Gross);
}

#[test]
fn labels_past_2_to_the_53_are_told_apart() {
    let label = |value: i128| Output {
        exact: Some(vec![value]),
        ..output("label", DType::Int64, &[1], &[value as f64])
    };
    let (one, other) = (9_007_199_254_740_993, 9_007_199_254_740_992);
    assert_eq!(label(one).values, label(other).values);
    let changed = pair(label(one), label(other));
    assert_eq!(verdict(&changed), (Class::Flip, "real:label", true));
    assert_eq!(changed.max_absolute, Some(1.0));
    let short = output("label", DType::Int64, &[1], &[other as f64]);
    assert_eq!(pair(label(one), short).class, Class::Flip);
    assert_eq!(pair(label(one), label(one)).class, Class::BitEqual);
}

#[test]
fn text_is_a_flip_only_where_the_numbers_agree() {
    let of = |score: f64, name: &str| vec![text("name", &["a", name]), scores(&[score])];
    let alone = pair(text("name", &["a", "pos"]), text("name", &["a", "neg"]));
    assert_eq!(verdict(&alone), (Class::Flip, "real:text", true));
    assert_eq!((alone.worst_output.as_deref(), alone.worst_index), (Some("name"), Some(1)));
    let agree = judged(of(0.5, "pos"), of(0.50001, "neg"), &Rules::default());
    assert_eq!(verdict(&agree), (Class::Flip, "real:text", true));
    let drifted = judged(of(0.5, "0.500:0"), of(0.51, "0.510:0"), &Rules::default());
    assert_eq!(verdict(&drifted), (Class::Numeric, "text", false));
}

#[test]
fn a_change_of_order_below_the_top_is_a_rank() {
    let rank = pair(row(&[0.60, 0.21, 0.19]), row(&[0.60, 0.19, 0.21]));
    assert_eq!(verdict(&rank), (Class::Rank, "", false));
    // 0.2002 and 0.2 are closer than both tolerances.
    let tie = pair(row(&[0.6, 0.2002, 0.2]), row(&[0.6, 0.2, 0.2006]));
    assert_eq!(verdict(&tie), (Class::Numeric, "", false));
}

#[test]
fn the_rest_is_numeric_within_tolerance_or_bit_equal() {
    let numeric = pair(scores(&[0.5]), scores(&[0.51]));
    assert_eq!(verdict(&numeric), (Class::Numeric, "", false));
    let within = pair(scores(&[0.5]), scores(&[0.5004]));
    assert_eq!(verdict(&within), (Class::WithinTol, "", false));
    let equal = pair(scores(&[0.5]), scores(&[0.5]));
    assert_eq!(verdict(&equal), (Class::BitEqual, "", false));
    assert_eq!((equal.tolerance_units, equal.worst_output), (Some(0.0), None));
}

#[test]
fn minus_zero_is_zero_by_value_but_not_by_its_bits() {
    let zero = pair(row(&[0.5, 0.0]), row(&[0.5, -0.0]));
    assert_eq!(verdict(&zero), (Class::WithinTol, "", false));
    assert_eq!((zero.bit_equal, zero.tolerance_units), (Some(false), Some(0.0)));
}

#[test]
fn ulp_is_measured_at_the_declared_type() {
    let next = f64::from(0.5_f32.next_up());
    assert_eq!(pair(scores(&[0.5]), scores(&[next])).ulp_max, Some(1));
    let half = |value| output("score", DType::Fp16, &[1], &[value]);
    assert_eq!(pair(half(1.0), half(1.0 + 2.0_f64.powi(-10))).ulp_max, Some(1));
    assert_eq!(pair(text("name", &["a"]), text("name", &["a"])).ulp_max, None);
}

#[test]
fn exactly_one_tolerance_is_within_and_signs_below_the_floor_mean_nothing() {
    let tolerances = [(DType::Fp32, Tolerance { rtol: 0.0, atol: 0.25 })].into();
    let rules = Rules { tolerances, floor: 1.0, ..Rules::default() };
    let edge = judged(vec![scores(&[0.5])], vec![scores(&[0.75])], &rules);
    assert_eq!(
        (edge.class, edge.tolerance_units, edge.fraction_beyond),
        (Class::WithinTol, Some(1.0), Some(0.0))
    );
    let small = judged(vec![scores(&[0.5])], vec![scores(&[-0.5])], &rules);
    assert_eq!((small.class, small.sign_change), (Class::Numeric, Some(false)));
}

#[test]
fn ratios_below_the_absolute_tolerance_and_the_cosine_of_one_element_are_undefined() {
    assert_eq!(pair(scores(&[1e-6]), scores(&[9e-6])).log10_ratio, None);
    let nan = f64::NAN;
    assert_eq!(pair(row(&[0.5, nan]), row(&[0.5, nan])).cosine, None);
    assert_eq!(pair(row(&[0.5, 0.5]), row(&[0.0, 0.0])).cosine, None);
}

#[test]
fn a_changed_label_is_a_flip_and_does_not_drown_the_metrics_of_the_scores() {
    let label = |value| output("label", DType::Int64, &[1, 1], &[value]);
    let divergence =
        judged(vec![label(1.0), scores(&[0.5])], vec![label(0.0), scores(&[0.4999])], &Rules::default());
    assert_eq!(verdict(&divergence), (Class::Flip, "real:label", true));
    assert_eq!((divergence.worst_output.as_deref(), divergence.worst_row), (Some("label"), Some(0)));
    assert!(divergence.tolerance_units.unwrap() < 1.0 && divergence.max_absolute.unwrap() < 0.001);
    assert_eq!(divergence.fraction_beyond, Some(0.5));
    let alone = pair(label(1.0), label(0.0));
    assert_eq!((alone.tolerance_units, alone.worst_output.as_deref()), (Some(f64::INFINITY), Some("label")));
}
