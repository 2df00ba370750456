//! Failures and broken bodies: each has its reason, none panics.

use proptest::prelude::*;

use super::*;

#[test]
fn a_failed_or_cut_answer_says_so() {
    let of = |status, truncated, body: &'static [u8]| {
        decode(&Answer { truncated, ..Answer::new(INFER, status, &[], body) }, &Rules::default())
    };
    assert_eq!(reason(of(500, true, b"{}")), "status 500");
    assert_eq!(reason(of(304, false, b"")), "status 304");
    assert_eq!(of(200, true, b"{}"), Err(Undecodable::Truncated));
    assert_eq!(of(200, false, b""), Err(Undecodable::Empty));
}

#[test]
fn broken_json_is_named_on_any_path() {
    for path in [INFER, "/v1/models/m:predict", "/score"] {
        for body in
            ["Traceback (most recent call last)", r#"{"outputs":[{"name":"T","#, "{]", "{} x", "\u{0}"]
        {
            let found = reason(plain(path, body));
            assert!(found.starts_with("not json: "), "{path} {body}: {found}");
        }
    }
}

#[test]
fn json_without_scores_is_named() {
    assert_eq!(plain(INFER, "{}"), Err(Undecodable::NoOutputs));
    assert_eq!(plain(INFER, r#"{"outputs":[]}"#), Err(Undecodable::NoOutputs));
    assert_eq!(plain(INFER, r#"{"error":"no"}"#), Err(Undecodable::ErrorBody));
    assert_eq!(plain("/score", r#"{"error":"no"}"#), Err(Undecodable::ErrorBody));
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = "[".repeat(100_000);
    assert!(reason(plain("/score", &deep)).contains("recursion limit"));
    let many = format!(r#"{{"predictions":[{}0]}}"#, "0,".repeat(MAX_VALUES));
    assert_eq!(plain("/x", &many), Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES }));
    let output = r#"{"name":"T","datatype":"FP32","shape":[1],"data":[1]},"#.repeat(MAX_OUTPUTS + 1);
    let outputs = format!(r#"{{"outputs":[{}]}}"#, output.trim_end_matches(','));
    assert_eq!(plain(INFER, &outputs), Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS }));
    let keys: Vec<String> = (0..=MAX_OUTPUTS).map(|key| format!(r#""k{key}":1"#)).collect();
    let columns = format!(r#"{{"predictions":{{{}}}}}"#, keys.join(","));
    assert_eq!(plain("/x", &columns), Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS }));
}

#[test]
fn a_reason_keeps_no_more_than_64_characters_of_a_name() {
    let name = "é".repeat(1000);
    let found = reason(v2(&format!(r#"{{"name":"{name}","datatype":"FP32","shape":[1]}}"#)));
    assert_eq!(found.chars().count(), "output ``: no usable `data`".chars().count() + 64);
}

/// Bodies that are almost right.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let piece = proptest::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"outputs\"",
        "\"predictions\"",
        "\"name\"",
        "\"datatype\"",
        "\"shape\"",
        "\"data\"",
        "\"FP32\"",
        "\"BYTES\"",
        "\"parameters\"",
        "\"binary_data_size\"",
        "null",
        "NaN",
        "-Infinity",
        "-1",
        "4",
        "1e999",
        "99999999999999999999999999999999999999999999",
        "true",
        "\"a\"",
        "\\u0000",
        " ",
    ]);
    let almost = proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes());
    let output = (
        proptest::sample::select(DType::ALL.map(DType::as_str).to_vec()),
        proptest::collection::vec(0..4_i64, 0..3),
        0..40_usize,
        proptest::collection::vec(any::<u8>(), 0..40),
    );
    let binary = output.prop_map(|(dtype, shape, size, tail)| {
        let json = format!(
            r#"{{"outputs":[{{"name":"T","datatype":"{dtype}","shape":{shape:?},"parameters":{{"binary_data_size":{size}}}}}]}}"#
        );
        [json.as_bytes(), &tail].concat()
    });
    prop_oneof![almost, binary, proptest::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #[test]
    fn no_bytes_make_decoding_panic(
        body in body(),
        path in proptest::sample::select(vec![INFER, "/v1/models/m:predict", "/score"]),
        length in proptest::option::of(0..200_usize),
        coding in proptest::sample::select(vec!["", "gzip", "deflate", "br"]),
        path_rule in any::<bool>(),
    ) {
        let length = length.map(|length| length.min(body.len()).to_string());
        let mut headers = vec![("content-encoding", coding)];
        headers.extend(length.as_deref().map(|length| ("inference-header-content-length", length)));
        let paths = r#"{"json_paths":[{"name":"x","path":"$..*"}]}"#;
        let rules = if path_rule { serde_json::from_str(paths).unwrap() } else { Rules::default() };
        if let Ok(decoded) = read(path, &headers, &body, &rules) {
            for output in &decoded.outputs {
                let elements: u64 = output.shape.iter().product();
                let found = if output.dtype == DType::Bytes { output.text.len() } else { output.values.len() };
                prop_assert_eq!(elements, found as u64);
                prop_assert!(output.exact.as_ref().is_none_or(|exact| exact.len() == output.values.len()));
            }
            prop_assert!(decoded.outputs.is_sorted_by(|a, b| a.name <= b.name));
        }
    }
}

#[test]
fn names_and_dimensions_are_bounded() {
    // A name of some megabytes before each of a thousand fields would be copied a thousand times.
    let long = "k".repeat(MAX_NAME + 1);
    let fields: Vec<String> = (0..4).map(|key| format!(r#""f{key}":1"#)).collect();
    for body in [
        format!(r#"{{"predictions":{{"{long}":{{{}}}}}}}"#, fields.join(",")),
        format!(r#"{{"predictions":[{{"{long}":1}}]}}"#),
        format!(r#"{{"outputs":[{{"name":"{long}","datatype":"FP32","shape":[1],"data":[1]}}]}}"#),
    ] {
        let found = reason(plain("/x", &body));
        assert_eq!(found, "more than 4096 bytes in the name of an output");
    }
    let shape = vec!["1"; MAX_DIMENSIONS + 1].join(",");
    let found = reason(v2(&format!(r#"{{"name":"T","datatype":"FP32","shape":[{shape}],"data":[1]}}"#)));
    assert_eq!(found, "output `T`: more than 64 dimensions");
    let named = format!(
        r#"{{"model_name":"{long}","model_version":"{long}","outputs":[{{"name":"T","datatype":"FP32","shape":[1],"data":[1]}}]}}"#
    );
    let decoded = plain(INFER, &named).unwrap();
    assert_eq!((decoded.model.unwrap().len(), decoded.model_version.unwrap().len()), (256, 256));
}

#[test]
fn codings_over_codings_are_not_undone_without_end() {
    let chain = ["gzip"; 5].join(", ");
    let found = read(INFER, &[("content-encoding", chain.as_str())], b"x", &Rules::default());
    assert_eq!(reason(found), "more than 4 content codings");
}
