//! What decoding asks of JSON values.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::fault::Undecodable;
use super::{MAX_VALUES, sse};
use crate::json::{Json, JsonError, Number};

/// A value that is no container.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Leaf<'a> {
    Null,
    Bool(bool),
    Number(&'a Number<'a>),
    Text(&'a str),
}

/// What a value is, for walking through numbers and text.
pub(super) enum View<'a, 'j> {
    Leaf(Leaf<'a>),
    Array(&'a [Json<'j>]),
    Object(&'a [(Cow<'j, str>, Json<'j>)]),
}

/// What it is. TensorFlow Serving's binary values, `{"b64": text}`, are the leaf of their text.
pub(super) fn view<'a, 'j>(value: &'a Json<'j>) -> View<'a, 'j> {
    View::Leaf(match value {
        Json::Null => Leaf::Null,
        Json::Bool(value) => Leaf::Bool(*value),
        Json::Number(number) => Leaf::Number(number),
        Json::Text(text) => Leaf::Text(text),
        Json::Array(items) => return View::Array(items),
        Json::Object(fields) => match value.text_field("b64") {
            Some(encoded) => Leaf::Text(encoded),
            None => return View::Object(fields),
        },
    })
}

/// Parses JSON of a bounded number of values.
pub(super) fn parse(bytes: &[u8]) -> Result<Json<'_>, Undecodable> {
    Json::parse(bytes, MAX_VALUES).map_err(|error| match error {
        JsonError::TooMany(limit) => Undecodable::TooMany { what: "elements", limit },
        error => Undecodable::NotJson(error.to_string()),
    })
}

/// The JSON documents of an event stream, up to its `[DONE]`.
pub(super) fn events(body: &[u8]) -> Result<Vec<Json<'_>>, Undecodable> {
    // Each value but the first of an event follows one of these bytes, and an event one of the lines.
    let marks = body.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b'\r' | b'\n')).count();
    if marks > MAX_VALUES {
        return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
    }
    let events = sse::events(body).into_iter().take_while(|data| data.trim_ascii() != b"[DONE]");
    events
        .filter(|data| !data.trim_ascii().is_empty())
        .map(|data| match data {
            Cow::Borrowed(data) => parse(data),
            Cow::Owned(data) => parse(&data).map(Json::into_owned),
        })
        .collect()
}

/// Fields that go with an error, and are no outputs.
const WITH_ERROR: [&str; 8] =
    ["error", "code", "detail", "details", "message", "status", "status_code", "type"];

/// What an object says went wrong, in `error`. Servers write `null`, `false`, `""`, `0`, `[]` or `{}` there where nothing did; and
/// a number beside other fields is an output of that name.
pub(super) fn error<'v, 'j>(document: &'v Json<'j>) -> Option<&'v Json<'j>> {
    let alone = |fields: &[(Cow<'_, str>, Json<'_>)]| {
        fields.iter().all(|(name, _)| WITH_ERROR.contains(&name.as_ref()))
    };
    let Json::Object(fields) = document else { return None };
    document.field("error").filter(|error| match error {
        Json::Null | Json::Bool(false) => false,
        Json::Bool(true) => true,
        Json::Number(number) => number.as_f64() != 0.0 && alone(fields),
        Json::Text(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(fields) => !fields.is_empty(),
    })
}

/// The same value in `serde_json`'s type, for JSONPath to look at; numbers that it cannot hold are null there.
pub(crate) fn to_serde(value: &Json<'_>) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_int() {
            Some(value) => match (i64::try_from(value), u64::try_from(value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                _ => number.as_f64().into(),
            },
            None => number.as_f64().into(),
        },
        Json::Text(text) => Value::String(text.clone().into_owned()),
        Json::Array(items) => Value::Array(items.iter().map(to_serde).collect()),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone().into_owned(), to_serde(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
