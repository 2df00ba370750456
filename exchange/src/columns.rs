//! The columns of the recorded set: names, types, units and meanings, one table per kind of file.
//!
//! The set is a folder with up to three sub-folders of Parquet files: `exchanges/` ([`EXCHANGES`]), `ledger/`
//! ([`LEDGER`]) and `dead_letters/` ([`DEAD_LETTERS`]). Readers find a column by its name from
//! [`names`]; `docs/COLUMNS.md` is [`markdown`] and a test keeps it so.

mod dead_letters;
mod exchanges;
mod ledger;
pub mod names;

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

pub use dead_letters::DEAD_LETTERS;
pub use exchanges::EXCHANGES;
pub use ledger::LEDGER;

/// Version of the columns; it grows when a column changes or goes, not when one is added.
pub const SCHEMA_VERSION: u32 = 1;

/// Key of the schema version in the key-value metadata of each Parquet file.
pub const SCHEMA_VERSION_KEY: &str = "shadowdiff.schema_version";

/// Key of the hash of the rules (tolerances, paths) that the divergence columns were made with.
pub const RULES_KEY: &str = "shadowdiff.rules";

/// Key of a JSON array: the rules, in words, that none of the first 1,000 pairs of answers of the file used. Absent where no pair was
/// compared.
pub const UNUSED_KEY: &str = "shadowdiff.unused_rules";

/// Type of a column, as Arrow and Parquet know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Signed 32-bit integer.
    Int32,
    /// Signed 64-bit integer.
    Int64,
    /// 64-bit float.
    Float64,
    /// true or false.
    Bool,
    /// Microseconds since the Unix epoch, UTC.
    Timestamp,
    /// Bytes.
    Binary,
    /// List of text, its items never null.
    TextList,
    /// List of 64-bit floats, its items never null.
    Float64List,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name in the file.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether a row may lack a value.
    pub nullable: bool,
    /// Unit of the value; empty where none applies.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

pub(crate) const fn column(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    meaning: &'static str,
) -> Column {
    Column { name, kind, nullable: false, unit, meaning }
}

pub(crate) const fn optional(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    meaning: &'static str,
) -> Column {
    Column { name, kind, nullable: true, unit, meaning }
}

impl Kind {
    /// The Arrow type.
    #[must_use]
    pub fn data_type(self) -> DataType {
        let list = |item| DataType::List(Arc::new(Field::new("item", item, false)));
        match self {
            Self::Text => DataType::Utf8,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float64 => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Binary => DataType::Binary,
            Self::TextList => list(DataType::Utf8),
            Self::Float64List => list(DataType::Float64),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::Bool => "bool",
            Self::Timestamp => "timestamp(µs, UTC)",
            Self::Binary => "binary",
            Self::TextList => "list of text",
            Self::Float64List => "list of float64",
        }
    }
}

/// The Arrow schema of a table, with the schema version in its metadata.
#[must_use]
pub fn schema(table: &[Column]) -> Schema {
    let fields = table.iter().map(|c| Field::new(c.name, c.kind.data_type(), c.nullable));
    let version = (SCHEMA_VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string());
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), [version])
}

/// The text of `docs/COLUMNS.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Columns\n\n\
         Made from `exchange/src/columns/` by `UPDATE_GENERATED=1 cargo test -p exchange`; a test keeps it current.\n\n\
         A recorded set is a folder of three tables, each a set of Parquet files (zstd):\n\n\
         - `exchanges/date=YYYY-MM-DD/hour=HH/TOPIC-PARTITION-FIRST-LAST.parquet`: one row per mirrored request and shadow.\n\
         - `ledger/…`: what each proxy says it did; cumulative counts.\n\
         - `dead_letters/…`: messages that could not be read, with their raw bytes.\n\n\
         FIRST and LAST are the first and last Kafka offsets that a file covers. `date` and `hour` (UTC) are those of the\n\
         first row of the file. Every file carries `shadowdiff.schema_version` in its key-value metadata, and the exchanges\n\
         also `shadowdiff.rules`, the hash of the tolerances and paths the divergence columns were made with, and\n\
         `shadowdiff.unused_rules`, a JSON array of the rules that none of the first 1,000 pairs of answers of the file used.\n",
    );
    let tables = [("exchanges", EXCHANGES), ("ledger", LEDGER), ("dead_letters", DEAD_LETTERS)];
    for (name, table) in tables {
        let _ =
            write!(text, "\n## {name}\n\n| column | type | null | unit | meaning |\n|---|---|---|---|---|\n");
        for c in table {
            let null = if c.nullable { "yes" } else { "no" };
            let _ =
                writeln!(text, "| `{}` | {} | {null} | {} | {} |", c.name, c.kind.name(), c.unit, c.meaning);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_snake_case_and_every_column_says_what_it_means() {
        for table in [EXCHANGES, LEDGER, DEAD_LETTERS] {
            let unique: HashSet<_> = table.iter().map(|c| c.name).collect();
            assert_eq!(unique.len(), table.len());
            for c in table {
                assert!(
                    c.name.chars().all(|ch| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_'),
                    "{}",
                    c.name
                );
                assert!(c.meaning.len() > 8, "{}", c.name);
            }
        }
    }

    #[test]
    fn the_schema_follows_the_table() {
        let schema = schema(EXCHANGES);
        assert_eq!(schema.fields().len(), EXCHANGES.len());
        assert_eq!(
            schema.field_with_name(names::RECEIVED_AT).unwrap().data_type(),
            &Kind::Timestamp.data_type()
        );
        assert_eq!(schema.metadata()[SCHEMA_VERSION_KEY], "1");
    }
}
