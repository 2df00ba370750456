//! The binary tensor data extension of the Open Inference Protocol: after the JSON, whose length a header gives, come the bytes of
//! each output that has `parameters.binary_data_size`, in the order of `outputs`. Little-endian, row-major; `BOOL` is one byte,
//! an element of `BYTES` a 32-bit length and its bytes. Other outputs of the same answer may have their `data` in the JSON.

use half::{bf16, f16};
use jiter::JsonValue;

use super::fault::{Fault, Undecodable};
use super::parts::Parts;
use super::tensor::Builder;
use super::{Decoded, MAX_ELEMENTS, MAX_VALUES, Protocol, json, v2_json};
use crate::{DType, Output};

/// Takes V2 answers with at least one binary output.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let outputs = v2_json::outputs(parts)?.ok()?;
    if !outputs.iter().any(|output| binary_size(output).is_some()) {
        return None;
    }
    Some(decode(parts, outputs))
}

fn decode(parts: &Parts<'_>, outputs: &[JsonValue<'_>]) -> Result<Decoded, Undecodable> {
    let mut tail = parts.tail.unwrap_or_default();
    let mut room = MAX_ELEMENTS;
    let outputs = outputs.iter().map(|output| match binary_size(output) {
        None => v2_json::output(output),
        Some(size) => {
            let short = Fault::Size { needed: size, found: tail.len() as u64 };
            let split = usize::try_from(size).ok().and_then(|size| tail.split_at_checked(size));
            let (bytes, rest) = split.ok_or_else(|| Undecodable::output(v2_json::name(output), short))?;
            tail = rest;
            binary(output, bytes, &mut room)
        }
    });
    let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    if !tail.is_empty() {
        return Err(Undecodable::LeftOver(tail.len()));
    }
    Ok(v2_json::decoded(parts, Protocol::V2Binary, outputs))
}

fn binary_size(output: &JsonValue<'_>) -> Option<u64> {
    match json::field(json::field(output, "parameters")?, "binary_data_size") {
        Some(JsonValue::Int(size)) => u64::try_from(*size).ok(),
        _ => None,
    }
}

/// Reads one tensor; `room` is how many more numbers may come.
fn binary(output: &JsonValue<'_>, bytes: &[u8], room: &mut usize) -> Result<Output, Undecodable> {
    let fault = |fault| Undecodable::output(v2_json::name(output), fault);
    let mut builder = v2_json::declared(output).map_err(fault)?;
    let width = width(builder.dtype());
    // An element of `BYTES` has at least the four bytes of its length.
    let limit = if width.is_some() { MAX_ELEMENTS } else { MAX_VALUES };
    let count = bytes.len() / width.unwrap_or(4);
    if count > limit.min(*room) {
        return Err(Undecodable::TooMany { what: "elements", limit });
    }
    *room -= count;
    match width {
        None => texts(&mut builder, bytes).map_err(fault)?,
        Some(width) => {
            if !bytes.len().is_multiple_of(width) {
                let needed = bytes.len().next_multiple_of(width) as u64;
                return Err(fault(Fault::Size { needed, found: bytes.len() as u64 }));
            }
            bytes.chunks_exact(width).for_each(|chunk| number(&mut builder, chunk));
        }
    }
    builder.finish()
}

/// Bytes per element; `None` for `BYTES`.
fn width(dtype: DType) -> Option<usize> {
    match dtype {
        DType::Bool | DType::Uint8 | DType::Int8 => Some(1),
        DType::Uint16 | DType::Int16 | DType::Fp16 | DType::Bf16 => Some(2),
        DType::Uint32 | DType::Int32 | DType::Fp32 => Some(4),
        DType::Uint64 | DType::Int64 | DType::Fp64 => Some(8),
        DType::Bytes => None,
    }
}

/// Adds the number in `chunk`, which is as wide as the type.
fn number(builder: &mut Builder, chunk: &[u8]) {
    let mut wide = [0; 8];
    wide[..chunk.len()].copy_from_slice(chunk);
    let bits = u64::from_le_bytes(wide);
    // The casts cut to the width of the type: the bytes above it are zero.
    match builder.dtype() {
        DType::Bool => builder.float(if bits == 0 { 0.0 } else { 1.0 }),
        DType::Uint8 | DType::Uint16 | DType::Uint32 | DType::Uint64 | DType::Bytes => {
            builder.int(bits.into())
        }
        DType::Int8 => builder.int((bits as u8).cast_signed().into()),
        DType::Int16 => builder.int((bits as u16).cast_signed().into()),
        DType::Int32 => builder.int((bits as u32).cast_signed().into()),
        DType::Int64 => builder.int(bits.cast_signed().into()),
        DType::Fp16 => builder.float(f16::from_bits(bits as u16).to_f64()),
        DType::Bf16 => builder.float(bf16::from_bits(bits as u16).to_f64()),
        DType::Fp32 => builder.float(f32::from_bits(bits as u32).into()),
        DType::Fp64 => builder.float(f64::from_bits(bits)),
    }
}

fn texts(builder: &mut Builder, mut bytes: &[u8]) -> Result<(), Fault> {
    while !bytes.is_empty() {
        let short = |needed: u64, found: usize| Fault::Size { needed, found: found as u64 };
        let (length, rest) = bytes.split_first_chunk().ok_or_else(|| short(4, bytes.len()))?;
        let length = u32::from_le_bytes(*length);
        let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (text, rest) = split.ok_or_else(|| short(length.into(), rest.len()))?;
        builder.text(String::from_utf8_lossy(text).into_owned());
        bytes = rest;
    }
    Ok(())
}
