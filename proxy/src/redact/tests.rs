use std::io::Write;

use super::*;
use crate::config::redaction::{HashKey, JsonRule};

const KEY: &[u8] = b"0123456789abcdef";

fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect()
}

fn names(rules: &[(&str, Action)]) -> Vec<NameRule> {
    rules.iter().map(|(name, action)| NameRule { name: (*name).into(), action: *action }).collect()
}

fn built_in(secrets: &[&str]) -> Redaction {
    let secrets: Vec<String> = secrets.iter().map(|name| (*name).to_owned()).collect();
    Redaction::new(redaction::Redaction::default(), &secrets, 1 << 20)
}

fn json(path: &str, action: Action, side: Side) -> JsonRule {
    JsonRule { path: path.parse().unwrap(), action, route: None, side }
}

fn with(json: Vec<JsonRule>) -> Redaction {
    let key = Some(HashKey::new(KEY).unwrap());
    Redaction::new(redaction::Redaction { json, key, ..redaction::Redaction::default() }, &[], 1 << 20)
}

fn pairs(headers: &[(&str, &str)]) -> Pairs {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A request body and its headers after one rule `/inputs/*/data` that masks.
fn recorded(headers: &[(&str, &str)], body: &[u8]) -> (Pairs, Body, Redaction) {
    let redaction = with(vec![json("/inputs/*/data", Action::Mask, Side::Request)]);
    let (mut headers, mut body) = (pairs(headers), Body::whole(Bytes::copy_from_slice(body)));
    redaction.body(Side::Request, "infer", &mut headers, &mut body);
    (headers, body, redaction)
}

fn counted(redaction: &Redaction) -> Vec<String> {
    let some = redaction.unreadable().filter(|(_, count)| *count > 0);
    some.map(|(reason, count)| format!("{reason} {count}")).collect()
}

#[test]
fn secrets_are_recorded_by_name_only() {
    let redaction = built_in(&["X-Patient"]);
    let headers = map(&[
        ("authorization", "Bearer sk-test"),
        ("set-cookie", "a=b"),
        ("x-api-key", "k"),
        ("x-auth-token", "t"),
        ("x-session-id", "s-9"),
        ("x-patient", "Jane"),
        ("content-type", "application/json"),
    ]);
    let text = format!("{:?}", redaction.headers(&headers));
    for secret in ["sk-test", "a=b", "\"k\"", "\"t\"", "s-9", "Jane"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains("application/json"));
    for (query, left) in [
        ("a=1&api_key=k&X-Amz-Signature=s&b", "a=1&api_key=[redacted]&X-Amz-Signature=[redacted]&b"),
        (
            "api%5Fkey=k&%74oken=t&100%=1&%=2&%zz=3",
            "api%5Fkey=[redacted]&%74oken=[redacted]&100%=1&%=2&%zz=3",
        ),
    ] {
        assert_eq!(redaction.query(query).as_deref(), Some(left));
    }
}

#[test]
fn headers_and_parameters_are_dropped_masked_and_hashed_by_rule() {
    let rules = redaction::Redaction {
        headers: names(&[
            ("x-region", Action::Drop),
            ("x-user*", Action::Hash),
            ("x-session-id", Action::Hash),
            ("x-user-token*", Action::Hash),
        ]),
        query: names(&[("user", Action::Hash), ("cell", Action::Mask), ("debug", Action::Drop)]),
        key: Some(HashKey::new(KEY).unwrap()),
        json: Vec::new(),
    };
    let redaction = Redaction::new(rules, &[], 0);
    let headers = redaction.headers(&map(&[
        ("x-region", "eu"),
        ("x-user", "Jane Doe"),
        ("x-user-name", "Jane Doe"),
        ("x-session-id", "s-9"),
        ("x-user-token", "tk"),
        ("accept", "*/*"),
    ]));
    let value = |name| exchange::leg::header(&headers, name);
    assert_eq!(value("x-region"), None);
    assert!(value("x-user").unwrap().starts_with("hash:"));
    assert_eq!(value("x-user"), value("x-user-name"));
    assert!(value("x-session-id").unwrap().starts_with("hash:"));
    assert_eq!(value("x-user-token"), Some(REDACTED), "a credential is never hashed");
    assert_eq!(value("accept"), Some("*/*"));

    let hash = value("x-user").unwrap();
    let query = redaction.query("user=Jane%20Doe&cell=7&debug=1&x=2&debug");
    assert_eq!(query, Some(format!("user={hash}&cell=[redacted]&x=2")), "equal stays equal in any spelling");
    assert_eq!(redaction.query("debug=1"), None);
}

#[test]
fn nothing_is_read_where_no_rule_is() {
    let redaction =
        with(vec![JsonRule { route: Some("chat".into()), ..json("/messages", Action::Mask, Side::Request) }]);
    assert!(redaction.reads(Side::Request, "chat"));
    for (side, route) in [(Side::Answer, "chat"), (Side::Request, "infer")] {
        assert!(!redaction.reads(side, route));
        let (mut headers, mut body) = (pairs(&[]), Body::whole(Bytes::from_static(b"no JSON")));
        let before = body.clone();
        redaction.body(side, route, &mut headers, &mut body);
        assert_eq!(body, before);
    }
}

#[test]
fn a_redacted_body_has_the_digest_of_what_is_left_and_the_length_that_crossed_the_wire() {
    let text = br#"{"inputs":[{"data":[4711]}],"id":"a"}"#;
    let (headers, body, _) =
        recorded(&[("Content-Length", "37"), ("Content-MD5", "abc"), ("x-amz-checksum-crc32", "y")], text);
    let left = br#"{"inputs":[{"data":"[redacted]"}],"id":"a"}"#;
    assert_eq!(body, Body { length: 37, ..Body::whole(Bytes::from_static(left)) });
    let told = [("Content-Length", "43"), ("Content-MD5", REDACTED), ("x-amz-checksum-crc32", REDACTED)];
    assert_eq!(headers, pairs(&told));
    let untouched = br#"{"id":"a"}"#;
    let (headers, body, _) = recorded(&[("etag", "e")], untouched);
    assert_eq!((body, headers), (Body::whole(Bytes::from_static(untouched)), pairs(&[("etag", "e")])));
}

#[test]
fn the_head_before_binary_tensors_is_redacted_and_its_length_told_anew() {
    let redaction = with(vec![json("/parameters/user", Action::Mask, Side::Both)]);
    let head =
        r#"{"inputs":[{"name":"x","parameters":{"binary_data_size":4}}],"parameters":{"user":"Jane"}}"#;
    let left = head.replace("Jane", REDACTED);
    let wire = [head.as_bytes(), b"\0\x01{\xff"].concat();
    let length = head.len().to_string();
    let media = format!("application/vnd.sagemaker-triton.binary+json;json-header-size={length};x=1");
    for (name, value, wanted) in [
        ("Inference-Header-Content-Length", length.clone(), left.len().to_string()),
        ("content-type", media.clone(), media.replace(&length, &left.len().to_string())),
    ] {
        let (mut headers, mut body) = (pairs(&[(name, &value)]), Body::whole(wire.clone().into()));
        redaction.body(Side::Request, "", &mut headers, &mut body);
        assert_eq!(body.bytes, [left.as_bytes(), b"\0\x01{\xff"].concat());
        assert_eq!(headers, pairs(&[(name, &wanted)]));
    }
}

#[test]
fn tensors_that_a_rule_covers_do_not_leave_in_binary_form_either() {
    let head = br#"{"inputs":[{"name":"x","parameters":{"binary_data_size":4}}]}"#;
    let length = head.len().to_string();
    let headers = [("inference-header-content-length", length.as_str())];
    let (_, body, redaction) = recorded(&headers, &[&head[..], b"\x01\x02\x03\x04"].concat());
    assert_eq!(
        body,
        Body { bytes: Bytes::new(), length: head.len() as u64 + 4, digest: None, truncated: true }
    );
    assert_eq!(counted(&redaction), ["binary_tensors 1"]);
    for (path, covers) in [("/inputs/*", true), ("/inputs/0/data/*", true), ("..ssn", false), ("", true)] {
        let redaction = with(vec![json(path, Action::Mask, Side::Both)]);
        let mut body = Body::whole([&head[..], b"tail"].concat().into());
        redaction.body(Side::Request, "", &mut pairs(&headers), &mut body);
        assert_eq!(body.truncated, covers, "{path}");
    }
}

#[test]
fn compressed_bodies_are_recorded_redacted_and_plain() {
    let text = br#"{"inputs":[{"data":[1]}]}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(text).unwrap();
    for (coding, wire) in [("gzip", gzip.finish().unwrap()), ("deflate", zlib.finish().unwrap())] {
        let (headers, body, _) = recorded(&[("content-encoding", coding), ("content-length", "9")], &wire);
        assert_eq!(&body.bytes[..], br#"{"inputs":[{"data":"[redacted]"}]}"#, "{coding}");
        assert_eq!(headers, pairs(&[("content-length", "34")]));
        assert_eq!(body.length, wire.len() as u64);
    }
}

#[test]
fn a_body_that_cannot_be_read_is_not_recorded_and_counted() {
    let bomb = {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&vec![b' '; (1 << 20) + 1]).unwrap();
        gzip.finish().unwrap()
    };
    let grpc = b"\0\0\0\0\x07\x0a\x05model";
    for (headers, bytes, reason) in [
        (&[("content-encoding", "br")][..], &b"{}"[..], "encoding 1"),
        (&[("content-encoding", "gzip")], b"{}", "encoding 1"),
        (&[("content-encoding", "gzip")], &bomb, "too_large 1"),
        (&[("content-type", "application/grpc")], grpc, "not_json 1"),
        (&[("inference-header-content-length", "99")], b"{}", "not_json 1"),
        (&[("inference-header-content-length", "x")], b"{}", "not_json 1"),
        (&[], b"patient Jane", "not_json 1"),
    ] {
        let (_, body, redaction) = recorded(headers, bytes);
        let empty = Body { bytes: Bytes::new(), length: bytes.len() as u64, digest: None, truncated: true };
        assert_eq!((body, counted(&redaction)), (empty, vec![reason.to_owned()]), "{headers:?}");
    }
    let redaction = with(vec![json("/a", Action::Mask, Side::Both)]);
    let mut cut = Body { truncated: true, ..Body::whole(Bytes::from_static(b"{\"a\":1}")) };
    redaction.body(Side::Answer, "", &mut pairs(&[]), &mut cut);
    assert_eq!((cut.bytes.len(), cut.digest, counted(&redaction)), (0, None, vec!["truncated 1".to_owned()]));
    let over_the_cap = Body { length: 9, truncated: true, ..Body::default() };
    let mut unkept = over_the_cap.clone();
    redaction.body(Side::Request, "", &mut pairs(&[]), &mut unkept);
    assert_eq!(
        (unkept, counted(&redaction)),
        (over_the_cap, vec!["truncated 1".to_owned()]),
        "nothing to withhold"
    );
    let mut empty = Body::default();
    redaction.body(Side::Answer, "", &mut pairs(&[]), &mut empty);
    assert_eq!(empty, Body::default(), "where nothing came, nothing is hidden");
}

#[test]
fn events_are_redacted_one_by_one() {
    let redaction = with(vec![json("/choices/*/delta/content", Action::Mask, Side::Answer)]);
    let run = |text: &str| {
        let mut headers = pairs(&[("content-type", "text/event-stream; charset=utf-8")]);
        let mut body = Body::whole(Bytes::copy_from_slice(text.as_bytes()));
        redaction.body(Side::Answer, "", &mut headers, &mut body);
        String::from_utf8(body.bytes.to_vec()).unwrap()
    };
    let delta = |text: &str| format!(r#"{{"choices":[{{"delta":{{"content":{text}}}}}],"n":1e400}}"#);
    let (secret, left) = (delta("\"Jane\""), delta("\"[redacted]\""));
    let stream = |data: &str| {
        format!(": hello\r\nevent: x\r\ndata: {data}\r\nid: 7\r\n\r\ndata:{data}\n\ndata: [DONE]\n\n")
    };
    assert_eq!(run(&stream(&secret)), stream(&left));
    assert_eq!(run("data: {\"id\":1}\n\n"), "data: {\"id\":1}\n\n");
    let (first, second) = secret.split_at(11);
    assert_eq!(
        run(&format!("data: {first}\ndata: {second}\n\n")),
        format!("data: {}\n\n", left.replacen(first, &format!("{first}\ndata: "), 1)),
        "the data of one event in two lines"
    );
    for text in ["data: Jane\n\n", "data: {\"a\":\n\n", "data: {}\n\nJane\n"] {
        assert_eq!(run(text), "", "{text}");
    }
}
