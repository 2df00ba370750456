use proptest::prelude::*;

use super::*;

fn model(name: &str, version: Option<&str>) -> Model {
    Model { name: name.into(), version: version.map(Into::into) }
}

fn to(from: &str, model: Model) -> Rewrite {
    let rules = rewrite::Rewrite { models: [(from.into(), model)].into(), ..rewrite::Rewrite::default() };
    Rewrite::new(&rules).unwrap()
}

fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers
}

fn path(rules: rewrite::Rewrite, path: &'static str) -> String {
    let mut path = PathAndQuery::from_static(path);
    let _ = Rewrite::new(&rules).unwrap().head(&mut path, &mut HeaderMap::new(), false);
    path.to_string()
}

#[test]
fn a_target_without_changes_costs_nothing() {
    assert!(Rewrite::new(&rewrite::Rewrite::default()).is_none());
}

#[test]
fn prefixes_are_taken_and_put_by_whole_segments() {
    let prefixes = |strip: &str, add: &str| rewrite::Rewrite {
        strip_prefix: strip.into(),
        add_prefix: add.into(),
        ..rewrite::Rewrite::default()
    };
    assert_eq!(path(prefixes("/api", "/b/c"), "/api/v2/x?q=1&r"), "/b/c/v2/x?q=1&r");
    assert_eq!(path(prefixes("/api/", "/b/"), "/api"), "/b/");
    assert_eq!(path(prefixes("/api", ""), "/apis/v2"), "/apis/v2");
    assert_eq!(path(prefixes("/api", ""), "/api"), "/");
    assert_eq!(path(prefixes("", "/b"), "/x%20y"), "/b/x%20y");
    let models = [("a".to_owned(), model("c d", None))].into();
    let rules = rewrite::Rewrite { models, ..prefixes("/api", "/b") };
    assert_eq!(path(rules, "/api/v2/models/a/infer?x"), "/b/v2/models/c%20d/infer?x");
}

