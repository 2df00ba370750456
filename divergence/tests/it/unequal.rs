//! Answers that hold the same values in other places are not the same answers.

use divergence::{Answer, Class, Divergence, Rules, Side, compare};

fn compared(path: &str, content_type: &str, one: &[u8], other: &[u8]) -> Divergence {
    let headers = [("content-type".to_owned(), content_type.to_owned())];
    let rules = Rules::default();
    let read = |body| {
        divergence::decode(&Answer::new(path, 200, &headers, body), &rules).expect("it can be decoded")
    };
    let (one, other) = (read(one), read(other));
    let back = compare(Side::Outputs(&other), Side::Outputs(&one), &rules);
    let found = compare(Side::Outputs(&one), Side::Outputs(&other), &rules);
    assert_eq!(found.class, back.class, "whichever leg it is");
    assert_ne!(divergence::signature(&one, &rules), divergence::signature(&other, &rules));
    found
}

fn json(path: &str, one: &str, other: &str) -> Divergence {
    let json = "application/json";
    let same = compared_alone(path, json, one.as_bytes());
    assert_eq!(same, Class::BitEqual, "{one}");
    compared(path, json, one.as_bytes(), other.as_bytes())
}

fn compared_alone(path: &str, content_type: &str, body: &[u8]) -> Class {
    let headers = [("content-type".to_owned(), content_type.to_owned())];
    let rules = Rules::default();
    let read =
        divergence::decode(&Answer::new(path, 200, &headers, body), &rules).expect("it can be decoded");
    compare(Side::Outputs(&read), Side::Outputs(&read), &rules).class
}

#[test]
fn each_row_is_a_ranking_of_its_own() {
    let one = r#"{"result":[[["a",0.52],["b",0.48]],[["a",0.52],["b",0.48]]]}"#;
    let other = r#"{"result":[[["a",0.52],["b",0.48]],[["b",0.52],["a",0.48]]]}"#;
    let found = json("/v1/models/m:classify", one, other);
    assert_eq!((found.class, found.serious, found.worst_row), (Class::Flip, true, Some(1)));
    // A label that is gone from the second row, beside a row of another length.
    let short = r#"{"result":[[["a",0.52],["b",0.48]],[["a",0.52]]]}"#;
    let gone = r#"{"result":[[["a",0.52],["b",0.48]],[["c",0.52]]]}"#;
    let found = json("/v1/models/m:classify", short, gone);
    assert_eq!((found.class, found.worst_row), (Class::Flip, Some(1)));
    let fewer = r#"{"result":[[["a",0.52],["b",0.48]]]}"#;
    assert_eq!(json("/v1/models/m:classify", one, fewer).class, Class::Structure);
}

#[test]
fn rows_of_other_lengths_are_another_structure() {
    let cases = [
        (
            "/v1/models/m:predict",
            r#"{"predictions":[[0.1,0.2],[0.3]]}"#,
            r#"{"predictions":[[0.1],[0.2,0.3]]}"#,
        ),
        ("/v1/models/m:predict", r#"{"predictions":[0.1,[0.3]]}"#, r#"{"predictions":[[0.1],0.3]}"#),
        ("/score", "[[0.1,0.2],[0.3]]", "[[0.1],[0.2,0.3]]"),
    ];
    for (path, one, other) in cases {
        assert_eq!(json(path, one, other).class, Class::Structure, "{one}");
    }
    let csv = compared("/invocations", "text/csv", b"0.1,0.2\n0.3\n", b"0.1\n0.2,0.3\n");
    assert_eq!(csv.class, Class::Structure);
}

#[test]
fn which_rows_have_a_value_is_a_part_of_the_answer() {
    let one = r#"{"predictions":[{"a":0.1},{"a":0.2,"b":0.3}]}"#;
    let other = r#"{"predictions":[{"a":0.1,"b":0.3},{"a":0.2}]}"#;
    assert_eq!(json("/v1/models/m:predict", one, other).class, Class::Structure);
}

/// A V2 answer over gRPC with one BYTES output of one element.
fn call(element: &[u8], raw: bool) -> Vec<u8> {
    let field =
        |tag: u8, bytes: &[u8]| [&[tag, u8::try_from(bytes.len()).expect("short")][..], bytes].concat();
    let contents = if raw { Vec::new() } else { field(0x2a, &field(0x42, element)) };
    let tensor = [field(0x0a, b"t"), field(0x12, b"BYTES"), field(0x1a, &[1]), contents].concat();
    let mut message = field(0x2a, &tensor);
    if raw {
        let length = u32::try_from(element.len()).expect("short").to_le_bytes();
        message.extend(field(0x32, &[&length[..], element].concat()));
    }
    [&[0][..], &u32::try_from(message.len()).expect("short").to_be_bytes(), &message].concat()
}

#[test]
fn bytes_that_are_no_text_are_told_apart() {
    let path = "/inference.GRPCInferenceService/ModelInfer";
    let pairs: [(&[u8], &[u8]); 4] = [
        (b"\xff\x00", b"\xfe\x00"),
        (b"\xff", b"\xef\xbf\xbdff"),
        (b"\xff", b"\xef\xbf\xbd"),
        (b"\xef", b"\xef\xbf\xbd\xef\xbf\xbd"),
    ];
    for (one, other) in pairs {
        for raw in [true, false] {
            let found = compared(path, "application/grpc", &call(one, raw), &call(other, raw));
            assert_eq!(found.class, Class::Flip, "{one:?} {other:?}");
        }
    }
}
