//! Typed tensor contents of the Open Inference Protocol over gRPC.
//!
//! `InferTensorContents {1 bool, 2 int (8, 16, 32 bits), 3 int64, 4 uint (8, 16, 32 bits), 5 uint64, 6 fp32, 7 fp64, 8 bytes}`, each
//! repeated. There is no field for 16-bit floats: they come raw only.

use super::fault::{Fault, Undecodable};
use super::protobuf::{Wire, fields, fixed32s, fixed64s, varints};
use super::tensor::Builder;
use super::{MAX_ELEMENTS, MAX_VALUES, TYPED_COST};
use crate::DType;

/// Adds the elements of a message; `room` is how many more may come.
pub(super) fn fill(builder: &mut Builder, message: &[u8], room: &mut usize) -> Result<(), Undecodable> {
    for field in fields(message) {
        let (number, value) = field?;
        let (wanted, width) = field_of(builder.dtype());
        if number != wanted {
            // Zero elements in another field are no elements of another type.
            if value == Wire::Bytes(&[]) {
                continue;
            }
            return Err(builder.fault(Fault::Field("contents")));
        }
        let count = match value {
            Wire::Bytes(packed) => packed.len() / width,
            _ => 1,
        };
        *room = room
            .checked_sub(count.saturating_mul(TYPED_COST))
            .ok_or(Undecodable::TooMany { what: "elements", limit: MAX_ELEMENTS })?;
        add(builder, value)?;
    }
    Ok(())
}

/// The field that holds elements of a type, and the fewest bytes of an element in it.
fn field_of(dtype: DType) -> (u64, usize) {
    match dtype {
        DType::Bool => (1, 1),
        DType::Int8 | DType::Int16 | DType::Int32 => (2, 1),
        DType::Int64 => (3, 1),
        DType::Uint8 | DType::Uint16 | DType::Uint32 => (4, 1),
        DType::Uint64 => (5, 1),
        DType::Fp32 => (6, 4),
        DType::Fp64 => (7, 8),
        // One field per element: each call adds one.
        DType::Bytes => (8, usize::MAX),
        DType::Fp16 | DType::Bf16 => (0, 1),
    }
}

fn add(builder: &mut Builder, value: Wire<'_>) -> Result<(), Undecodable> {
    match builder.dtype() {
        DType::Bool => varints(value, |value| builder.float(f64::from(u8::from(value != 0)))),
        DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => {
            integers(builder, value, |value| value.cast_signed().into())
        }
        DType::Uint8 | DType::Uint16 | DType::Uint32 | DType::Uint64 => integers(builder, value, i128::from),
        DType::Fp32 => fixed32s(value, |bits| builder.float(f32::from_bits(bits).into())),
        DType::Fp64 => fixed64s(value, |bits| builder.float(f64::from_bits(bits))),
        DType::Bytes if builder.len() >= MAX_VALUES => {
            Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES })
        }
        DType::Bytes => value.text().map(|text| builder.text(text)),
        DType::Fp16 | DType::Bf16 => Err(builder.fault(Fault::Field("contents"))),
    }
}

/// Adds integers coded as varints, each when the type holds it.
pub(super) fn integers(
    builder: &mut Builder,
    value: Wire<'_>,
    of: impl Fn(u64) -> i128,
) -> Result<(), Undecodable> {
    let mut fault = None;
    varints(value, |value| {
        if fault.is_none() {
            fault = builder.checked(of(value)).err();
        }
    })?;
    fault.map_or(Ok(()), |fault| Err(builder.fault(fault)))
}
