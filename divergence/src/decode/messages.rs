//! Joining the messages of a stream into one answer.

use std::collections::BTreeMap;

use super::fault::{Fault, Undecodable};
use super::{MAX_OUTPUTS, MAX_RAW_ELEMENTS};
use crate::{DType, Kind, Output};

/// Name of the output that holds the errors among the messages of a stream.
const ERRORS: &str = "error_message";

/// One output per name. Of several messages, the elements one after the other, with the message as the first dimension where all
/// have the same shape.
pub(super) fn joined(mut messages: Vec<Vec<Output>>) -> Result<Vec<Output>, Undecodable> {
    if messages.len() <= 1 {
        return Ok(messages.pop().unwrap_or_default());
    }
    let mut by_name: BTreeMap<String, Vec<Output>> = BTreeMap::new();
    for output in messages.into_iter().flatten() {
        by_name.entry(output.name.clone()).or_default().push(output);
        if by_name.len() > MAX_OUTPUTS {
            return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
        }
    }
    by_name.into_values().map(stacked).collect()
}

fn stacked(parts: Vec<Output>) -> Result<Output, Undecodable> {
    let count = parts.len() as u64;
    let mut parts = parts.into_iter();
    let Some(mut whole) = parts.next() else {
        return Err(Undecodable::NoOutputs);
    };
    let mut same = true;
    let first = whole.shape.clone();
    for part in parts {
        match (whole.dtype, part.dtype) {
            (one, other) if one == other => {}
            // Where no type is declared, a score may be printed `1` once and `0.5` the next time.
            (DType::Int64, DType::Fp64) | (DType::Fp64, DType::Int64) => whole.dtype = DType::Fp64,
            _ => {
                let index = whole.values.len() + whole.text.len();
                return Err(Undecodable::output(&whole.name, Fault::Mixed(index)));
            }
        }
        if whole.values.len() + part.values.len() > MAX_RAW_ELEMENTS {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_RAW_ELEMENTS });
        }
        same &= part.shape == first;
        append(&mut whole, part);
    }
    if whole.dtype == DType::Fp64 {
        whole.exact = None;
    }
    whole.shape = if same {
        [&[count][..], &first].concat()
    } else {
        vec![(whole.values.len() + whole.text.len()) as u64]
    };
    Ok(whole)
}

fn append(whole: &mut Output, part: Output) {
    let exact = |values: &[f64], exact: Option<Vec<i128>>| {
        exact.unwrap_or_else(|| values.iter().map(|value| *value as i128).collect())
    };
    if whole.exact.is_some() || part.exact.is_some() {
        let mut joined = exact(&whole.values, whole.exact.take());
        joined.extend(exact(&part.values, part.exact));
        whole.exact = (whole.nulls + part.nulls == 0).then_some(joined);
    }
    whole.values.extend(part.values);
    whole.text.extend(part.text);
    whole.keys.extend(part.keys);
    whole.nulls += part.nulls;
    whole.printed = match (whole.printed, part.printed) {
        (Some(one), Some(other)) => Some(one.or(other)),
        (one, other) => one.or(other),
    };
}

/// The errors that came between answers: an output of its own, since the call as a whole succeeded.
pub(super) fn errors(errors: Vec<String>) -> Output {
    let shape = vec![errors.len() as u64];
    Output { kind: Kind::Text, text: errors, ..Output::new(ERRORS, DType::Bytes, shape) }
}
