//! The V1 protocol of TensorFlow Serving and KServe, and what follows its form: MLflow and Vertex AI.
//!
//! Row format: `predictions` is a value, a list of values or lists (one output, `predictions`), or a list of objects (one output
//! per key). Columnar format: `outputs` (or `predictions`) is an object of columns, or a single column.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fault::{Fault, Undecodable, check_name};
use super::json::{View, view};
use super::parts::Parts;
use super::{Decoded, MAX_OUTPUTS, Protocol, names, tensor};
use crate::{Json, Output};

/// Takes answers with a `predictions` or `outputs` field.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let predictions = parts.field("predictions").map(|value| ("predictions", value));
    // Descriptions of models have a list `outputs` as well.
    let asked = parts.path.ends_with(":predict") || parts.forced;
    let outputs = parts
        .field("outputs")
        .filter(|value| asked || matches!(value, Json::Object(_)))
        .map(|value| ("outputs", value));
    let (name, value) = predictions.or(outputs).filter(|(_, value)| **value != Json::Null)?;
    let model = names::model(parts.path);
    let model_version = match parts.field("modelVersionId") {
        Some(Json::Text(version)) => Some(names::given(version)),
        _ => None,
    };
    Some(columns(name, value).map(|outputs| Decoded {
        protocol: Protocol::V1Predictions,
        model,
        model_version,
        outputs,
        tree: None,
    }))
}

fn columns(name: &str, value: &Json<'_>) -> Result<Vec<Output>, Undecodable> {
    let mut cells = Columns::new();
    if let Some(fields) = object(value) {
        for (key, value) in fields {
            gather(&mut cells, 0, &escaped(key), value)?;
        }
        return cells.iter().map(|(key, cells)| column(key, &cells.values)).collect();
    }
    match value {
        Json::Array(rows) if rows.first().is_some_and(|row| object(row).is_some()) => {
            for (index, row) in rows.iter().enumerate() {
                let fields = object(row).ok_or_else(|| Undecodable::output(name, Fault::Mixed(index)))?;
                for (key, cell) in fields {
                    gather(&mut cells, index as u64, &escaped(key), cell)?;
                }
            }
            cells.iter().map(|(key, cells)| cells.output(key, rows.len())).collect()
        }
        value => Ok(vec![tensor::undeclared(name, &[value], false)?]),
    }
}

type Columns<'v, 'j> = BTreeMap<String, Cells<'v, 'j>>;

/// The cells of a column, and the row of each.
#[derive(Default)]
struct Cells<'v, 'j> {
    values: Vec<&'v Json<'j>>,
    rows: Vec<u64>,
}

impl Cells<'_, '_> {
    fn output(&self, key: &str, rows: usize) -> Result<Output, Undecodable> {
        let mut output = tensor::undeclared(key, &self.values, true)?;
        if !self.rows.iter().copied().eq(0..rows as u64) {
            // Which rows have it is a part of the answer.
            output.nesting.extend(&self.rows);
        }
        Ok(output)
    }
}

/// Adds a cell to its column. Objects within a row give a column per field, named `outer.inner`; dots of their own have a backslash before them.
fn gather<'v, 'j>(
    columns: &mut Columns<'v, 'j>,
    row: u64,
    key: &str,
    cell: &'v Json<'j>,
) -> Result<(), Undecodable> {
    match object(cell) {
        Some(fields) => {
            check_name(key.len())?;
            fields.iter().try_for_each(|(inner, cell)| {
                gather(columns, row, &format!("{key}.{}", escaped(inner)), cell)
            })
        }
        None => {
            check_name(key.len())?;
            let cells = columns.entry(key.to_owned()).or_default();
            cells.values.push(cell);
            cells.rows.push(row);
            if columns.len() > MAX_OUTPUTS {
                return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
            }
            Ok(())
        }
    }
}

/// A key with a backslash before its own dots and backslashes: a dot between keys is no dot of a key.
fn escaped(key: &str) -> Cow<'_, str> {
    if !key.contains(['.', '\\']) {
        return Cow::Borrowed(key);
    }
    Cow::Owned(key.replace('\\', r"\\").replace('.', r"\."))
}

/// The fields of an object that is no value in itself.
fn object<'v, 'j>(value: &'v Json<'j>) -> Option<&'v [(Cow<'j, str>, Json<'j>)]> {
    match view(value) {
        View::Object(fields) => Some(fields),
        _ => None,
    }
}

/// A column given as one value; a repeated key gives a list.
fn column(key: &str, values: &[&Json<'_>]) -> Result<Output, Undecodable> {
    tensor::undeclared(key, values, values.len() > 1)
}