#[test]
fn headers_of_a_copy_are_its_own() {
    let mut authorization = HeaderValue::from_static("Bearer other");
    authorization.set_sensitive(true);
    let rules = rewrite::Rewrite {
        set_headers: vec![(HeaderName::from_static("x-tenant"), HeaderValue::from_static("shadow"))],
        remove_headers: vec![HeaderName::from_static("x-debug")],
        authorization: Some(authorization),
        ..rewrite::Rewrite::of_copies()
    };
    let mut headers = map(&[
        ("authorization", "Bearer client"),
        ("x-tenant", "a"),
        ("x-tenant", "b"),
        ("x-debug", "1"),
        ("idempotency-key", "k-1"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"),
        ("accept", "*/*"),
    ]);
    let mut path = PathAndQuery::from_static("/v2");
    let rest = Rewrite::new(&rules).unwrap().head(&mut path, &mut headers, false);
    assert!(matches!(rest, Rest::Nothing));
    let wanted = map(&[
        ("authorization", "Bearer other"),
        ("x-tenant", "shadow"),
        ("idempotency-key", "k-1-shadow"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02"),
        ("accept", "*/*"),
        ("x-shadowdiff-shadow", "1"),
    ]);
    assert_eq!(headers, wanted);
    assert!(!format!("{headers:?}{rules:?}").contains("Bearer other"), "a secret is not printed");
}

#[test]
fn a_traceparent_that_is_none_or_not_sampled_stays() {
    for value in ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-x", "", &"é".repeat(40)] {
        let value = HeaderValue::from_str(value).unwrap();
        assert_eq!(unsampled(&value), None, "{value:?}");
    }
    let later = HeaderValue::from_static("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more");
    assert_eq!(unsampled(&later).unwrap(), "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more");
}

#[test]
fn the_model_of_a_json_body_is_changed_and_its_length_told_anew() {
    let rewrite = to("gpt-a", model("org/b \"2\"", None));
    let text = r#"{"messages":[{"model":"gpt-a"}], "model" : "gpt\u002da","n":1e400,"model_name":"gpt-a"}"#;
    let other = r#""org/b \"2\"""#;
    let wanted = text
        .replace(r#""gpt\u002da""#, other)
        .replace(r#""model_name":"gpt-a""#, &format!(r#""model_name":{other}"#));
    for cut in [0, 1, 40, text.len()] {
        let body: Vec<Bytes> = [&text[..cut], &text[cut..]].map(|part| Bytes::from(part.to_owned())).into();
        let mut headers = map(&[("content-length", "1")]);
        let out = rewrite.json(&mut headers, &body).unwrap().concat();
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
        assert_eq!(headers[CONTENT_LENGTH], wanted.len().to_string());
    }
}

#[test]
fn tensors_behind_the_json_stay_and_its_own_length_is_told() {
    let rewrite = to("a", model("longer", None));
    let body = [Bytes::from_static(b"{\"model_name\":\"a\"}\x00\xff{")];
    let mut headers = map(&[("inference-header-content-length", "18"), ("content-length", "21")]);
    let out = rewrite.json(&mut headers, &body).unwrap().concat();
    assert_eq!(out, b"{\"model_name\":\"longer\"}\x00\xff{");
    assert_eq!(headers, map(&[("inference-header-content-length", "23"), ("content-length", "26")]));
}

#[test]
fn a_body_that_names_no_such_model_or_cannot_be_read_is_sent_as_it_is() {
    let rewrite = to("a", model("b", None));
    for (headers, text) in [
        (&[][..], r#"{"model":"c"}"#),
        (&[], r#"{"model":{"model":"a"}}"#),
        (&[], r#"{"model":"a""#),
        (&[], "model=a"),
        (&[], ""),
        (&[("content-encoding", "gzip")], r#"{"model":"a"}"#),
        (&[("inference-header-content-length", "99")], r#"{"model":"a"}"#),
    ] {
        let mut headers = map(headers);
        let before = headers.clone();
        assert_eq!(rewrite.json(&mut headers, &[Bytes::from(text)]), None, "{text}");
        assert_eq!(headers, before);
    }
}

/// Field 1 or 2 as a string, and so on.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(value.len()).unwrap()], value].concat()
}

fn frame(message: &[u8]) -> Vec<u8> {
    [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

/// All messages of a call, pushed in chunks of `size` bytes.
fn grpc(rewrite: &Rewrite, path: &'static str, body: &[u8], size: usize) -> Vec<u8> {
    let mut path = PathAndQuery::from_static(path);
    let Rest::Grpc(mut messages) = rewrite.head(&mut path, &mut HeaderMap::new(), true) else {
        panic!("not taken for such a call")
    };
    let mut out = Vec::new();
    body.chunks(size).for_each(|chunk| messages.push(Bytes::copy_from_slice(chunk), &mut out));
    messages.finish(&mut out);
    out.concat()
}

const INFER: &str = "/inference.GRPCInferenceService/ModelInfer";

#[test]
fn the_model_of_each_message_is_changed_wherever_it_is_cut() {
    let rewrite = to("a", model("longer", None));
    let tensor = field(7, &[0xff; 100]);
    let message =
        |name: &str| [&field(1, name.as_bytes())[..], &field(2, b"3"), &tensor, &[0x18, 7]].concat();
    let other = frame(&message("other"));
    let body = [frame(&message("a")), other.clone(), frame(&message("a"))].concat();
    let wanted = [frame(&message("longer")), other, frame(&message("longer"))].concat();
    for size in [1, 4, 5, 6, 7, 50, body.len()] {
        assert_eq!(grpc(&rewrite, INFER, &body, size), wanted, "{size}");
    }
}

#[test]
fn a_version_is_set_or_left_out_in_a_message() {
    let message = |name: &[u8], version: &[u8]| frame(&[field(1, name), field(2, version)].concat());
    let set = to("a", model("b", Some("7")));
    assert_eq!(grpc(&set, INFER, &message(b"a", b"3"), 99), message(b"b", b"7"));
    assert_eq!(grpc(&set, INFER, &frame(&field(1, b"a")), 99), message(b"b", b"7"));
    let left = to("a", model("b", Some("")));
    assert_eq!(grpc(&left, INFER, &message(b"a", b"3"), 99), frame(&field(1, b"b")));
}

#[test]
fn the_model_spec_of_tensorflow_serving_is_changed_in_its_own_message() {
    let path = "/tensorflow.serving.PredictionService/Predict";
    let inputs = field(2, b"inputs");
    let request = |spec: &[u8]| frame(&[&field(1, spec)[..], &inputs].concat());
    let asked = request(&[&field(1, b"a")[..], &field(2, &[8, 3]), &field(3, b"sig")].concat());
    let wanted = request(&[&field(1, b"b")[..], &field(2, &[8, 3]), &field(3, b"sig")].concat());
    assert_eq!(grpc(&to("a", model("b", None)), path, &asked, 99), wanted);
    let wanted = request(&[&field(1, b"b")[..], &field(3, b"sig"), &field(2, &[8, 0xac, 2])].concat());
    assert_eq!(grpc(&to("a", model("b", Some("300"))), path, &asked, 99), wanted);
    let wanted = request(&[&field(1, b"b")[..], &field(3, b"sig"), &field(4, b"canary")].concat());
    assert_eq!(grpc(&to("a", model("b", Some("canary"))), path, &asked, 99), wanted);
}

#[test]
fn what_is_compressed_no_message_or_too_long_is_sent_as_it_is() {
    let rewrite = to("a", model("b", None));
    let compressed = [&[1, 0, 0, 0, 3][..], &field(1, b"a")].concat();
    let long = [&[0, 0x10, 0, 0, 0][..], &field(1, b"a"), &[0; 40]].concat();
    for body in [&compressed[..], &frame(b"\xff\xff"), &frame(&[0x0a, 9, b'a']), &long, b"\0\0", b""] {
        assert_eq!(grpc(&rewrite, INFER, body, 3), body, "{body:?}");
    }
}

#[test]
fn calls_of_other_services_and_plain_bodies_are_told_apart() {
    let rewrite = to("a", model("b", None));
    let rest = |path: &'static str, grpc| {
        rewrite.head(&mut PathAndQuery::from_static(path), &mut HeaderMap::new(), grpc)
    };
    assert!(matches!(rest("/grpc.health.v1.Health/Check", true), Rest::Nothing));
    assert!(matches!(rest(INFER, false), Rest::Json));
}

proptest! {
    #[test]
    fn any_bytes_pass_and_none_is_lost(bytes in proptest::collection::vec(any::<u8>(), 0..80), size in 1..9_usize) {
        let rewrite = to("a", model("a", None));
        let framed = frame(&[&field(1, b"a")[..], &bytes].concat());
        for body in [&bytes, &framed] {
            prop_assert_eq!(&grpc(&rewrite, INFER, body, size), body);
        }
    }
}
