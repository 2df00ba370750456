//! Seldon's protocol of version 1, over REST and gRPC (`seldon.protos.Seldon/Predict`): `data` is an `ndarray`, a `tensor {shape, values}` or a
//! TensorFlow tensor (`tftensor`), with the names of its columns; or the answer is `strData`, `binData` or `jsonData`.

mod proto;

use super::fault::{Fault, Undecodable, check_name};
use super::parts::Parts;
use super::tensor::Builder;
use super::{Decoded, MAX_DIMENSIONS, MAX_VALUES, Protocol, generation, tensor, tensorflow};
use crate::{DType, Json, Kind, Output};

/// Name of the output that holds the tensor.
const NAME: &str = "data";

/// Takes answers of its paths, and others that have its fields.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    if parts.path.ends_with("seldon.protos.Seldon/Predict")
        || parts.path.ends_with("seldon.protos.Model/Predict")
    {
        return Some(proto::decode(parts));
    }
    let of_path =
        parts.path.contains("/api/v1.0/predictions") || parts.path.contains("/api/v0.1/predictions");
    let tensor = parts
        .field("data")
        .is_some_and(|data| ["ndarray", "tensor", "tftensor"].iter().any(|form| data.field(form).is_some()));
    let other = ["strData", "binData", "jsonData"].iter().any(|form| parts.field(form).is_some());
    (of_path || tensor || other || parts.forced).then(|| decode(parts))
}

fn decode(parts: &Parts<'_>) -> Result<Decoded, Undecodable> {
    let status = parts.field("status").and_then(|status| status.text_field("status"));
    if status == Some("FAILURE") {
        return Err(Undecodable::ErrorBody);
    }
    let answer = |outputs| Ok(Decoded::of(Protocol::Seldon, outputs));
    if let Some(data) = parts.field("data") {
        return answer(vec![data_of(data)?]);
    }
    let text = |name: &'static str| parts.field(name).and_then(Json::as_text).map(|text| (name, text));
    if let Some((name, text)) = text("strData").or_else(|| text("binData")) {
        return answer(vec![generation::one(name.to_owned(), Kind::Tensor, text.to_owned())]);
    }
    match parts.field("jsonData") {
        Some(tree) => {
            Ok(Decoded { tree: Some(tree.clone().into_owned()), ..Decoded::of(Protocol::Seldon, vec![]) })
        }
        None => Err(parts.without_outputs()),
    }
}

fn data_of(data: &Json<'_>) -> Result<Output, Undecodable> {
    let fault = |fault| Undecodable::output(NAME, fault);
    let names = data.field("names").and_then(Json::as_array).unwrap_or_default();
    let names = names.iter().map(|name| name.as_text().unwrap_or_default().to_owned()).collect();
    let output = if let Some(tensor) = data.field("tensor") {
        let shape = tensor.field("shape").and_then(Json::as_array).unwrap_or_default();
        if shape.len() > MAX_DIMENSIONS {
            return Err(fault(Fault::Dimensions(MAX_DIMENSIONS)));
        }
        let shape = shape.iter().map(|size| size.as_u64().ok_or_else(|| fault(Fault::Field("shape"))));
        let mut builder = Builder::new(NAME, DType::Fp64, shape.collect::<Result<_, _>>()?);
        let values = tensor.field("values").ok_or_else(|| fault(Fault::Field("values")))?;
        tensor::fill(&mut builder, values).map_err(fault)?;
        builder.finish()?
    } else if let Some(values) = data.field("ndarray") {
        tensor::undeclared(NAME, &[values], false)?
    } else if let Some(tensor) = data.field("tftensor") {
        tensorflow::json_tensor(NAME, tensor)?
    } else {
        return Err(fault(Fault::Field("ndarray")));
    };
    named(output, names)
}

/// Gives the elements of each row the names of the columns, where there is one for each.
fn named(mut output: Output, names: Vec<String>) -> Result<Output, Undecodable> {
    check_name(names.iter().map(String::len).max().unwrap_or(0))?;
    let columns = output.shape.last().copied().unwrap_or(0);
    let found = output.values.len() + output.text.len();
    let copied = names.iter().map(String::len).sum::<usize>().saturating_mul(found / names.len().max(1));
    if output.shape.len() == 2 && columns == names.len() as u64 && columns > 0 && copied <= MAX_VALUES {
        output.keys = names.iter().cycle().take(found).cloned().collect();
    }
    Ok(output)
}
