//! `TensorProto` in protobuf's JSON mapping (<https://protobuf.dev/programming-guides/json/>): names in camel case or as in the schema, 64-bit
//! integers in quotes, bytes in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::proto;
use crate::decode::fault::{Fault, Undecodable};
use crate::decode::protobuf::escaped;
use crate::decode::tensor::{self, Builder};
use crate::decode::{MAX_DIMENSIONS, MAX_ELEMENTS, MAX_RAW_ELEMENTS, json, raw};
use crate::{DType, Json, Output};
use half::{bf16, f16};

/// The names of `DataType` that are read, by their numbers.
const TYPES: [(&str, u64); 20] = [
    ("DT_FLOAT", 1),
    ("DT_DOUBLE", 2),
    ("DT_INT32", 3),
    ("DT_UINT8", 4),
    ("DT_INT16", 5),
    ("DT_INT8", 6),
    ("DT_STRING", 7),
    ("DT_INT64", 9),
    ("DT_BOOL", 10),
    ("DT_QINT8", 11),
    ("DT_QUINT8", 12),
    ("DT_QINT32", 13),
    ("DT_BFLOAT16", 14),
    ("DT_QINT16", 15),
    ("DT_QUINT16", 16),
    ("DT_UINT16", 17),
    ("DT_HALF", 19),
    ("DT_UINT32", 22),
    ("DT_UINT64", 23),
    ("DT_INVALID", 0),
];

/// Reads a tensor.
pub(in crate::decode) fn tensor(name: &str, value: &Json<'_>) -> Result<Output, Undecodable> {
    let fault = |fault| Undecodable::output(name, fault);
    let either = |camel: &str, snake: &str| value.field(camel).or_else(|| value.field(snake));
    let code = match value.field("dtype") {
        Some(Json::Text(named)) => TYPES.iter().find(|(name, _)| name == named).map(|(_, code)| *code),
        Some(Json::Number(number)) => number.as_int().and_then(|code| u64::try_from(code).ok()),
        _ => None,
    };
    let dtype = code.and_then(proto::dtype).ok_or_else(|| fault(Fault::Field("dtype")))?;
    let shape =
        shape(either("tensorShape", "tensor_shape")).ok_or_else(|| fault(Fault::Field("tensorShape")))?;
    let needed = tensor::elements(&shape).ok_or_else(|| fault(Fault::Field("tensorShape")))?;
    let mut builder = Builder::new(name, dtype, shape);
    if let Some(content) = either("tensorContent", "tensor_content").and_then(Json::as_text)
        && !content.is_empty()
    {
        let bytes = STANDARD.decode(content).map_err(|_| fault(Fault::Field("tensorContent")))?;
        return raw::tensor(builder, &bytes, &mut { MAX_RAW_ELEMENTS });
    }
    let (camel, snake) = field_of(dtype);
    let values = either(camel, snake).and_then(Json::as_array).unwrap_or_default();
    values.iter().try_for_each(|value| add(&mut builder, value)).map_err(fault)?;
    if needed > MAX_ELEMENTS as u64 {
        return Err(Undecodable::TooMany { what: "elements", limit: MAX_ELEMENTS });
    }
    builder.repeat_last(needed as usize);
    builder.finish()
}

/// The sizes; none of a scalar, whose shape may be left out.
fn shape(value: Option<&Json<'_>>) -> Option<Vec<u64>> {
    let dimensions = value.and_then(|shape| shape.field("dim")).and_then(Json::as_array).unwrap_or_default();
    if dimensions.len() > MAX_DIMENSIONS {
        return None;
    }
    let size = |dimension: &Json<'_>| match dimension.field("size") {
        // Of protobuf's JSON, a 0 is left out.
        None => Some(0),
        Some(Json::Text(text)) => text.parse().ok(),
        Some(size) => size.as_u64(),
    };
    dimensions.iter().map(size).collect()
}

fn field_of(dtype: DType) -> (&'static str, &'static str) {
    match dtype {
        DType::Fp32 => ("floatVal", "float_val"),
        DType::Fp64 => ("doubleVal", "double_val"),
        DType::Bytes => ("stringVal", "string_val"),
        DType::Int64 => ("int64Val", "int64_val"),
        DType::Bool => ("boolVal", "bool_val"),
        DType::Fp16 | DType::Bf16 => ("halfVal", "half_val"),
        DType::Uint32 => ("uint32Val", "uint32_val"),
        DType::Uint64 => ("uint64Val", "uint64_val"),
        _ => ("intVal", "int_val"),
    }
}

fn add(builder: &mut Builder, value: &Json<'_>) -> Result<(), Fault> {
    let dtype = builder.dtype();
    let wrong = Fault::Element { index: builder.len(), dtype: dtype.as_str() };
    match (dtype, value) {
        (DType::Bytes, Json::Text(text)) => {
            builder.text(escaped(&STANDARD.decode(text.as_bytes()).map_err(|_| wrong)?));
            Ok(())
        }
        (DType::Fp16 | DType::Bf16, Json::Number(number)) => {
            let bits = number.as_int().and_then(|bits| u16::try_from(bits).ok()).ok_or(wrong)?;
            builder.float(match dtype {
                DType::Fp16 => f16::from_bits(bits).to_f64(),
                _ => bf16::from_bits(bits).to_f64(),
            });
            Ok(())
        }
        (dtype, Json::Text(text)) if !dtype.is_float() && dtype != DType::Bool => {
            builder.checked(text.parse().map_err(|_| wrong)?)
        }
        (_, value) => match json::view(value) {
            json::View::Leaf(leaf) => builder.leaf(leaf),
            _ => Err(wrong),
        },
    }
}
