//! The summary as JSON.

use crate::Summary;

/// The summary as indented JSON, with a line feed at its end. Its form has a version: the field `schema`.
#[must_use]
pub fn json(summary: &Summary) -> String {
    let mut text =
        serde_json::to_string_pretty(summary).expect("a summary has text keys and no failing value");
    text.push('\n');
    text
}
