//! The model that a request names.

use super::wire::{bytes, framed};
use crate::{requested_model, samples};

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

#[test]
fn a_request_that_draws_its_text_says_so() {
    let draws = |body: &str| samples(&[], body.as_bytes());
    for body in [
        r#"{"messages":[],"temperature":0.7}"#,
        r#"{"prompt":"a"}"#,
        r#"{"input":"a","temperature":1}"#,
        r#"{"inputs":"a","parameters":{"do_sample":true}}"#,
    ] {
        assert!(draws(body), "{body}");
    }
    for body in [
        r#"{"messages":[],"temperature":0}"#,
        r#"{"messages":[],"temperature":0.7,"seed":1}"#,
        r#"{"inputs":"a"}"#,
        r#"{"inputs":"a","parameters":{"do_sample":true,"seed":7}}"#,
        r#"{"inputs":[{"name":"x"}],"parameters":{"temperature":1}}"#,
        "",
        "{",
        "[1]",
        "\u{0}",
    ] {
        assert!(!draws(body), "{body}");
    }
}
