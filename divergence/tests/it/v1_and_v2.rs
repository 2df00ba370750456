//! MLServer and KServe.

use super::*;

/// The probabilities of the two flowers that all these answers hold, in double precision.
const IRIS: [f64; 6] = [
    0.9847031709514064,
    0.015296767010838062,
    6.2037755696216e-8,
    0.011724677606413825,
    0.7789647939920974,
    0.20931052840148878,
];

#[test]
fn mlserver_with_probabilities_and_labels() {
    let decoded = only("mlserver/two_outputs.http", "/v2/models/iris-sk/infer").unwrap();
    is(&decoded, Protocol::V2Json, Some("iris-sk"), Some("v3"));
    let expected = [("predict", DType::Int64, &[2, 1][..]), ("predict_proba", DType::Fp64, &[2, 3])];
    assert_eq!(structure(&decoded), expected);
    assert_eq!(output(&decoded, "predict").values, [0.0, 1.0]);
    assert_eq!(output(&decoded, "predict_proba").values, IRIS);
}

#[test]
fn mlserver_with_a_single_score_per_row() {
    let decoded = only("mlserver/lightgbm.http", "/v2/models/bc-lgbm/infer").unwrap();
    is(&decoded, Protocol::V2Json, Some("bc-lgbm"), Some("v1"));
    assert_eq!(structure(&decoded), [("predict", DType::Fp64, &[4, 1][..])]);
    let values = [0.03954668748287209, 0.01080447249136392, 0.010636649756213534, 0.10666803374165569];
    assert_eq!(output(&decoded, "predict").values, values);
}

#[test]
fn kserve_v1() {
    let decoded = only("kserve/v1.http", "/v1/models/iris:predict").unwrap();
    is(&decoded, Protocol::V1Predictions, Some("iris"), None);
    assert_eq!(structure(&decoded), [("predictions", DType::Fp64, &[2, 3][..])]);
    assert_eq!(output(&decoded, "predictions").values, IRIS);
}

#[test]
fn kserve_v2_as_json_and_as_chunked_binary_without_a_content_type() {
    let path = "/v2/models/iris/infer";
    let json = only("kserve/v2.http", path).unwrap();
    is(&json, Protocol::V2Json, Some("iris"), None);
    assert_eq!(structure(&json), [("probabilities", DType::Fp32, &[2, 3][..])]);
    let binary = decode("kserve/chunked_binary.http", path);
    assert_eq!(binary.len(), 2);
    for decoded in binary {
        let decoded = decoded.unwrap();
        is(&decoded, Protocol::V2Binary, Some("iris"), None);
        // The decimal text and the bytes are the same single-precision numbers.
        assert_eq!(structure(&decoded), structure(&json));
        assert_eq!(decoded.outputs[0].values, json.outputs[0].values);
    }
}
