//! Pairs of captured answers.

use divergence::{Class, Side, compare};

use super::*;

const SCORE: &str = "/v2/models/score/infer";

#[test]
fn new_ids_on_every_answer_are_no_difference() {
    let all = decode("mlserver/one_connection.http", "/v2/models/iris-sk/infer");
    let answers: Vec<_> = all.into_iter().flatten().collect();
    assert_eq!(answers.len(), 3);
    for shadow in &answers[1..] {
        let same = compare(Side::Outputs(&answers[0]), Side::Outputs(shadow), &Rules::default());
        assert_eq!((same.class, same.bit_equal), (Class::BitEqual, Some(true)));
    }
}

#[test]
fn json_and_binary_of_the_same_scores_are_bit_equal() {
    let json = only("kserve/v2.http", "/v2/models/iris/infer").unwrap();
    let binary = decode("kserve/chunked_binary.http", "/v2/models/iris/infer").remove(0).unwrap();
    let same = compare(Side::Outputs(&json), Side::Outputs(&binary), &Rules::default());
    assert_eq!((same.class, same.ulp_max), (Class::BitEqual, Some(0)));
}

#[test]
fn an_output_more_is_a_difference_unless_ignored() {
    let json = only("triton/json.http", SCORE).unwrap();
    let binary = only("triton/binary.http", SCORE).unwrap();
    let extra = compare(Side::Outputs(&json), Side::Outputs(&binary), &Rules::default());
    assert_eq!((extra.class, extra.detail.as_str()), (Class::Structure, "extra:HALF"));
    let rules = Rules { ignore: vec!["HALF".into()], ..Rules::default() };
    let same = compare(Side::Outputs(&json), Side::Outputs(&binary), &rules);
    assert_eq!(same.class, Class::BitEqual);
}

/// A reused buffer under load: ten times too large on some rows.
#[test]
fn a_score_ten_times_too_large_in_the_bytes_is_gross() {
    let primary = only("triton/binary.http", SCORE).unwrap();
    let mut response = http::responses("triton/binary.http").remove(0);
    let tenfold = f32::from_bits(0x3d9b_5b89) * 10.0;
    let at = response.body.windows(4).position(|four| four == [0x89, 0x5b, 0x9b, 0x3d]).unwrap();
    response.body[at..at + 4].copy_from_slice(&tenfold.to_le_bytes());
    let shadow = divergence::decode(&response.answer(SCORE), &Rules::default()).unwrap();
    let found = compare(Side::Outputs(&primary), Side::Outputs(&shadow), &Rules::default());
    assert_eq!((found.class, found.detail.as_str(), found.serious), (Class::Gross, "ratio", true));
    assert!((found.log10_ratio.unwrap() - 1.0).abs() < 1e-6);
    assert_eq!((found.worst_output.as_deref(), found.worst_index), (Some("SCORE"), Some(1)));
}

/// A kernel that did not run on its device leaves zeros of the right shape.
#[test]
fn a_zero_tensor_in_the_bytes_is_degenerate() {
    let primary = only("kserve/v2.http", "/v2/models/iris/infer").unwrap();
    let mut response = http::responses("kserve/chunked_binary.http").remove(0);
    let tail = response.body.len() - 24;
    response.body[tail..].fill(0);
    let shadow = divergence::decode(&response.answer("/v2/models/iris/infer"), &Rules::default()).unwrap();
    let found = compare(Side::Outputs(&primary), Side::Outputs(&shadow), &Rules::default());
    assert_eq!((found.class, found.detail.as_str()), (Class::Degenerate, "shadow_only:all_zero"));
    assert_eq!((found.primary_degenerate.as_str(), found.shadow_degenerate.as_str()), ("", "all_zero"));
}
