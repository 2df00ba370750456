//! Rows of the three tables, as Arrow columns driven by the tables of `exchange::columns`.
//!
//! A row is put in cell by cell, in the order of its table; the name given with each cell is checked against the table,
//! so that a column added there cannot shift the others here.

mod builder;
mod dead_letter;
mod exchange;
mod ledger;

use std::sync::Arc;

use ::exchange::columns::{self, Column};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use builder::{Builder, Cell};
pub(crate) use dead_letter::{DeadLetter, put_dead_letter};
pub(crate) use exchange::{Judged, judge, put_exchange};
pub(crate) use ledger::put_ledger;

/// Where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// Rows of one table that are not yet written.
pub(crate) struct Rows {
    table: &'static [Column],
    schema: SchemaRef,
    builders: Vec<Builder>,
    /// The column that the next cell belongs to.
    cursor: usize,
    rows: usize,
    bytes: usize,
}

impl Rows {
    /// No rows of `table`, with `metadata` in the schema besides its version.
    pub(crate) fn new(table: &'static [Column], metadata: &[(&str, &str)]) -> Self {
        let mut pairs = columns::schema(table).metadata().clone();
        pairs.extend(metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        let schema = Arc::new(columns::schema(table).with_metadata(pairs));
        let builders = table.iter().map(|column| Builder::new(column.kind)).collect();
        Self { table, schema, builders, cursor: 0, rows: 0, bytes: 0 }
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Rows not yet taken.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// About how many bytes they hold.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends the next cell of the row.
    pub(crate) fn put<'a>(&mut self, name: &str, value: impl Into<Cell<'a>>) {
        self.put_in("", name, value);
    }

    /// Appends the next cell of the row, in the column `prefix` + `name`.
    pub(crate) fn put_in<'a>(&mut self, prefix: &str, name: &str, value: impl Into<Cell<'a>>) {
        let column = &self.table[self.cursor];
        assert!(
            column.name.strip_prefix(prefix) == Some(name),
            "cells come in the order of the table: {prefix}{name} came where {} belongs",
            column.name
        );
        let value = value.into();
        assert!(column.nullable || !matches!(value, Cell::Null), "{} is never null", column.name);
        self.bytes += self.builders[self.cursor].append(value, column);
        self.cursor += 1;
        if self.cursor == self.table.len() {
            self.cursor = 0;
            self.rows += 1;
        }
    }

    /// Takes all rows.
    ///
    /// # Errors
    /// Never for rows put in whole; Arrow's check of the columns against the schema.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        (self.rows, self.bytes) = (0, 0);
        let columns: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

/// A count as the signed integer of a column; beyond its range, the largest.
fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
