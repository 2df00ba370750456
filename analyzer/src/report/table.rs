//! A table of text.

use serde::Serialize;

/// How a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Align {
    /// Text; may be cut where room is short.
    Text,
    /// Text that must stay whole, such as an id.
    Whole,
    /// Numbers, to the right.
    Number,
}

/// A table.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Table {
    pub(super) title: String,
    /// What the reader must know of it; may be empty.
    pub(super) note: String,
    pub(super) columns: Vec<(String, Align)>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(title: impl Into<String>, note: impl Into<String>, columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Self { title: title.into(), note: note.into(), columns, rows: Vec::new() }
    }

    pub(super) fn with_rows(mut self, rows: impl Iterator<Item = Vec<String>>) -> Self {
        self.rows = rows.collect();
        self
    }
}
