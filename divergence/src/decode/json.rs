//! Lenient JSON: inference servers write bare `NaN`, `Infinity` and integers past 64 bits.
//!
//! [`Node`] lets the readers walk [`jiter`]'s values and `serde_json`'s (which JSONPath needs) by one piece of code.

use jiter::JsonValue;
use serde_json::{Map, Value};

use super::fault::Undecodable;
use super::{MAX_VALUES, json_path};

/// A value that is no container.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Leaf<'a> {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(&'a str),
}

/// What a node is.
pub(super) enum View<'a, N> {
    Leaf(Leaf<'a>),
    Array(&'a [N]),
    Object,
}

/// A JSON value of either library. TensorFlow Serving's binary values, `{"b64": text}`, are the leaf of their text.
pub(super) trait Node: Sized {
    /// What it is.
    fn view(&self) -> View<'_, Self>;
}

impl Node for JsonValue<'_> {
    fn view(&self) -> View<'_, Self> {
        View::Leaf(match self {
            Self::Null => Leaf::Null,
            Self::Bool(value) => Leaf::Bool(*value),
            Self::Int(value) => Leaf::Int((*value).into()),
            // Past 128 bits only the magnitude is left.
            Self::BigInt(value) => match i128::try_from(value) {
                Ok(value) => Leaf::Int(value),
                Err(_) => Leaf::Float(value.to_string().parse().unwrap_or(f64::NAN)),
            },
            Self::Float(value) => Leaf::Float(*value),
            Self::Str(value) => Leaf::Text(value),
            Self::Array(items) => return View::Array(items),
            Self::Object(_) => match text(self, "b64") {
                Some(encoded) => Leaf::Text(encoded),
                None => return View::Object,
            },
        })
    }
}

impl Node for Value {
    fn view(&self) -> View<'_, Self> {
        View::Leaf(match self {
            Self::Null => Leaf::Null,
            Self::Bool(value) => Leaf::Bool(*value),
            Self::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => Leaf::Int(value.into()),
                (None, Some(value)) => Leaf::Int(value.into()),
                (None, None) => Leaf::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Self::String(text) => json_path::unmarked(text).map_or(Leaf::Text(text), Leaf::Float),
            Self::Array(items) => return View::Array(items),
            Self::Object(fields) => match fields.get("b64") {
                Some(Self::String(encoded)) => Leaf::Text(encoded),
                _ => return View::Object,
            },
        })
    }
}

/// Parses JSON. Depth is bounded by the parser (200), the number of values here.
pub(super) fn parse(bytes: &[u8]) -> Result<JsonValue<'_>, Undecodable> {
    // Each value but the first follows one of these bytes.
    let marks = bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    if marks > MAX_VALUES {
        return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
    }
    JsonValue::parse(bytes, true)
        .map_err(|error| Undecodable::NotJson(format!("{} at byte {}", error.error_type, error.index)))
}

/// A field of an object: the last one of that name.
pub(super) fn field<'v, 'j>(value: &'v JsonValue<'j>, name: &str) -> Option<&'v JsonValue<'j>> {
    let JsonValue::Object(fields) = value else { return None };
    fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// A text field of an object.
pub(super) fn text<'v>(value: &'v JsonValue<'_>, name: &str) -> Option<&'v str> {
    match field(value, name) {
        Some(JsonValue::Str(text)) => Some(text),
        _ => None,
    }
}

/// The same value in `serde_json`'s type; numbers that it cannot hold become marked text.
pub(super) fn to_serde(value: &JsonValue<'_>) -> Value {
    match value {
        JsonValue::Null => Value::Null,
        JsonValue::Bool(value) => Value::Bool(*value),
        JsonValue::Int(value) => (*value).into(),
        JsonValue::BigInt(big) => match u64::try_from(big) {
            Ok(value) => value.into(),
            Err(_) => json_path::marked(big.to_string().parse().unwrap_or(f64::NAN)),
        },
        JsonValue::Float(value) => json_path::marked(*value),
        JsonValue::Str(text) => Value::String(text.clone().into_owned()),
        JsonValue::Array(items) => Value::Array(items.iter().map(to_serde).collect()),
        JsonValue::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone().into_owned(), to_serde(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
