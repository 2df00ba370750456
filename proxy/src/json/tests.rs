use proptest::prelude::*;

use super::*;
use crate::config::redaction::{HashKey, Pattern};
use crate::redact::{Hidden, REDACTED};

fn run(text: &[u8], rules: &[(&str, Action)]) -> Result<Option<Vec<u8>>, NotJson> {
    let patterns: Vec<Pattern> = rules.iter().map(|(path, _)| path.parse().unwrap()).collect();
    let actions = rules.iter().map(|(_, action)| *action);
    let (places, whole) = Places::new(patterns.iter().map(Pattern::segments).zip(actions).collect());
    let key = HashKey::new(b"0123456789abcdef").unwrap();
    let edits = edits(text, &places, whole, &Hidden(Some(&key)))?;
    Ok((!edits.is_empty()).then(|| apply(text, &edits)))
}

fn changed(text: &str, rules: &[(&str, Action)]) -> String {
    String::from_utf8(run(text.as_bytes(), rules).unwrap().unwrap_or_else(|| text.into())).unwrap()
}

#[test]
fn every_other_byte_stays_as_it_is() {
    let text = r#" { "id" : "r-1","inputs":[{"name":"x" ,"data":[1, 2.50,NaN]},
        {"data": -Infinity, "n":18446744073709551616, "f":1e400, "t":"\u00e9\/" } ]}
"#;
    let masked = changed(text, &[("/inputs/*/data", Action::Mask)]);
    let wanted = text.replace("[1, 2.50,NaN]", r#""[redacted]""#).replace("-Infinity", r#""[redacted]""#);
    assert_eq!(masked, wanted);
    assert_eq!(run(text.as_bytes(), &[("/no/such", Action::Mask)]), Ok(None));
}

#[test]
fn a_dropped_member_takes_one_comma_along() {
    let drop = |text: &str, paths: &[&str]| {
        let rules: Vec<_> = paths.iter().map(|path| (*path, Action::Drop)).collect();
        changed(text, &rules)
    };
    let text = r#"{"a":1, "b":[2] , "c":{"d":3}}"#;
    assert_eq!(drop(text, &["/a"]), r#"{"b":[2] , "c":{"d":3}}"#);
    assert_eq!(drop(text, &["/b"]), r#"{"a":1, "c":{"d":3}}"#);
    assert_eq!(drop(text, &["/c"]), r#"{"a":1, "b":[2]}"#);
    assert_eq!(drop(text, &["/b", "/c"]), r#"{"a":1}"#);
    assert_eq!(drop(text, &["/a", "/c"]), r#"{"b":[2]}"#);
    assert_eq!(drop(text, &["/*"]), "{}");
    assert_eq!(drop(text, &["/c/d"]), r#"{"a":1, "b":[2] , "c":{}}"#);
    assert_eq!(drop("[1,2,3]", &["/0", "/2"]), "[2]");
    assert_eq!(drop("[ 1 ]", &["/0"]), "[  ]");
    assert_eq!(drop("{\"a\":1}", &[""]), "null");
}

#[test]
fn a_replacement_within_what_is_dropped_goes_with_it() {
    let rules = [("/a/x", Action::Mask), ("/b", Action::Drop), ("/c", Action::Drop)];
    assert_eq!(changed(r#"{"a":{"x":1},"b":2,"c":3}"#, &rules), r#"{"a":{"x":"[redacted]"}}"#);
    assert_eq!(changed(r#"{"b":{"x":1},"a":{"x":1}}"#, &rules), r#"{"a":{"x":"[redacted]"}}"#);
}

#[test]
fn equal_values_have_equal_hashes_however_they_are_written() {
    let text = r#"[{"u":"Jane"},{"u":"\u004aane"},{"u":{"a": [1, 2]}},{"u":{"a":[1,2]}},{"u":"Jean"}]"#;
    let hashed = changed(text, &[("..u", Action::Hash)]);
    let hashes: Vec<_> = hashed.split('"').filter(|part| part.starts_with("hash:")).collect();
    assert_eq!(hashes.len(), 5, "{hashed}");
    assert_eq!((hashes[0], hashes[2]), (hashes[1], hashes[3]));
    assert!(hashes[0] != hashes[2] && hashes[0] != hashes[4]);
    assert!(!hashed.contains("Jane") && hashed.contains("\"u\":\"hash:"), "{hashed}");
}

#[test]
fn a_name_is_found_in_any_spelling_and_each_time_it_is_there() {
    let masked = changed(r#"{"\u0073sn":1,"SSN":2,"ssn":3,"ssn ":4}"#, &[("/ssn", Action::Mask)]);
    assert_eq!(masked, r#"{"\u0073sn":"[redacted]","SSN":"[redacted]","ssn":"[redacted]","ssn ":4}"#);
}

#[test]
fn several_texts_that_follow_each_other_are_each_redacted() {
    let masked = changed("{\"a\":1}\n{\"a\":2}\n", &[("/a", Action::Mask)]);
    assert_eq!(masked, "{\"a\":\"[redacted]\"}\n{\"a\":\"[redacted]\"}\n");
    assert_eq!(changed("\u{feff}{\"a\":1}", &[("/a", Action::Mask)]), "\u{feff}{\"a\":\"[redacted]\"}");
}

#[test]
fn a_text_whose_structure_is_in_doubt_is_refused() {
    let deep = "[".repeat(300) + &"]".repeat(300);
    for text in [
        "{",
        "[1",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "[1,]",
        "{\"a\":1,}",
        "[1 2]",
        "\"abc",
        "\"a\\",
        "{'a':1}",
        "[1/*c*/]",
        "}",
        "patient Jane",
        "1 2",
        "[1] 2",
        "1,2",
        "[None]",
        "Jane",
        "[+]",
        "\"a\" \"b\"",
        "{\"a\":1]",
        "{\"\\q\":1}",
        "\u{1}",
        "<html>",
        &deep,
    ] {
        assert_eq!(run(text.as_bytes(), &[("/a", Action::Mask)]), Err(NotJson), "{text}");
    }
    assert_eq!(run(b"{\"k\xff\":\"\xfe\"}", &[("/a", Action::Mask)]), Ok(None), "bytes that are no UTF-8");
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<i64>().prop_map(Into::into),
        "[a-c\"\\\\é ]{0,4}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The plain meaning of the rule `..NAME`, on a parsed document.
fn without(value: &mut serde_json::Value, name: &str, action: Action) {
    match value {
        serde_json::Value::Object(map) => {
            if action == Action::Drop {
                map.remove(name);
            } else if let Some(found) = map.get_mut(name) {
                *found = REDACTED.into();
            }
            map.iter_mut()
                .filter(|(key, _)| *key != name)
                .for_each(|(_, value)| without(value, name, action));
        }
        serde_json::Value::Array(all) => all.iter_mut().for_each(|value| without(value, name, action)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn any_document_comes_out_as_if_it_had_been_parsed(mut value in json(), pretty: bool, mask: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let action = if mask { Action::Mask } else { Action::Drop };
        let out = changed(&text.unwrap(), &[("..b", action)]);
        without(&mut value, "b", action);
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), value);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = run(&bytes, &[("..b", Action::Drop), ("/a/*", Action::Hash)]);
    }
}
