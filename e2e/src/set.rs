//! A recorded set, read from its Parquet files with nothing of the product's own.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

/// One row, by column name; bytes as text, floats that JSON lacks as `NaN`, `inf`, `-inf`.
pub type Row = BTreeMap<String, Value>;

/// The rows of one table (`exchanges`, `ledger`, `dead_letters`) of the set at `dir`, files in order of their names.
///
/// # Panics
/// When a file cannot be read.
#[must_use]
pub fn rows(dir: &Path, table: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for path in files(dir, table) {
        let reader = open(&path).build().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for batch in reader {
            let batch = batch.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let names: Vec<String> =
                batch.schema().fields().iter().map(|field| field.name().clone()).collect();
            rows.extend((0..batch.num_rows()).map(|at| {
                names
                    .iter()
                    .cloned()
                    .zip(batch.columns().iter().map(|column| value(column, at)))
                    .collect::<Row>()
            }));
        }
    }
    rows
}

/// The columns of a table as `name: type`; the same in all of its files.
///
/// # Panics
/// When there is no file, one cannot be read, or they differ.
#[must_use]
pub fn columns(dir: &Path, table: &str) -> Vec<String> {
    let mut schemas = files(dir, table).into_iter().map(|path| {
        let builder = open(&path);
        let fields = builder.schema().fields();
        fields.iter().map(|field| format!("{}: {}", field.name(), field.data_type())).collect::<Vec<_>>()
    });
    let first = schemas.next().unwrap_or_else(|| panic!("no file of {table} in {}", dir.display()));
    assert!(schemas.all(|other| other == first), "files of {table} differ in their columns");
    first
}

/// The Parquet files of a table, sorted.
#[must_use]
pub fn files(dir: &Path, table: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.join(table)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "parquet") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// How many rows have each value of a text column.
///
/// # Panics
/// When a row has no text there.
#[must_use]
pub fn counts(rows: &[Row], column: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        let text = row[column].as_str().unwrap_or_else(|| panic!("{column} is {}", row[column]));
        *counts.entry(text.to_owned()).or_insert(0) += 1;
    }
    counts
}

/// The last cumulative count of an item in the rows of a ledger, summed over targets, loads, proxies and runs;
/// an `item` that ends in a dot sums all that begin with it.
///
/// # Panics
/// When a row lacks a value.
#[must_use]
pub fn ledger_total(ledger: &[Row], item: &str) -> i64 {
    let number = |row: &Row, column: &str| {
        row[column].as_i64().unwrap_or_else(|| panic!("{column} is {}", row[column]))
    };
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let run = |row: &Row| format!("{}/{}", row["proxy"], row["run"]);
    for row in ledger {
        let highest = last.entry(run(row)).or_insert(0);
        *highest = number(row, "snapshot").max(*highest);
    }
    let named = |row: &Row| {
        let name = row["item"].as_str().unwrap_or_default();
        name == item || item.ends_with('.') && name.starts_with(item)
    };
    let counted = ledger.iter().filter(|row| named(row) && number(row, "snapshot") == last[&run(row)]);
    counted.map(|row| number(row, "count")).sum()
}

fn open(path: &Path) -> ParquetRecordBatchReaderBuilder<File> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn value(column: &ArrayRef, at: usize) -> Value {
    if column.is_null(at) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(at).into(),
        DataType::Binary => String::from_utf8_lossy(column.as_binary::<i32>().value(at)).into(),
        DataType::Boolean => column.as_boolean().value(at).into(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(at).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(at).into(),
        DataType::Timestamp(..) => column.as_primitive::<TimestampMicrosecondType>().value(at).into(),
        DataType::Float64 => {
            let number = column.as_primitive::<Float64Type>().value(at);
            if number.is_finite() { number.into() } else { number.to_string().into() }
        }
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(at);
            (0..items.len()).map(|item| value(&items, item)).collect()
        }
        other => panic!("a column of type {other}, which the set does not have"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(run: &str, snapshot: i64, item: &str, count: i64) -> Row {
        let row =
            serde_json::json!({"proxy": "p", "run": run, "snapshot": snapshot, "item": item, "count": count});
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn only_the_last_snapshot_of_each_run_counts() {
        let ledger = [
            entry("a", 0, "mirrored", 5),
            entry("a", 1, "mirrored", 9),
            entry("a", 1, "dropped.queue_full", 1),
            entry("b", 0, "mirrored", 3),
            entry("b", 0, "dropped.delivery_failed", 2),
        ];
        assert_eq!(ledger_total(&ledger, "mirrored"), 12);
        assert_eq!(ledger_total(&ledger, "dropped."), 3);
        assert_eq!(ledger_total(&ledger, "dropped.queue_full"), 1);
        assert_eq!(ledger_total(&ledger, "delivered"), 0);
    }
}
