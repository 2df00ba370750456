//! Triton: JSON, binary, both, compressed.

use super::*;

const PATH: &str = "/v2/models/score/infer";

/// The scores of the two rows that all these answers hold, as the server's f32 bits.
const SCORES: [u32; 2] = [0x3f7f_5df5, 0x3d9b_5b89];

fn scores() -> Vec<f64> {
    SCORES.map(|bits| f64::from(f32::from_bits(bits))).to_vec()
}

#[test]
fn json() {
    let decoded = only("triton/json.http", PATH).unwrap();
    is(&decoded, Protocol::V2Json, Some("score"), Some("1"));
    let expected = [
        ("LABEL", DType::Int64, &[2, 1][..]),
        ("NAME", DType::Bytes, &[2, 1]),
        ("SCORE", DType::Fp32, &[2, 1]),
    ];
    assert_eq!(structure(&decoded), expected);
    assert_eq!(output(&decoded, "SCORE").values, scores());
    assert_eq!(output(&decoded, "LABEL").values, [1.0, 0.0]);
    assert_eq!(output(&decoded, "NAME").text, ["pos", "neg"]);
}

fn is_whole_binary(decoded: &Decoded) {
    is(decoded, Protocol::V2Binary, Some("score"), Some("1"));
    let expected = [
        ("HALF", DType::Fp16, &[2, 1][..]),
        ("LABEL", DType::Int64, &[2, 1]),
        ("NAME", DType::Bytes, &[2, 1]),
        ("SCORE", DType::Fp32, &[2, 1]),
    ];
    assert_eq!(structure(decoded), expected);
    assert_eq!(output(decoded, "SCORE").values, scores());
    // 0x3bfb and 0x2cdb: (1 + 1019/1024) / 2 and (1 + 219/1024) / 16.
    assert_eq!(output(decoded, "HALF").values, [2043.0 / 2048.0, 1243.0 / 16384.0]);
    assert_eq!(output(decoded, "LABEL").values, [1.0, 0.0]);
    assert_eq!(output(decoded, "NAME").text, ["pos", "neg"]);
}

#[test]
fn binary_plain_and_compressed() {
    for file in ["triton/binary.http", "triton/gzip_binary.http", "triton/deflate_binary.http"] {
        is_whole_binary(&only(file, PATH).unwrap());
    }
}

#[test]
fn mixed_json_and_binary() {
    let decoded = only("triton/mixed.http", PATH).unwrap();
    is(&decoded, Protocol::V2Binary, Some("score"), Some("1"));
    assert_eq!(structure(&decoded), [("LABEL", DType::Int64, &[2, 1][..]), ("SCORE", DType::Fp32, &[2, 1])]);
    assert_eq!(output(&decoded, "SCORE").values, scores());
    assert_eq!(output(&decoded, "LABEL").values, [1.0, 0.0]);
}

#[test]
fn class_count_stays_text() {
    let decoded = only("triton/class_count.http", PATH).unwrap();
    assert_eq!(structure(&decoded), [("SCORE", DType::Bytes, &[2, 1][..])]);
    assert_eq!(output(&decoded, "SCORE").text, ["0.997527:0", "0.075858:0"]);
}

#[test]
fn compressed_json_and_an_answer_after_100_continue() {
    for file in ["triton/gzip_json.http", "triton/continue.http"] {
        let decoded = only(file, PATH).unwrap();
        assert_eq!(structure(&decoded), [("SCORE", DType::Fp32, &[1, 1][..])]);
        assert_eq!(output(&decoded, "SCORE").values, scores()[..1], "{file}");
    }
}

#[test]
fn not_finite_numbers_and_integers_past_2_to_the_53() {
    let decoded = only("triton/not_finite.http", "/v2/models/half/infer").unwrap();
    is(&decoded, Protocol::V2Json, Some("half"), Some("1"));
    let double = output(&decoded, "F64");
    assert!(double.values[1].is_nan());
    assert_eq!(
        (double.values[0], double.values[2], double.values[3]),
        (0.1, f64::INFINITY, f64::NEG_INFINITY)
    );
    assert_eq!((double.values[4], double.nulls), (1e-320, 0));
    let single = output(&decoded, "F32");
    assert_eq!(single.values[0], f64::from(0.1_f32));
    assert_eq!(single.values[3].to_bits(), (-0.0_f64).to_bits());
    assert_eq!(
        (output(&decoded, "B").dtype, &output(&decoded, "B").values[..]),
        (DType::Bool, &[1.0, 0.0][..])
    );
    assert_eq!(output(&decoded, "U8").values, [1.0, 255.0]);
    assert_eq!(output(&decoded, "I64").exact, Some(vec![9_007_199_254_740_993, -1]));
    assert_eq!(output(&decoded, "U64").exact, Some(vec![18_446_744_073_709_551_615]));
}

#[test]
fn every_answer_of_a_connection() {
    let all = decode("triton/one_connection.http", PATH);
    let (health, inferences): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_err);
    assert_eq!(health, vec![Err(Undecodable::Empty); health.len()]);
    assert_eq!((health.len(), inferences.len()), (3, 3));
    inferences.into_iter().for_each(|decoded| is_whole_binary(&decoded.unwrap()));
}

#[test]
fn events_of_a_model_that_answers_bit_by_bit() {
    let decoded = only("triton/events.http", "/v2/models/stream/generate_stream").unwrap();
    is(&decoded, Protocol::V2Generate, Some("stream"), Some("1"));
    assert_eq!(structure(&decoded), [("OUT", DType::Fp64, &[3][..]), ("TXT", DType::Bytes, &[3])]);
    assert_eq!(output(&decoded, "OUT").values, [0.0, 0.5, 1.0]);
    assert_eq!(output(&decoded, "TXT").text, ["tok0", "tok1", "tok2"]);
}
