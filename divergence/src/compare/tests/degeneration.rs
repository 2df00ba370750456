//! Signs of degeneration, on one side and on both.

use super::*;

#[test]
fn a_zero_tensor_of_the_right_shape_is_degenerate() {
    let zero = pair(scores(&[0.3, 0.4]), scores(&[0.0, -0.0]));
    assert_eq!(verdict(&zero), (Class::Degenerate, "shadow_only:all_zero", true));
    assert_eq!((zero.primary_degenerate.as_str(), zero.shadow_degenerate.as_str()), ("", "all_zero"));
    let single = pair(scores(&[0.3]), scores(&[0.0]));
    assert_eq!(verdict(&single), (Class::Degenerate, "shadow_only:all_zero", true));
}

#[test]
fn a_degenerate_primary_is_no_fault_of_the_shadow() {
    let primary = pair(scores(&[0.0, 0.0]), scores(&[0.3, 0.4]));
    assert_eq!(verdict(&primary), (Class::Degenerate, "primary_only:all_zero", false));
}

#[test]
fn both_zero_is_agreement_and_tallied() {
    let both = pair(scores(&[0.0, 0.0]), scores(&[0.0, 0.0]));
    assert_eq!(verdict(&both), (Class::BitEqual, "", false));
    assert_eq!(both.primary_degenerate, "all_zero");
    assert_eq!(both.shadow_degenerate, "all_zero");
}

#[test]
fn a_constant_counts_only_against_a_primary_that_varies() {
    let uniform = pair(row(&[0.7, 0.2, 0.1]), row(&[0.34, 0.34, 0.34]));
    assert_eq!(verdict(&uniform), (Class::Degenerate, "shadow_only:constant", true));
    let same_rows = pair(scores(&[0.3, 0.3]), scores(&[0.31, 0.31]));
    assert_eq!(same_rows.class, Class::Numeric);
    assert_eq!(same_rows.shadow_degenerate, "constant");
    let zeroed = pair(scores(&[0.3, 0.3]), scores(&[0.0, 0.0]));
    assert_eq!(verdict(&zeroed), (Class::Degenerate, "shadow_only:all_zero", true));
    let single = pair(scores(&[0.3]), scores(&[0.31]));
    assert_eq!(single.shadow_degenerate, "");
}

#[test]
fn constant_or_zero_within_tolerance_of_the_primary_is_agreement() {
    let almost = pair(row(&[0.50001, 0.49999]), row(&[0.5, 0.5]));
    assert_eq!(almost.class, Class::WithinTol);
    let vanished = pair(scores(&[1e-7]), scores(&[0.0]));
    assert_eq!(verdict(&vanished), (Class::WithinTol, "", false));
}

#[test]
fn labels_may_be_zero_or_all_the_same() {
    let labels = |values: &[f64]| output("label", DType::Int64, &[2, 1], values);
    let zero = pair(labels(&[0.0, 1.0]), labels(&[0.0, 0.0]));
    assert_eq!(verdict(&zero), (Class::Flip, "real:label", true));
    assert_eq!(zero.shadow_degenerate, "");
}

#[test]
fn not_finite_elements_are_named() {
    let nan = pair(scores(&[0.3, 0.4]), scores(&[0.3, f64::NAN]));
    assert_eq!(verdict(&nan), (Class::Degenerate, "shadow_only:nan", true));
    let inf = pair(scores(&[0.3, 0.4]), scores(&[0.3, f64::INFINITY]));
    assert_eq!(verdict(&inf), (Class::Degenerate, "shadow_only:inf", true));
    assert_eq!(inf.tolerance_units, Some(f64::INFINITY));
    assert_eq!(inf.max_absolute, Some(0.0));
    let null = Output { nulls: 1, ..scores(&[0.3, f64::NAN]) };
    let nulled = pair(scores(&[0.3, 0.4]), null);
    assert_eq!(verdict(&nulled), (Class::Degenerate, "shadow_only:null", true));
}

#[test]
fn null_on_one_server_is_nan_on_the_other() {
    let null = Output { nulls: 1, ..scores(&[0.3, f64::NAN]) };
    let same = pair(scores(&[0.3, f64::NAN]), null);
    assert_eq!(verdict(&same), (Class::WithinTol, "", false));
    assert_eq!((same.primary_degenerate.as_str(), same.shadow_degenerate.as_str()), ("nan", "null"));
}

#[test]
fn nan_elsewhere_than_on_the_primary_is_gross() {
    let moved = pair(scores(&[0.3, f64::NAN]), scores(&[f64::NAN, 0.3]));
    assert_eq!(verdict(&moved), (Class::Gross, "tolerance", true));
    let inf = pair(scores(&[f64::INFINITY]), scores(&[f64::NEG_INFINITY]));
    assert_eq!(verdict(&inf), (Class::Gross, "tolerance", true));
}

#[test]
fn empty_text_and_no_elements_are_empty() {
    let blank = pair(text("name", &["pos"]), text("name", &[""]));
    assert_eq!(verdict(&blank), (Class::Degenerate, "shadow_only:empty", true));
    let rows = output("boxes", DType::Fp32, &[0, 4], &[]);
    let both = pair(rows.clone(), rows.clone());
    assert_eq!((both.class, both.shadow_degenerate.as_str()), (Class::BitEqual, "empty"));
    assert_eq!((both.fraction_beyond, both.tolerance_units), (None, None));
    let lost = pair(output("boxes", DType::Fp32, &[1, 4], &[1.0, 2.0, 3.0, 4.0]), rows);
    assert_eq!(verdict(&lost), (Class::Structure, "shape:boxes 1x4/0x4", true));
    assert_eq!(lost.shadow_degenerate, "empty");
}

#[test]
fn one_zero_output_among_good_ones_is_degenerate() {
    let boxes = |values: &[f64]| output("boxes", DType::Fp32, &[1, 4], values);
    let primary = vec![boxes(&[1.0, 2.0, 3.0, 4.0]), scores(&[0.9])];
    let shadow = vec![boxes(&[0.0; 4]), scores(&[0.9])];
    let pooled = judged(primary, shadow, &Rules::default());
    assert_eq!(verdict(&pooled), (Class::Degenerate, "shadow_only:all_zero", true));
}

#[test]
fn zeros_printed_as_whole_numbers_are_zero_scores() {
    let free = |output| Decoded { protocol: Protocol::V1Predictions, ..answer(vec![output]) };
    let primary = free(output("predictions", DType::Fp64, &[2], &[0.5, 0.25]));
    let shadow = free(output("predictions", DType::Int64, &[2], &[0.0, 0.0]));
    let zero = compare(Side::Outputs(&primary), Side::Outputs(&shadow), &Rules::default());
    assert_eq!(verdict(&zero), (Class::Degenerate, "shadow_only:all_zero", true));
    assert_eq!(zero.shadow_degenerate, "all_zero");
}

#[test]
fn a_constant_against_all_zero_is_the_primarys_degeneration() {
    let constant = pair(row(&[0.0, 0.0]), row(&[0.5, 0.5]));
    assert_eq!(verdict(&constant), (Class::Degenerate, "primary_only:all_zero", false));
}
