//! Bodies of the Open Inference Protocol V2: the request read into rows, the answer written as Triton writes it.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::model::{FEATURES, Ranker, Row};

/// Most rows one request may carry.
pub const MAX_ROWS: usize = 64;

pub(super) const INPUT: &str = "INPUT";
pub(super) const SCORE: &str = "SCORE";
pub(super) const LABEL: &str = "LABEL";

/// What a client asked, understood and checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inference {
    pub(super) id: Option<String>,
    pub(super) rows: Vec<Row>,
    score: bool,
    label: bool,
}

/// Why a request's body cannot be answered; all are the client's to mend.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("the body is not a V2 inference request: {0}")]
    Json(#[from] serde_json::Error),
    #[error("expected one input named {INPUT}, got {0:?}")]
    Inputs(Vec<String>),
    #[error("input {INPUT} has datatype {0:?}, expected FP32")]
    Datatype(String),
    #[error("input {INPUT} has shape {0:?}, expected [n,{FEATURES}] with n from 1 to {MAX_ROWS}")]
    Shape(Vec<i64>),
    #[error("input {INPUT} has no data: send it as JSON numbers, binary tensors are not supported")]
    NoData,
    #[error("input {INPUT} has {found} numbers, its shape says {expected}")]
    Length { found: usize, expected: usize },
    #[error("input {INPUT} has {0}, which is not a finite 32-bit float")]
    Value(f64),
    #[error("there is no output {0:?}: ask for {SCORE} or {LABEL}")]
    Output(String),
}

#[derive(Deserialize)]
struct RawRequest {
    id: Option<String>,
    inputs: Vec<RawInput>,
    #[serde(default)]
    outputs: Vec<RawOutput>,
}

#[derive(Deserialize)]
struct RawInput {
    name: String,
    datatype: String,
    shape: Vec<i64>,
    data: Option<Nested>,
}

#[derive(Deserialize)]
struct RawOutput {
    name: String,
}

/// Tensor data, flat or nested to any depth the JSON parser allows.
#[derive(Deserialize)]
#[serde(untagged)]
enum Nested {
    Number(f64),
    List(Vec<Nested>),
}

impl Nested {
    fn flatten(&self, into: &mut Vec<f64>) {
        match self {
            Self::Number(number) => into.push(*number),
            Self::List(list) => list.iter().for_each(|item| item.flatten(into)),
        }
    }
}

impl Inference {
    /// Reads a request's body. Unknown keys, such as `parameters`, mean nothing to this model and are left alone.
    pub(super) fn from_json(body: &[u8]) -> Result<Self, RequestError> {
        let raw: RawRequest = serde_json::from_slice(body)?;
        let input = match raw.inputs.as_slice() {
            [input] if input.name == INPUT => input,
            inputs => {
                return Err(RequestError::Inputs(inputs.iter().map(|input| input.name.clone()).collect()));
            }
        };
        if input.datatype != "FP32" {
            return Err(RequestError::Datatype(input.datatype.clone()));
        }
        let count = match input.shape.as_slice() {
            &[n, width] if width == FEATURES as i64 => usize::try_from(n).unwrap_or(0),
            _ => 0,
        };
        if !(1..=MAX_ROWS).contains(&count) {
            return Err(RequestError::Shape(input.shape.clone()));
        }
        let mut numbers = Vec::with_capacity(count * FEATURES);
        input.data.as_ref().ok_or(RequestError::NoData)?.flatten(&mut numbers);
        let (rows, rest) = numbers.as_chunks::<FEATURES>();
        if rows.len() != count || !rest.is_empty() {
            return Err(RequestError::Length { found: numbers.len(), expected: count * FEATURES });
        }
        if let Some(&value) = numbers.iter().find(|&&number| !(number as f32).is_finite()) {
            return Err(RequestError::Value(value));
        }
        let rows = rows.iter().map(|row| row.map(|number| number as f32)).collect();
        let (mut score, mut label) = (raw.outputs.is_empty(), raw.outputs.is_empty());
        for output in raw.outputs {
            match output.name.as_str() {
                SCORE => score = true,
                LABEL => label = true,
                _ => return Err(RequestError::Output(output.name)),
            }
        }
        Ok(Self { id: raw.id, rows, score, label })
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    model_name: &'a str,
    model_version: &'a str,
    outputs: Vec<Tensor>,
}

#[derive(Serialize)]
struct Tensor {
    name: &'static str,
    datatype: &'static str,
    shape: [usize; 2],
    data: Data,
}

/// Triton prints a 32-bit float as the double it is equal to, so this does too.
#[derive(Serialize)]
#[serde(untagged)]
enum Data {
    Fp32(Vec<f64>),
    Int64(Vec<i64>),
}

/// The body of an answer with one score and one label per row.
pub(super) fn answer(
    ranker: &Ranker,
    request: &Inference,
    scores: &[f32],
) -> Result<Bytes, serde_json::Error> {
    let shape = [scores.len(), 1];
    let mut outputs = Vec::with_capacity(2);
    if request.score {
        let data = Data::Fp32(scores.iter().copied().map(f64::from).collect());
        outputs.push(Tensor { name: SCORE, datatype: "FP32", shape, data });
    }
    if request.label {
        let data = Data::Int64(scores.iter().map(|&score| ranker.label(score)).collect());
        outputs.push(Tensor { name: LABEL, datatype: "INT64", shape, data });
    }
    let answer = Answer {
        id: request.id.as_deref(),
        model_name: ranker.name(),
        model_version: ranker.version(),
        outputs,
    };
    Ok(serde_json::to_vec(&answer)?.into())
}

#[cfg(test)]
mod tests;
