use super::*;
use proptest::prelude::*;

fn parsed(text: &str) -> Json<'_> {
    Json::parse(text.as_bytes(), 1000).unwrap()
}

fn wrong(text: &[u8]) -> String {
    Json::parse(text, 1000).unwrap_err().to_string()
}

#[test]
fn values_of_every_kind_are_read() {
    let value = parsed(" {\"a\":[1,-2.5e3,true,false,null,\"x\"],\"b\":{},\"c\":[]} ");
    let items = value.field("a").unwrap().as_array().unwrap();
    let numbers: Vec<f64> = items.iter().filter_map(|item| item.as_number()).map(Number::as_f64).collect();
    assert_eq!(numbers, [1.0, -2500.0]);
    assert_eq!(items[2..5], [Json::Bool(true), Json::Bool(false), Json::Null]);
    assert_eq!(items[5].as_text(), Some("x"));
    assert_eq!(
        (value.field("b"), value.field("c")),
        (Some(&Json::Object(vec![])), Some(&Json::Array(vec![])))
    );
    assert_eq!(value.field("d"), None);
    assert_eq!(parsed(r#"{"a":1,"a":2}"#).field("a").unwrap().as_u64(), Some(2));
}

#[test]
fn numbers_keep_their_text_and_read_as_the_nearest_float() {
    let of = |text: &'static str| parsed(text).as_number().unwrap().clone();
    assert_eq!(of("18446744073709551615").as_int(), Some(18_446_744_073_709_551_615));
    assert_eq!(of("1e400").as_f64(), f64::INFINITY);
    assert_eq!(of("-1e-400").as_f64().to_bits(), (-0.0_f64).to_bits());
    assert_eq!(of("1e99999999999999999999").as_f64(), f64::INFINITY);
    assert_eq!(
        (of("1e400").text().to_owned(), of("1.0").as_int(), of("-0").as_int()),
        ("1e400".into(), None, Some(0))
    );
    assert!(of("NaN").as_f64().is_nan() && of("-nan").as_f64().is_nan());
    assert_eq!((of("-Infinity").as_f64(), of("inf").as_f64()), (f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(of("0.1").as_f64(), 0.1);
    assert_eq!(of("9007199254740993").as_f64(), 9_007_199_254_740_992.0);
}

#[test]
fn how_finely_a_number_is_printed_is_seen() {
    let of = |text: &'static str| {
        let printed = parsed(text).as_number().unwrap().printed();
        printed.map(|printed| (printed.decimals, printed.digits))
    };
    assert_eq!(of("0.9975274205207825"), Some((16, 16)));
    assert_eq!(of("0.050"), Some((3, 2)));
    assert_eq!(of("1.5e-7"), Some((8, 2)));
    assert_eq!(of("1.5e7"), Some((0, 2)));
    assert_eq!((of("12"), of("NaN")), (Some((0, 2)), None));
}

#[test]
fn escapes_and_broken_text_give_characters() {
    assert_eq!(parsed(r#""a\"\\\/\b\f\n\r\tz""#).as_text(), Some("a\"\\/\u{8}\u{c}\n\r\tz"));
    assert_eq!(parsed(r#""\u00e9\ud83d\ude00""#).as_text(), Some("é😀"));
    assert_eq!(parsed(r#""\ud83dx\ude00""#).as_text(), Some("\u{fffd}x\u{fffd}"));
    assert_eq!(parsed(r#""\ud83d\u0041""#).as_text(), Some("\u{fffd}A"));
    assert_eq!(Json::parse(b"\"\xff\"", 9).unwrap().as_text(), Some("\u{fffd}"));
}

#[test]
fn what_is_no_json_is_named_with_its_place() {
    assert_eq!(wrong(b""), "expected a value at byte 0");
    assert_eq!(wrong(b"{]"), "expected the name of a field at byte 1");
    assert_eq!(wrong(b"{} x"), "expected the end at byte 3");
    assert_eq!(wrong(b"[1 2]"), "expected `,` or `]` at byte 3");
    assert_eq!(wrong(b"\"a"), "expected the end of a text at byte 2");
    assert_eq!(wrong(b"\"\n\""), "expected the end of a text at byte 1");
    assert_eq!(wrong(br#""\x""#), "expected an escape at byte 2");
    assert_eq!(wrong(br#""\u00g0""#), "expected four hexadecimal digits at byte 3");
    for text in
        ["01", "1.", "-", "+1", ".5", "1e", "tru", "nul", "Traceback", "{\"a\" 1}", "[1,]", "{\"a\":1,}"]
    {
        assert!(wrong(text.as_bytes()).starts_with("expected "), "{text}");
    }
}

#[test]
fn depth_and_number_of_values_are_bounded() {
    assert_eq!(wrong("[".repeat(100_000).as_bytes()), "recursion limit exceeded at byte 200");
    let deepest = format!("{}{}", "[".repeat(Json::MAX_DEPTH), "]".repeat(Json::MAX_DEPTH));
    assert!(Json::parse(deepest.as_bytes(), 1000).is_ok());
    assert_eq!(Json::parse(b"[1,2]", 2), Err(JsonError::TooMany(2)));
    assert!(Json::parse(b"[1,2]", 3).is_ok());
}

/// The same value in another library's type.
fn other(value: &Json<'_>) -> serde_json::Value {
    match value {
        Json::Null => serde_json::Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => serde_json::from_str(number.text()).unwrap(),
        Json::Text(text) => text.to_string().into(),
        Json::Array(items) => items.iter().map(other).collect(),
        Json::Object(fields) => fields.iter().map(|(key, value)| (key.to_string(), other(value))).collect(),
    }
}

proptest! {
    #[test]
    fn a_float_reads_as_the_standard_library_reads_it(value in any::<f64>(), digits in 0..25_usize) {
        for text in [format!("{value}"), format!("{value:e}"), format!("{value:.digits$e}")] {
            let number = Json::parse(text.as_bytes(), 1).unwrap().as_number().unwrap().as_f64();
            let expected: f64 = text.parse().unwrap();
            prop_assert!(number.to_bits() == expected.to_bits() || number.is_nan() && expected.is_nan(), "{}", text);
        }
    }

    #[test]
    fn strict_json_reads_as_another_parser_reads_it(text in r#"[\[\]{},:" 0-9a\\ntrue.eE-]{0,24}"#) {
        if let Ok(expected) = serde_json::from_str::<serde_json::Value>(&text) {
            let found = Json::parse(text.as_bytes(), 1000);
            prop_assert_eq!(found.as_ref().map(other), Ok(expected), "{}", text);
        }
    }
}
