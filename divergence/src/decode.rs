//! From the bytes of an answer to named outputs.

use crate::{Output, Rules};

/// The parts of an answer that decoding looks at.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Path of the request.
    pub path: &'a str,
    /// HTTP status of the answer.
    pub status: u16,
    /// Headers of the answer.
    pub headers: &'a [(String, String)],
    /// Body as it crossed the wire (possibly compressed).
    pub body: &'a [u8],
    /// Whether `body` is only the first part.
    pub truncated: bool,
}

/// How an answer was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Open Inference Protocol V2 as JSON.
    V2Json,
    /// TensorFlow Serving / KServe V1 `predictions` (or `outputs`).
    V1Predictions,
    /// Any JSON, by configured paths.
    JsonPath,
}

impl Protocol {
    /// The name used in columns and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2Json => "v2_json",
            Self::V1Predictions => "v1_predictions",
            Self::JsonPath => "json_path",
        }
    }
}

/// A decoded answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// How it was read.
    pub protocol: Protocol,
    /// Model that the answer, or else the path, names.
    pub model: Option<String>,
    /// Version of the model that the answer names.
    pub model_version: Option<String>,
    /// Outputs, sorted by name.
    pub outputs: Vec<Output>,
}

/// Why an answer has no outputs; [`Display`](std::fmt::Display) gives the reason stored in the columns.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum Undecodable {
    /// Not a 2xx status.
    #[error("status {0}")]
    Status(u16),
    /// Captured only in part.
    #[error("body truncated by the capture cap")]
    Truncated,
}

/// Decodes an answer.
///
/// # Errors
/// When it is no 2xx, is truncated, is not of a known format, or holds no output.
pub fn decode(_answer: &Answer<'_>, _rules: &Rules) -> Result<Decoded, Undecodable> {
    Err(Undecodable::Truncated)
}
