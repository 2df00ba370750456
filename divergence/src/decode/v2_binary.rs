//! The binary tensor data extension of the Open Inference Protocol: after the JSON, whose length a header gives, come the bytes of
//! each output that has `parameters.binary_data_size`, in the order of `outputs`. Other outputs of the same answer may have their `data` in the JSON.

use super::fault::{Fault, Undecodable};
use super::parts::Parts;
use super::{Decoded, MAX_RAW_ELEMENTS, Protocol, raw, v2_json};
use crate::Json;

/// Takes V2 answers with at least one binary output.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let outputs = v2_json::outputs(parts)?.ok()?;
    if !outputs.iter().any(|output| binary_size(output).is_some()) {
        return None;
    }
    Some(decode(parts, outputs))
}

fn decode(parts: &Parts<'_>, outputs: &[Json<'_>]) -> Result<Decoded, Undecodable> {
    let mut tail = parts.tail.unwrap_or_default();
    let mut room = MAX_RAW_ELEMENTS;
    let outputs = outputs.iter().map(|output| match binary_size(output) {
        None => v2_json::output(output),
        Some(size) => {
            let short = Fault::Size { needed: size, found: tail.len() as u64 };
            let split = usize::try_from(size).ok().and_then(|size| tail.split_at_checked(size));
            let (bytes, rest) = split.ok_or_else(|| Undecodable::output(v2_json::name(output), short))?;
            tail = rest;
            let builder = v2_json::declared(output)
                .map_err(|fault| Undecodable::output(v2_json::name(output), fault))?;
            raw::tensor(builder, bytes, &mut room)
        }
    });
    let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    if !tail.is_empty() {
        return Err(Undecodable::LeftOver(tail.len()));
    }
    Ok(v2_json::decoded(parts, Protocol::V2Binary, outputs))
}

fn binary_size(output: &Json<'_>) -> Option<u64> {
    output.field("parameters")?.field("binary_data_size")?.as_u64()
}
