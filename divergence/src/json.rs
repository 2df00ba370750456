//! A JSON value as a server wrote it: numbers keep their text, so that no digit, no integer past 2^53 and no `1e400` is lost.
//!
//! Reading is lenient, because inference servers are: bare `NaN`, `Infinity` and `-Infinity` (also as C prints them: `nan`, `inf`) are
//! numbers, text that is not valid UTF-8 or holds half of a surrogate pair has U+FFFD in its place. Everything else is RFC 8259.

mod float;
mod number;
mod parse;

use std::borrow::Cow;

pub use number::{Number, Printed};
pub use parse::JsonError;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, with its text.
    Number(Number<'a>),
    /// Text, without its escapes.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// The fields of an object in the order they came; names may repeat, and the last one counts ([`Json::field`]).
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Parses a JSON text of at most `limit` values; nesting is bounded by [`MAX_DEPTH`](Self::MAX_DEPTH).
    ///
    /// # Errors
    /// Where it is no JSON, is nested too deeply, or holds more values.
    pub fn parse(bytes: &'a [u8], limit: usize) -> Result<Self, JsonError> {
        parse::whole(bytes, limit)
    }

    /// Most containers within one another.
    pub const MAX_DEPTH: usize = 200;

    /// The field of that name, when this is an object which has it: of a repeated name the last.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text field of that name.
    #[must_use]
    pub fn text_field(&self, name: &str) -> Option<&str> {
        self.field(name)?.as_text()
    }

    /// The items, when this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text, when this is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, when this is a number.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number<'a>> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The whole number, when this is one that 64 bits hold.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_int().and_then(|value| u64::try_from(value).ok())
    }

    /// The same value, holding its own text.
    #[must_use]
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Number(number) => Json::Number(number.into_owned()),
            Self::Text(text) => Json::Text(Cow::Owned(text.into_owned())),
            Self::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Self::Object(fields) => {
                let own = |(key, value): (Cow<'_, str>, Json<'_>)| {
                    (Cow::Owned(key.into_owned()), value.into_owned())
                };
                Json::Object(fields.into_iter().map(own).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests;
