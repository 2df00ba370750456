//! The model that a request names.

use super::wire::{bytes, framed};
use crate::requested_model;

fn model(path: &str, media_type: &str, body: &[u8]) -> Option<String> {
    requested_model(path, &[("Content-Type".to_owned(), media_type.to_owned())], body)
}

#[test]
fn the_path_comes_before_the_body() {
    let body = br#"{"model":"other"}"#;
    assert_eq!(model("/v2/models/ranker/infer", "application/json", body).as_deref(), Some("ranker"));
    assert_eq!(model("/prefix/v1/models/m/versions/1:predict?x=1", "", b"").as_deref(), Some("m"));
    assert_eq!(
        model("/v1/chat/completions", "application/json", b" {\"model\":\"llama\",\"n\":1}").as_deref(),
        Some("llama")
    );
}

#[test]
fn calls_name_it_in_their_message() {
    let infer = framed(&[bytes(1, b"ranker"), bytes(2, b"3")].concat());
    let grpc = "application/grpc+proto";
    assert_eq!(model("/inference.GRPCInferenceService/ModelInfer", grpc, &infer).as_deref(), Some("ranker"));
    let stream = [infer.clone(), b"\0\0\0\0\xffcut".to_vec()].concat();
    assert_eq!(
        model("/inference.GRPCInferenceService/ModelStreamInfer", grpc, &stream).as_deref(),
        Some("ranker")
    );
    let predict = framed(&bytes(1, &bytes(1, b"half")));
    assert_eq!(
        model("/tensorflow.serving.PredictionService/Predict", grpc, &predict).as_deref(),
        Some("half")
    );
    assert_eq!(model("/x.Y/Z", grpc, &infer), None);
}

#[test]
fn a_body_that_names_none_or_cannot_be_read_is_none() {
    for body in [&b""[..], b"{", b"[1]", b"{\"model\":1}", b"{\"model\":\"\"}", b"\xff"] {
        assert_eq!(model("/v1/completions", "application/json", body), None, "{body:?}");
    }
    assert_eq!(model("/inference.GRPCInferenceService/ModelInfer", "application/grpc", b"\0\0"), None);
}
