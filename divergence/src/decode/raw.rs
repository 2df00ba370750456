//! Tensors in binary: little-endian, row-major; `BOOL` is one byte, an element of `BYTES` a 32-bit length and its bytes. The form of
//! the Open Inference Protocol (binary extension, gRPC `raw_output_contents`), of TensorFlow's `tensor_content` and of embeddings in
//! base64.

use half::{bf16, f16};

use super::fault::{Fault, Undecodable};
use super::protobuf::escaped;
use super::tensor::Builder;
use super::{MAX_RAW_ELEMENTS, MAX_VALUES};
use crate::{DType, Output};

/// Reads one tensor, whose bytes are copied once, as numbers; `room` is how many more elements may come.
pub(super) fn tensor(mut builder: Builder, bytes: &[u8], room: &mut usize) -> Result<Output, Undecodable> {
    let width = width(builder.dtype());
    // An element of `BYTES` has at least the four bytes of its length.
    let limit = if width.is_some() { MAX_RAW_ELEMENTS } else { MAX_VALUES };
    let count = bytes.len() / width.unwrap_or(4);
    if count > limit.min(*room) {
        return Err(Undecodable::TooMany { what: "elements", limit });
    }
    *room -= count;
    let read = match width {
        None => texts(&mut builder, bytes),
        Some(width) if !bytes.len().is_multiple_of(width) => {
            let needed = bytes.len().next_multiple_of(width) as u64;
            Err(Fault::Size { needed, found: bytes.len() as u64 })
        }
        Some(_) => {
            numbers(&mut builder, bytes);
            Ok(())
        }
    };
    read.map_err(|fault| builder.fault(fault))?;
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

/// Adds all numbers, whose bytes are a multiple of the width of the type.
fn numbers(builder: &mut Builder, bytes: &[u8]) {
    match builder.dtype() {
        DType::Bytes => {}
        DType::Bool => builder.floats(bytes.iter().map(|byte| f64::from(u8::from(*byte != 0)))),
        DType::Uint8 => builder.floats(bytes.iter().map(|byte| f64::from(*byte))),
        DType::Int8 => builder.floats(bytes.iter().map(|byte| f64::from(byte.cast_signed()))),
        DType::Uint16 => builder.floats(chunks(bytes).map(|chunk| u16::from_le_bytes(chunk).into())),
        DType::Int16 => builder.floats(chunks(bytes).map(|chunk| i16::from_le_bytes(chunk).into())),
        DType::Fp16 => builder.floats(chunks(bytes).map(|chunk| f16::from_le_bytes(chunk).to_f64())),
        DType::Bf16 => builder.floats(chunks(bytes).map(|chunk| bf16::from_le_bytes(chunk).to_f64())),
        DType::Uint32 => builder.floats(chunks(bytes).map(|chunk| u32::from_le_bytes(chunk).into())),
        DType::Int32 => builder.floats(chunks(bytes).map(|chunk| i32::from_le_bytes(chunk).into())),
        DType::Fp32 => builder.floats(chunks(bytes).map(|chunk| f32::from_le_bytes(chunk).into())),
        DType::Fp64 => builder.floats(chunks(bytes).map(f64::from_le_bytes)),
        DType::Uint64 => chunks(bytes).for_each(|chunk| builder.int(u64::from_le_bytes(chunk).into())),
        DType::Int64 => chunks(bytes).for_each(|chunk| builder.int(i64::from_le_bytes(chunk).into())),
    }
}

fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}

fn texts(builder: &mut Builder, mut bytes: &[u8]) -> Result<(), Fault> {
    while !bytes.is_empty() {
        let short = |needed: u64, found: usize| Fault::Size { needed, found: found as u64 };
        let (length, rest) = bytes.split_first_chunk().ok_or_else(|| short(4, bytes.len()))?;
        let length = u32::from_le_bytes(*length);
        let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (text, rest) = split.ok_or_else(|| short(length.into(), rest.len()))?;
        builder.text(escaped(text));
        bytes = rest;
    }
    Ok(())
}
