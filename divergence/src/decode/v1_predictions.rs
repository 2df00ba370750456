//! The V1 protocol of TensorFlow Serving and KServe, and what follows its form: MLflow and Vertex AI.
//!
//! Row format: `predictions` is a value, a list of values or lists (one output, `predictions`), or a list of objects (one output
//! per key). Columnar format: `outputs` (or `predictions`) is an object of columns, or a single column.

use std::collections::BTreeMap;

use jiter::JsonValue;

use super::fault::{Fault, Undecodable};
use super::parts::Parts;
use super::{Decoded, MAX_OUTPUTS, Protocol, json, names, tensor};
use crate::Output;

/// Takes answers with a `predictions` or `outputs` field.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let predictions = parts.field("predictions").map(|value| ("predictions", value));
    // Descriptions of models have a list `outputs` as well.
    let asked = parts.path.ends_with(":predict");
    let outputs = parts
        .field("outputs")
        .filter(|value| asked || matches!(value, JsonValue::Object(_)))
        .map(|value| ("outputs", value));
    let (name, value) = predictions.or(outputs).filter(|(_, value)| **value != JsonValue::Null)?;
    let model = names::model(parts.path);
    let model_version = match parts.field("modelVersionId") {
        Some(JsonValue::Str(version)) => Some(version.to_string()),
        _ => None,
    };
    Some(columns(name, value).map(|outputs| Decoded {
        protocol: Protocol::V1Predictions,
        model,
        model_version,
        outputs,
    }))
}

fn columns(name: &str, value: &JsonValue<'_>) -> Result<Vec<Output>, Undecodable> {
    let mut cells = Columns::new();
    match value {
        JsonValue::Object(fields) => {
            for (key, value) in fields.iter() {
                gather(&mut cells, key, value)?;
            }
            cells.iter().map(|(key, rows)| column(key, rows)).collect()
        }
        JsonValue::Array(rows) if matches!(rows.first(), Some(JsonValue::Object(_))) => {
            for (index, row) in rows.iter().enumerate() {
                let JsonValue::Object(fields) = row else {
                    return Err(Undecodable::output(name, Fault::Mixed(index)));
                };
                for (key, cell) in fields.iter() {
                    gather(&mut cells, key, cell)?;
                }
            }
            cells.iter().map(|(key, rows)| tensor::undeclared(key, rows, true)).collect()
        }
        value => Ok(vec![tensor::undeclared(name, &[value], false)?]),
    }
}

type Columns<'v, 'j> = BTreeMap<String, Vec<&'v JsonValue<'j>>>;

/// Adds a cell to its column. Objects within a row give a column per field, named `outer.inner`; binary values
/// (`{"b64": text}`) stay as their text.
fn gather<'v, 'j>(
    columns: &mut Columns<'v, 'j>,
    key: &str,
    cell: &'v JsonValue<'j>,
) -> Result<(), Undecodable> {
    match (cell, json::field(cell, "b64")) {
        (JsonValue::Object(fields), None) => {
            for (inner, cell) in fields.iter() {
                gather(columns, &format!("{key}.{inner}"), cell)?;
            }
        }
        (_, encoded) => {
            columns.entry(key.to_owned()).or_default().push(encoded.unwrap_or(cell));
            if columns.len() > MAX_OUTPUTS {
                return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
            }
        }
    }
    Ok(())
}

/// A column given as one value; a repeated key gives a list.
fn column(key: &str, values: &[&JsonValue<'_>]) -> Result<Output, Undecodable> {
    tensor::undeclared(key, values, values.len() > 1)
}
