//! TensorFlow Serving over gRPC and REST.

use super::wire::{bytes, framed, number, packed};
use super::*;
use crate::Kind;

const SERVICE: &str = "/tensorflow.serving.PredictionService";

fn grpc(method: &str, message: &[u8]) -> Result<Decoded, Undecodable> {
    let headers = [("content-type", "application/grpc")];
    read(&format!("{SERVICE}/{method}"), &headers, &framed(message), &Rules::default())
}

fn shape(sizes: &[u64]) -> Vec<u8> {
    bytes(2, &sizes.iter().flat_map(|size| bytes(2, &number(1, *size))).collect::<Vec<_>>())
}

/// A tensor of that type code and shape, the rest of it given.
fn tensor(code: u64, sizes: &[u64], rest: &[u8]) -> Result<Output, Undecodable> {
    let tensor = [number(1, code), shape(sizes), rest.to_vec()].concat();
    let entry = bytes(1, &[bytes(1, b"t"), bytes(2, &tensor)].concat());
    let mut decoded = grpc("Predict", &entry)?;
    assert_eq!(decoded.protocol, Protocol::TfGrpc);
    Ok(decoded.outputs.remove(0))
}

#[test]
fn every_field_of_values_is_read() {
    let values = |code, sizes: &[u64], rest: &[u8]| tensor(code, sizes, rest).unwrap().values;
    assert_eq!(
        values(1, &[2], &bytes(5, &[0.1_f32, 2.0].map(f32::to_le_bytes).concat())),
        [0.1_f32.into(), 2.0]
    );
    assert_eq!(values(2, &[1, 1], &bytes(6, &0.1_f64.to_le_bytes())), [0.1]);
    assert_eq!(values(3, &[2], &packed(7, &[u64::MAX, 5])), [-1.0, 5.0]);
    assert_eq!(values(4, &[2], &packed(7, &[255, 0])), [255.0, 0.0]);
    assert_eq!(values(10, &[2], &packed(11, &[1, 0])), [1.0, 0.0]);
    assert_eq!(values(19, &[2], &packed(13, &[0x3800, 0x7c00])), [0.5, f64::INFINITY]);
    assert_eq!(values(14, &[2], &packed(13, &[0x3f00, 0x3f81])), [0.5, 1.0078125]);
    assert_eq!(tensor(9, &[1], &packed(10, &[1 << 60])).unwrap().exact, Some(vec![1 << 60]));
    assert_eq!(tensor(23, &[1], &packed(17, &[u64::MAX])).unwrap().exact, Some(vec![u64::MAX.into()]));
    assert_eq!(values(22, &[], &packed(16, &[7])), [7.0]);
    let words = [bytes(8, b"a"), bytes(8, b"b")].concat();
    assert_eq!(tensor(7, &[2], &words).unwrap().text, ["a", "b"]);
}

#[test]
fn content_is_raw_and_a_last_value_repeats() {
    let content = bytes(4, &[1.5_f32, -0.0].map(f32::to_le_bytes).concat());
    let raw = tensor(1, &[2, 1], &content).unwrap();
    assert_eq!((raw.dtype, &raw.shape[..], raw.values[0]), (DType::Fp32, &[2, 1][..], 1.5));
    assert_eq!(
        tensor(1, &[4], &bytes(5, &[1_f32, 2.0].map(f32::to_le_bytes).concat())).unwrap().values,
        [1.0, 2.0, 2.0, 2.0]
    );
    assert_eq!(tensor(9, &[3], &packed(10, &[1 << 60])).unwrap().exact, Some(vec![1 << 60; 3]));
    assert_eq!(tensor(7, &[2], &bytes(8, b"a")).unwrap().text, ["a", "a"]);
    assert_eq!(tensor(1, &[0, 4], &[]).unwrap().values, [0.0_f64; 0]);
}

#[test]
fn tensors_that_cannot_be_read_are_named() {
    assert_eq!(reason(tensor(1, &[2], &[])), "output `t`: shape 2 needs 2 elements, found 0");
    assert_eq!(reason(tensor(8, &[1], &[])), "output `t`: unknown datatype `DT 8`");
    assert_eq!(reason(tensor(1, &[u64::MAX], &[])), "output `t`: no usable `shape`");
    assert_eq!(reason(tensor(1, &[1 << 40], &bytes(5, &[0; 4]))), "more than 16777216 elements");
    assert_eq!(grpc("Predict", b""), Err(Undecodable::NoOutputs));
    assert_eq!(
        reason(grpc("MultiInference", b"")),
        format!("grpc method `{SERVICE}/MultiInference` is not supported")
    );
}

#[test]
fn the_model_is_named_with_its_version() {
    let spec =
        bytes(2, &[bytes(1, b"half"), bytes(2, &number(1, 123)), bytes(3, b"serving_default")].concat());
    let entry = bytes(1, &[bytes(1, b"y"), bytes(2, &[number(1, 1), bytes(5, &[0; 4])].concat())].concat());
    let decoded = grpc("Predict", &[entry, spec].concat()).unwrap();
    assert_eq!((decoded.model.as_deref(), decoded.model_version.as_deref()), (Some("half"), Some("123")));
}

#[test]
fn classes_and_regressions_are_rows_over_both_ways() {
    let class = |label: &[u8], score: f32| {
        bytes(1, &[bytes(1, label), [&[0x15][..], &score.to_le_bytes()].concat()].concat())
    };
    let rows =
        [bytes(1, &[class(b"a", 0.75), class(b"b", 0.25)].concat()), bytes(1, &class(b"c", 1.0))].concat();
    let found = grpc("Classify", &bytes(1, &rows)).unwrap().outputs.remove(0);
    assert_eq!((found.kind, &found.shape[..]), (Kind::Ranking, &[2, 2][..]));
    assert_eq!(found.keys, ["a", "b", "c", ""]);
    assert_eq!(found.values, [0.75, 0.25, 1.0, f64::NEG_INFINITY]);
    let rest = r#"{"result":[[["a",0.75],["b",0.25]],[["c",1.0]]]}"#;
    let rest = plain("/v1/models/m:classify", rest).unwrap();
    assert_eq!((&rest.outputs[0].keys, &rest.outputs[0].values), (&found.keys, &found.values));
    assert_eq!(rest.model.as_deref(), Some("m"));

    let value = |value: f32| bytes(1, &[&[0x0d][..], &value.to_le_bytes()].concat());
    let found = grpc("Regress", &bytes(1, &[value(0.5), bytes(1, b"")].concat())).unwrap();
    assert_eq!(found.outputs[0].values, [0.5, 0.0]);
    for field in ["result", "results"] {
        let rest = plain("/v1/models/m:regress", &format!(r#"{{"{field}":[0.5,0]}}"#)).unwrap();
        assert_eq!(rest.outputs[0].values, [0.5, 0.0]);
    }
    assert_eq!(plain("/v1/models/m:regress", r#"{"error":"no"}"#), Err(Undecodable::ErrorBody));
    assert!(reason(plain("/v1/models/m:classify", r#"{"result":[[["a"]]]}"#)).contains("no usable `result`"));
}
