//! Seldon, CSV, plain text, and JSON of no known shape.

use super::wire::{bytes, framed, number};
use super::*;
use crate::Kind;

const SELDON: &str = "/api/v1.0/predictions";

#[test]
fn seldon_answers_an_array_a_tensor_or_a_value() {
    let array = r#"{"data":{"names":["a","b"],"ndarray":[[0.25,0.75]]},"meta":{"puid":"x"}}"#;
    let found = plain(SELDON, array).unwrap();
    assert_eq!((found.protocol, found.outputs[0].name.as_str()), (Protocol::Seldon, "data"));
    assert_eq!(
        (&found.outputs[0].values[..], &found.outputs[0].keys[..]),
        (&[0.25, 0.75][..], &["a".to_owned(), "b".into()][..])
    );
    let tensor = r#"{"data":{"names":["p"],"tensor":{"shape":[2,1],"values":[0.5,1]}}}"#;
    let found = plain("/predict", tensor).unwrap().outputs.remove(0);
    assert_eq!(
        (&found.shape[..], &found.values[..], &found.keys[..]),
        (&[2, 1][..], &[0.5, 1.0][..], &["p".to_owned(), "p".into()][..])
    );
    assert_eq!(plain(SELDON, r#"{"strData":"yes"}"#).unwrap().outputs[0].text, ["yes"]);
    let tree = plain(SELDON, r#"{"jsonData":{"a":1}}"#).unwrap().tree.unwrap();
    assert_eq!(tree.field("a").and_then(Json::as_u64), Some(1));
    assert_eq!(plain(SELDON, r#"{"status":{"status":"FAILURE","code":-1}}"#), Err(Undecodable::ErrorBody));
    assert!(reason(plain(SELDON, r#"{"data":{"names":[]}}"#)).contains("no usable `ndarray`"));
}

#[test]
fn seldon_over_grpc_says_the_same() {
    let of = |message: &[u8]| {
        read(
            "/seldon.protos.Seldon/Predict",
            &[("content-type", "application/grpc")],
            &framed(message),
            &Rules::default(),
        )
    };
    let double = |value: f64| value.to_le_bytes();
    let tensor = [bytes(1, &[2, 1]), bytes(2, &[double(0.5), double(1.0)].concat())].concat();
    let found = of(&bytes(3, &[bytes(1, b"p"), bytes(2, &tensor)].concat())).unwrap().outputs.remove(0);
    assert_eq!((&found.shape[..], &found.values[..], found.keys.len()), (&[2, 1][..], &[0.5, 1.0][..], 2));
    let value = |inner: Vec<u8>| bytes(1, &inner);
    let scalar = |number: f64| value([&[0x11][..], &double(number)].concat());
    let row = value(bytes(6, &[scalar(0.25), scalar(0.75)].concat()));
    let found = of(&bytes(3, &bytes(3, &row))).unwrap().outputs.remove(0);
    assert_eq!((&found.shape[..], &found.values[..]), (&[1, 2][..], &[0.25, 0.75][..]));
    assert_eq!(of(&bytes(5, b"yes")).unwrap().outputs[0].text, ["yes"]);
    assert_eq!(of(&bytes(1, &number(4, 1))), Err(Undecodable::ErrorBody));
    let field = |name: &[u8], inner: Vec<u8>| bytes(1, &[bytes(1, name), bytes(2, &inner)].concat());
    let object = bytes(5, &[field(b"b", number(4, 1)), field(b"a", bytes(3, b"x"))].concat());
    let tree = of(&bytes(6, &object)).unwrap().tree.unwrap();
    assert_eq!(tree, Json::parse(br#"{"a":"x","b":true}"#, 9).unwrap());
}

#[test]
fn seldon_over_rest_has_tensors_of_tensorflow() {
    let of = |tensor: &str| {
        let body = format!(r#"{{"data":{{"names":["a","b"],"tftensor":{tensor}}}}}"#);
        plain("/api/v1.0/predictions", &body).map(|mut decoded| decoded.outputs.remove(0))
    };
    let shape = r#""tensorShape":{"dim":[{"size":"1"},{"size":"2"}]}"#;
    let floats = of(&format!(r#"{{"dtype":"DT_FLOAT",{shape},"floatVal":[0.5,"NaN"]}}"#)).unwrap();
    assert_eq!((floats.dtype, &floats.shape[..], floats.values[0]), (DType::Fp32, &[1, 2][..], 0.5));
    assert!(floats.values[1].is_nan() && floats.keys == ["a", "b"]);
    let repeated = of(&format!(r#"{{"dtype":1,{shape},"float_val":[0.5]}}"#)).unwrap();
    assert_eq!(repeated.values, [0.5, 0.5]);
    let large = of(&format!(r#"{{"dtype":"DT_INT64",{shape},"int64Val":["9007199254740993",7]}}"#)).unwrap();
    assert_eq!(large.exact, Some(vec![9_007_199_254_740_993, 7]));
    let halves = of(&format!(r#"{{"dtype":"DT_HALF",{shape},"halfVal":[14336,15360]}}"#)).unwrap();
    assert_eq!(halves.values, [0.5, 1.0]);
    let raw = of(&format!(r#"{{"dtype":"DT_FLOAT",{shape},"tensorContent":"AAAAPwAAgD8="}}"#)).unwrap();
    assert_eq!(raw.values, [0.5, 1.0]);
    let text =
        of(r#"{"dtype":"DT_STRING","tensorShape":{"dim":[{"size":"1"}]},"stringVal":["aGk="]}"#).unwrap();
    assert_eq!(text.text, ["hi"]);
    let scalar = of(r#"{"dtype":"DT_BOOL","boolVal":[true]}"#).unwrap();
    assert_eq!((&scalar.values[..], scalar.shape.len()), (&[1.0][..], 0));
    for (tensor, wanted) in [
        (format!(r#"{{"dtype":"DT_COMPLEX64",{shape}}}"#), "output `data`: no usable `dtype`"),
        (format!(r#"{{"dtype":"DT_INT8",{shape},"intVal":[1,200]}}"#), "output `data`: element 1 is no INT8"),
        (
            format!(r#"{{"dtype":"DT_FLOAT",{shape},"floatVal":[1,2,3]}}"#),
            "output `data`: shape 1x2 needs 2 elements, found 3",
        ),
        (
            format!(r#"{{"dtype":"DT_FLOAT",{shape},"tensorContent":"!"}}"#),
            "output `data`: no usable `tensorContent`",
        ),
        (
            r#"{"dtype":"DT_FLOAT","tensorShape":{"dim":[{"size":"-1"}]}}"#.into(),
            "output `data`: no usable `tensorShape`",
        ),
        (
            r#"{"dtype":"DT_FLOAT","tensorShape":{"dim":[{"size":"99999999999"}]},"floatVal":[1]}"#.into(),
            "more than 16777216 elements",
        ),
    ] {
        assert_eq!(reason(of(&tensor)), wanted, "{tensor}");
    }
}

fn csv(body: &str) -> Vec<Output> {
    let decoded = read(
        "/invocations",
        &[("content-type", "text/csv; charset=utf-8")],
        body.as_bytes(),
        &Rules::default(),
    );
    let decoded = decoded.unwrap();
    assert_eq!(decoded.protocol, Protocol::Csv);
    decoded.outputs
}

#[test]
fn csv_of_numbers_is_one_output_and_with_words_one_per_column() {
    let single = csv("0.5\n0.25\n").remove(0);
    assert_eq!((&single.shape[..], &single.values[..]), (&[2][..], &[0.5, 0.25][..]));
    let table = csv("0.5,0.25\r\n1,nan").remove(0);
    assert_eq!((&table.shape[..], table.values[3].is_nan()), (&[2, 2][..], true));
    let named = csv("label,score\n\"a,b\",0.5\nc,1\n");
    assert_eq!((named[0].name.as_str(), &named[0].text[..]), ("label", &["a,b".to_owned(), "c".into()][..]));
    assert_eq!((named[1].name.as_str(), &named[1].values[..]), ("score", &[0.5, 1.0][..]));
    let unnamed = csv("a,0.5\nb,\n");
    assert_eq!(
        (unnamed[0].name.as_str(), unnamed[1].name.as_str(), unnamed[1].nulls),
        ("column0", "column1", 1)
    );
}

#[test]
fn plain_text_is_text_unless_it_is_json() {
    let of = |media: &str, body: &[u8]| {
        read("/predictions/m", &[("content-type", media)], body, &Rules::default())
    };
    let found = of("text/plain", b"setosa\n").unwrap();
    assert_eq!(
        (found.protocol, found.outputs[0].kind, &found.outputs[0].text[0][..]),
        (Protocol::Text, Kind::Text, "setosa")
    );
    assert_eq!(of("text/plain", br#"{"predictions":[1]}"#).unwrap().protocol, Protocol::V1Predictions);
    assert_eq!(of("text/plain", b"\xff"), Err(Undecodable::Corrupt("UTF-8")));
    assert_eq!(reason(of("image/png", b"\x89PNG")), "media type `image/png` is not supported");
}

#[test]
fn json_of_no_known_shape_is_numbers_or_a_tree() {
    let numbers = plain("/classify", "[[0.5,0.25],[0.1,NaN]]").unwrap();
    assert_eq!((numbers.protocol, &numbers.outputs[0].shape[..]), (Protocol::Json, &[2, 2][..]));
    let tree = plain("/predict", r#"{"score":0.50,"big":12345678901234567890}"#).unwrap();
    assert_eq!((tree.protocol, tree.outputs.len()), (Protocol::Json, 0));
    let tree = tree.tree.unwrap();
    assert_eq!(tree.field("score").and_then(Json::as_number).map(crate::Number::text), Some("0.50"));
    let events = plain("/stream", "data: {\"a\":1}\n\ndata: {\"a\":2}\n\n").unwrap().tree.unwrap();
    assert_eq!(events.as_array().unwrap().len(), 2);
    assert_eq!(plain("/predict", r#"{"error":"no"}"#), Err(Undecodable::ErrorBody));
}

#[test]
fn fields_that_are_new_in_every_answer_are_left_out_unless_a_rule_keeps_them() {
    let body = r#"{"id":"x","score":0.5,"inner":{"id":"kept"},"request_id":1}"#;
    let tree = plain("/predict", body).unwrap().tree.unwrap();
    assert_eq!(tree, Json::parse(br#"{"score":0.5,"inner":{"id":"kept"}}"#, 9).unwrap());
    let events = plain("/stream", "data: {\"id\":1,\"x\":2}\n\n").unwrap().tree.unwrap();
    assert_eq!(events, Json::parse(br#"[{"x":2}]"#, 9).unwrap());
    let rules: Rules = serde_json::from_str(r#"{"json":{"volatile":["inner"]}}"#).unwrap();
    let tree = read("/predict", &[], body.as_bytes(), &rules).unwrap().tree.unwrap();
    assert_eq!(tree, Json::parse(br#"{"id":"x","score":0.5,"request_id":1}"#, 9).unwrap());
}
