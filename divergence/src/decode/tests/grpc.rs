//! Open Inference Protocol over gRPC, from messages built by hand.

use super::wire::{bytes, framed, number, packed};
use super::*;
use crate::Kind;

const METHOD: &str = "/inference.GRPCInferenceService/ModelInfer";
const STREAM: &str = "/inference.GRPCInferenceService/ModelStreamInfer";

fn grpc(path: &str, body: &[u8]) -> Result<Decoded, Undecodable> {
    read(path, &[("content-type", "application/grpc")], body, &Rules::default())
}

fn output(name: &str, datatype: &str, shape: &[u64], contents: Option<&[u8]>) -> Vec<u8> {
    let contents = contents.map(|contents| bytes(5, contents)).unwrap_or_default();
    let message =
        [bytes(1, name.as_bytes()), bytes(2, datatype.as_bytes()), packed(3, shape), contents].concat();
    bytes(5, &message)
}

/// The only output of an answer.
fn only(parts: &[Vec<u8>]) -> Result<Output, Undecodable> {
    let mut decoded = grpc(METHOD, &framed(&parts.concat()))?;
    assert_eq!((decoded.protocol, decoded.outputs.len()), (Protocol::V2Grpc, 1));
    Ok(decoded.outputs.remove(0))
}

#[test]
fn an_answer_names_its_model_and_holds_raw_tensors_in_order() {
    let answer = [
        bytes(1, b"ranker"),
        bytes(2, b"7"),
        output("b", "FP32", &[2], Some(b"")),
        output("a", "INT64", &[1], None),
        bytes(6, &[1.5_f32.to_le_bytes(), (-0.0_f32).to_le_bytes()].concat()),
        bytes(6, &9_007_199_254_740_993_i64.to_le_bytes()),
    ];
    let decoded = grpc(METHOD, &framed(&answer.concat())).unwrap();
    assert_eq!((decoded.model.as_deref(), decoded.model_version.as_deref()), (Some("ranker"), Some("7")));
    assert_eq!(decoded.outputs[0].exact, Some(vec![9_007_199_254_740_993]));
    assert_eq!(decoded.outputs[1].values[0], 1.5);
    assert_eq!(decoded.outputs[1].values[1].to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn typed_contents_of_every_type_are_read() {
    let of = |datatype: &str, contents: &[u8]| only(&[output("t", datatype, &[2], Some(contents))]).unwrap();
    assert_eq!(of("BOOL", &packed(1, &[1, 0])).values, [1.0, 0.0]);
    assert_eq!(of("INT8", &packed(2, &[u64::MAX, 127])).values, [-1.0, 127.0]);
    assert_eq!(of("INT64", &packed(3, &[u64::MAX, 1 << 60])).exact, Some(vec![-1, 1 << 60]));
    assert_eq!(of("UINT32", &packed(4, &[4_294_967_295, 1])).values, [4_294_967_295.0, 1.0]);
    assert_eq!(of("UINT64", &packed(5, &[u64::MAX, 1])).exact, Some(vec![u64::MAX.into(), 1]));
    assert_eq!(
        of("FP32", &bytes(6, &[0.1_f32, 2.0].map(f32::to_le_bytes).concat())).values,
        [0.1_f32.into(), 2.0]
    );
    let halves = [number(8, 0), bytes(8, b"a")].concat();
    assert!(only(&[output("t", "BYTES", &[2], Some(&halves))]).is_err());
    assert_eq!(of("FP64", &bytes(7, &[0.1_f64, 2.0].map(f64::to_le_bytes).concat())).values, [0.1, 2.0]);
    assert_eq!(of("BYTES", &[bytes(8, b"a"), bytes(8, b"\xff")].concat()).text, ["a", "\u{fffd}ff"]);
}

#[test]
fn half_precision_comes_raw_and_in_both_forms() {
    let of = |datatype: &str, raw: &[u8]| {
        only(&[output("t", datatype, &[3], None), bytes(6, raw)]).unwrap().values
    };
    assert_eq!(of("BF16", b"\x00\x3f\x80\x3e\x81\x3f"), [0.5, 0.25, 1.0078125]);
    assert_eq!(of("FP16", b"\x00\x38\x00\x34\x00\x7c"), [0.5, 0.25, f64::INFINITY]);
    let typed = only(&[output("t", "FP16", &[1], Some(&packed(4, &[0x3800])))]);
    assert_eq!(reason(typed), "output `t`: no usable `contents`");
}

#[test]
fn contents_that_do_not_fit_are_named() {
    let raw = |parts: &[Vec<u8>]| reason(only(parts));
    assert_eq!(raw(&[output("t", "FP32", &[2], None)]), "output `t`: no usable `contents`");
    assert_eq!(
        raw(&[output("t", "FP32", &[2], None), bytes(6, &[0; 4])]),
        "output `t`: shape 2 needs 2 elements, found 1"
    );
    assert_eq!(
        raw(&[output("t", "FP32", &[1], None), bytes(6, &[0; 4]), bytes(6, &[0; 4])]),
        "4 bytes left after the last binary tensor"
    );
    assert_eq!(raw(&[output("t", "FP8", &[1], None)]), "output `t`: unknown datatype `FP8`");
    assert_eq!(raw(&[output("t", "FP32", &[u64::MAX], None)]), "output `t`: no usable `shape`");
    let other = output("t", "FP32", &[1], Some(&packed(5, &[1])));
    assert_eq!(raw(&[other]), "output `t`: no usable `contents`");
    assert_eq!(only(&[output("t", "FP32", &[0, 4], None)]).unwrap().values, [0.0_f64; 0]);
    assert_eq!(grpc(METHOD, b"\0\0\0\0\x02\x0a\x09"), Err(Undecodable::Corrupt("protobuf message")));
    assert_eq!(grpc(METHOD, b""), Err(Undecodable::Empty));
}

/// A message of a stream: the answer to the request of that id, with one number.
fn answer(id: &str, value: f32) -> Vec<u8> {
    let response =
        [bytes(3, id.as_bytes()), output("x", "FP32", &[1], None), bytes(6, &value.to_le_bytes())].concat();
    framed(&bytes(2, &response))
}

#[test]
fn a_stream_is_its_messages_by_request_whatever_their_order() {
    let stream = [answer("2", 3.0), answer("1", 1.0), answer("2", 4.0), answer("1", 2.0)].concat();
    let decoded = grpc(STREAM, &stream).unwrap();
    assert_eq!(
        (&decoded.outputs[0].shape[..], &decoded.outputs[0].values[..]),
        (&[4, 1][..], &[1.0, 2.0, 3.0, 4.0][..])
    );
    // An empty last answer is no answer.
    let last = framed(&bytes(2, &bytes(3, b"1")));
    assert_eq!(grpc(STREAM, &[stream, last].concat()).unwrap().outputs, decoded.outputs);
}

#[test]
fn errors_within_a_stream_are_an_output_beside_answers_and_the_reason_alone() {
    let error = framed(&bytes(1, b"no such tensor"));
    assert_eq!(reason(grpc(STREAM, &error)), "error in the message: no such tensor");
    let outputs = grpc(STREAM, &[answer("1", 1.0), error].concat()).unwrap().outputs;
    assert_eq!(
        (outputs[0].name.as_str(), outputs[0].kind, &outputs[0].text[..]),
        ("error_message", Kind::Text, &["no such tensor".to_owned()][..])
    );
    assert_eq!(outputs[1].values, [1.0]);
}

#[test]
fn a_status_in_the_trailers_is_the_reason_before_all_else() {
    let trailers = [("grpc-status".to_owned(), "14".to_owned())];
    let answer = Answer { trailers: &trailers, truncated: true, ..Answer::new(METHOD, 200, &[], b"") };
    assert_eq!(reason(decode(&answer, &Rules::default())), "grpc status 14");
}

#[test]
fn a_call_of_another_service_is_named() {
    assert_eq!(reason(grpc("/x.Y/Z", b"\0\0\0\0\0")), "grpc method `/x.Y/Z` is not supported");
}
