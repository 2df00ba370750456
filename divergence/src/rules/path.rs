//! A path into a JSON answer, parsed once when the rules are made.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

use super::RulesError;
use crate::Json;

/// One output taken from JSON answers by path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonOutput {
    /// Name to give the output.
    pub name: String,
    /// Where it is. All values that the path selects make one output.
    pub path: Path,
    /// Prefix of the request paths it is for; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_path: Option<String>,
}

/// A JSON Pointer (RFC 6901, begins with `/`) or a JSONPath (RFC 9535, begins with `$`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path {
    text: String,
    parsed: Parsed,
}

#[derive(Debug, Clone, PartialEq)]
enum Parsed {
    Pointer,
    JsonPath(JsonPath),
}

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// When it is neither a pointer nor a JSONPath; the error names the path and what is wrong.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let wrong = |reason: String| RulesError::Path { path: text.to_owned(), reason };
        let parsed = match text.chars().next() {
            Some('/') => {
                // RFC 6901: `~` occurs only as `~0` or `~1`.
                if let Some(rest) = text.split('~').skip(1).find(|rest| !rest.starts_with(['0', '1'])) {
                    return Err(wrong(format!("`~{rest}` is no escape: write ~0 for ~ and ~1 for /")));
                }
                Parsed::Pointer
            }
            Some('$') => Parsed::JsonPath(JsonPath::parse(text).map_err(|error| wrong(error.to_string()))?),
            _ => return Err(wrong("begin it with / (JSON Pointer) or with $ (JSONPath)".into())),
        };
        Ok(Self { text: text.to_owned(), parsed })
    }

    /// The path as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The values of `tree` that the path selects, in order. `plain` is the same tree in the type that JSONPath is evaluated on.
    pub(crate) fn select<'v, 'j>(&self, tree: &'v Json<'j>, plain: &Value) -> Vec<&'v Json<'j>> {
        match &self.parsed {
            Parsed::Pointer => pointed(tree, &self.text).into_iter().collect(),
            Parsed::JsonPath(path) => {
                let found = path.query_located(plain).all();
                let step = |value: &'v Json<'j>, element: &PathElement<'_>| match element {
                    PathElement::Name(name) => value.field(name),
                    PathElement::Index(index) => value.as_array()?.get(*index),
                };
                found.iter().filter_map(|node| node.location().iter().try_fold(tree, step)).collect()
            }
        }
    }
}

/// The value at a JSON Pointer.
fn pointed<'v, 'j>(tree: &'v Json<'j>, pointer: &str) -> Option<&'v Json<'j>> {
    pointer.split('/').skip(1).try_fold(tree, |value, token| {
        let token = token.replace("~1", "/").replace("~0", "~");
        match value {
            // RFC 6901: an index has no leading zeros.
            Json::Array(items) if token == "0" || !token.starts_with(['0', '+']) => {
                items.get(token.parse::<usize>().ok()?)
            }
            value => value.field(&token),
        }
    })
}

impl TryFrom<String> for Path {
    type Error = RulesError;

    fn try_from(text: String) -> Result<Self, RulesError> {
        Self::parse(&text)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.text
    }
}
