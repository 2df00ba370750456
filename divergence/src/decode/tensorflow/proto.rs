//! `TensorProto {1 dtype, 2 tensor_shape {2 dim {1 size}, 3 unknown_rank}, 4 tensor_content, 5 float_val, 6 double_val, 7 int_val (8 to 32 bits),
//! 8 string_val, 10 int64_val, 11 bool_val, 13 half_val, 16 uint32_val, 17 uint64_val}`.
//!
//! Elements are bytes in `tensor_content` or numbers in the field of their type. Fewer numbers than the shape needs mean that the last
//! one repeats: a tensor of one value throughout has one number.

use crate::decode::contents::integers;
use crate::decode::fault::{Fault, Undecodable};
use crate::decode::protobuf::{Wire, fields, fixed32s, fixed64s, varints};
use crate::decode::tensor::{self, Builder};
use crate::decode::{MAX_DIMENSIONS, MAX_ELEMENTS, MAX_VALUES, TYPED_COST, raw};
use crate::{DType, Output};
use half::{bf16, f16};

/// Reads a tensor; `room` is how many more elements may come.
pub(in crate::decode) fn tensor(name: &str, message: &[u8], room: &mut usize) -> Result<Output, Undecodable> {
    let fault = |fault| Undecodable::output(name, fault);
    let (mut code, mut shape, mut content) = (0, Vec::new(), &[][..]);
    for field in fields(message) {
        match field? {
            (1, value) => code = value.varint()?,
            (2, value) => shape = dimensions(value.bytes()?)?.ok_or_else(|| fault(Fault::Field("shape")))?,
            (4, value) => content = value.bytes()?,
            _ => {}
        }
    }
    let dtype = dtype(code).ok_or_else(|| fault(Fault::Datatype(format!("DT {code}"))))?;
    let needed = tensor::elements(&shape).ok_or_else(|| fault(Fault::Field("shape")))?;
    let mut builder = Builder::new(name, dtype, shape);
    if !content.is_empty() {
        return raw::tensor(builder, content, room);
    }
    for field in fields(message) {
        let (number, value) = field?;
        if number == field_of(dtype) {
            let count = match value {
                Wire::Bytes(bytes) if dtype != DType::Bytes => bytes.len(),
                _ => 1,
            };
            // Packed numbers take a byte or more each.
            if builder.len() + count > 8 * MAX_ELEMENTS {
                return Err(TOO_MANY);
            }
            add(&mut builder, value)?;
        }
    }
    let limit = if dtype == DType::Bytes { MAX_VALUES } else { MAX_ELEMENTS };
    let count = needed.max(builder.len() as u64);
    if count > limit.min(*room / TYPED_COST) as u64 {
        return Err(Undecodable::TooMany { what: "elements", limit });
    }
    *room -= count as usize * TYPED_COST;
    builder.repeat_last(needed as usize);
    builder.finish()
}

const TOO_MANY: Undecodable = Undecodable::TooMany { what: "elements", limit: MAX_ELEMENTS };

/// The type of a `DataType` number; `None` for complex numbers, handles and the like.
pub(super) fn dtype(code: u64) -> Option<DType> {
    Some(match code {
        1 => DType::Fp32,
        2 => DType::Fp64,
        // Quantised types are integers of their width.
        3 | 13 => DType::Int32,
        4 | 12 => DType::Uint8,
        5 | 15 => DType::Int16,
        6 | 11 => DType::Int8,
        7 => DType::Bytes,
        9 => DType::Int64,
        10 => DType::Bool,
        14 => DType::Bf16,
        16 | 17 => DType::Uint16,
        19 => DType::Fp16,
        22 => DType::Uint32,
        23 => DType::Uint64,
        _ => return None,
    })
}

/// The field that holds the numbers of a type.
fn field_of(dtype: DType) -> u64 {
    match dtype {
        DType::Fp32 => 5,
        DType::Fp64 => 6,
        DType::Int8 | DType::Int16 | DType::Int32 | DType::Uint8 | DType::Uint16 => 7,
        DType::Bytes => 8,
        DType::Int64 => 10,
        DType::Bool => 11,
        DType::Fp16 | DType::Bf16 => 13,
        DType::Uint32 => 16,
        DType::Uint64 => 17,
    }
}

/// The sizes of a `TensorShapeProto`; `None` where one is unknown.
fn dimensions(message: &[u8]) -> Result<Option<Vec<u64>>, Undecodable> {
    let mut sizes = Vec::new();
    for field in fields(message) {
        match field? {
            (2, dimension) => {
                let mut size = 0;
                for field in fields(dimension.bytes()?) {
                    if let (1, value) = field? {
                        size = value.varint()?;
                    }
                }
                // A negative size, as an unsigned number past 2^63, stands for an unknown one.
                if size > 1 << 62 || sizes.len() == MAX_DIMENSIONS {
                    return Ok(None);
                }
                sizes.push(size);
            }
            (3, unknown) if unknown.varint()? != 0 => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(sizes))
}

fn add(builder: &mut Builder, value: Wire<'_>) -> Result<(), Undecodable> {
    match builder.dtype() {
        DType::Fp32 => fixed32s(value, |bits| builder.float(f32::from_bits(bits).into())),
        DType::Fp64 => fixed64s(value, |bits| builder.float(f64::from_bits(bits))),
        DType::Fp16 => halves(builder, value, |bits| f16::from_bits(bits).to_f64()),
        DType::Bf16 => halves(builder, value, |bits| bf16::from_bits(bits).to_f64()),
        DType::Bool => varints(value, |value| builder.float(f64::from(u8::from(value != 0)))),
        DType::Bytes => value.text().map(|text| builder.text(text)),
        DType::Uint32 | DType::Uint64 => integers(builder, value, i128::from),
        _ => integers(builder, value, |value| value.cast_signed().into()),
    }
}

/// Adds 16-bit floats, whose bits are in the low half of an int32.
fn halves(builder: &mut Builder, value: Wire<'_>, of: impl Fn(u16) -> f64) -> Result<(), Undecodable> {
    let mut fault = None;
    varints(value, |bits| match u16::try_from(bits) {
        Ok(bits) => builder.float(of(bits)),
        Err(_) => {
            fault.get_or_insert(Fault::Element { index: builder.len(), dtype: builder.dtype().as_str() });
        }
    })?;
    fault.map_or(Ok(()), |fault| Err(builder.fault(fault)))
}
