//! Answers that are no JSON: CSV (SageMaker's algorithms) and plain text (TorchServe's handlers).
//!
//! CSV: all numbers make one output `csv`, of a row per line; with words among them there is an output per column, named by the first
//! line where that holds words only and another does not, else `column0` and so on.

use super::fault::{Undecodable, check_name};
use super::parts::Parts;
use super::{Decoded, MAX_OUTPUTS, MAX_VALUES, Protocol, generation, tensor};
use crate::{Json, Kind, Output};

/// Takes answers of the media type `text/csv`.
pub(super) fn read_csv(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    (parts.forced || parts.is_of("text/csv"))
        .then(|| csv(parts.body).map(|outputs| Decoded::of(Protocol::Csv, outputs)))
}

/// Takes answers of the media type `text/plain` that are no JSON.
pub(super) fn read_text(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let plain = parts.is_of("text/plain") && parts.documents().is_err();
    if !plain && !parts.forced {
        return None;
    }
    let text = std::str::from_utf8(parts.body).map_err(|_| Undecodable::Corrupt("UTF-8"));
    Some(text.map(|text| {
        let output = generation::one("text".into(), Kind::Text, text.trim_end().to_owned());
        Decoded::of(Protocol::Text, vec![output])
    }))
}

/// A cell as a number where it reads as one.
fn cell(text: &str) -> Json<'_> {
    let text = text.trim();
    match Json::parse(text.as_bytes(), 1) {
        Ok(number @ Json::Number(_)) => number,
        _ if text.is_empty() => Json::Null,
        _ => Json::Text(text.into()),
    }
}

fn csv(body: &[u8]) -> Result<Vec<Output>, Undecodable> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(body);
    let mut records = Vec::new();
    let mut count = 0;
    for record in reader.records() {
        let record = record.map_err(|_| Undecodable::Corrupt("CSV"))?;
        count += record.len();
        if count > MAX_VALUES {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
        }
        records.push(record);
    }
    let rows: Vec<Vec<Json<'_>>> = records.iter().map(|record| record.iter().map(cell).collect()).collect();
    let words = |row: &[Json<'_>]| !row.is_empty() && row.iter().all(|cell| cell.as_text().is_some());
    let headed = rows.len() > 1 && words(&rows[0]) && !rows[1..].iter().all(|row| words(row));
    let body = if headed { &rows[1..] } else { &rows[..] };
    if !headed && body.iter().flatten().all(|cell| cell.as_text().is_none()) {
        let single = body.iter().all(|row| row.len() == 1);
        let table: Vec<Json<'_>> = match single {
            true => body.iter().flatten().cloned().collect(),
            false => body.iter().map(|row| Json::Array(row.clone())).collect(),
        };
        return Ok(vec![tensor::undeclared("csv", &[&Json::Array(table)], false)?]);
    }
    let columns = body.iter().map(Vec::len).max().unwrap_or(0);
    if columns > MAX_OUTPUTS {
        return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
    }
    (0..columns)
        .map(|column| {
            let name = match rows[0].get(column).and_then(Json::as_text).filter(|_| headed) {
                Some(name) => name.to_owned(),
                None => format!("column{column}"),
            };
            check_name(name.len())?;
            let cells: Vec<&Json<'_>> =
                body.iter().map(|row| row.get(column).unwrap_or(&Json::Null)).collect();
            tensor::undeclared(&name, &cells, true)
        })
        .collect()
}
