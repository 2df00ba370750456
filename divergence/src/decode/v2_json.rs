//! Open Inference Protocol V2 over HTTP, tensors as JSON: `outputs[] {name, datatype, shape, data}`.

use super::fault::{Fault, Undecodable, check_name, shortened};
use super::parts::Parts;
use super::tensor::{self, Builder};
use super::{Decoded, MAX_DIMENSIONS, MAX_OUTPUTS, Protocol, names};
use crate::{DType, Json, Output};

/// Takes answers to V2 inference paths, and others whose body looks like one.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let outputs = outputs(parts)?;
    Some(outputs.and_then(|outputs| {
        let outputs = outputs.iter().map(output).collect::<Result<_, _>>()?;
        Ok(decoded(parts, Protocol::V2Json, outputs))
    }))
}

/// The `outputs` of a V2 answer; `None` when it is none.
pub(super) fn outputs<'p, 'j>(parts: &'p Parts<'j>) -> Option<Result<&'p [Json<'j>], Undecodable>> {
    let listed = match parts.field("outputs") {
        Some(Json::Array(items)) => Some(items.as_slice()),
        _ => None,
    };
    let by_body = listed
        .and_then(<[_]>::first)
        .is_some_and(|first| first.text_field("datatype").is_some() && first.field("shape").is_some());
    if !by_body && !names::is_v2_infer(parts.path) && !parts.forced {
        return None;
    }
    Some(match listed {
        Some(outputs) if outputs.len() > MAX_OUTPUTS => {
            Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS })
        }
        Some(outputs) => {
            outputs.iter().try_for_each(|output| check_name(name(output).len())).map(|()| outputs)
        }
        None => Err(parts.without_outputs()),
    })
}

/// The answer around its outputs.
pub(super) fn decoded(parts: &Parts<'_>, protocol: Protocol, outputs: Vec<Output>) -> Decoded {
    let text = |name| match parts.field(name) {
        Some(Json::Text(text)) if !text.is_empty() => Some(names::given(text)),
        _ => None,
    };
    let model = text("model_name").or_else(|| names::model(parts.path));
    Decoded { protocol, model, model_version: text("model_version"), outputs, tree: None }
}

/// Name of an output for its faults.
pub(super) fn name<'v>(output: &'v Json<'_>) -> &'v str {
    output.text_field("name").unwrap_or_default()
}

/// An output with its declared name, type and shape, without elements yet.
pub(super) fn declared(output: &Json<'_>) -> Result<Builder, Fault> {
    let name = output.text_field("name").ok_or(Fault::Field("name"))?;
    let datatype = output.text_field("datatype").ok_or(Fault::Field("datatype"))?;
    let dtype = DType::from_name(datatype).ok_or_else(|| Fault::Datatype(shortened(datatype)))?;
    let Some(Json::Array(dimensions)) = output.field("shape") else {
        return Err(Fault::Field("shape"));
    };
    if dimensions.len() > MAX_DIMENSIONS {
        return Err(Fault::Dimensions(MAX_DIMENSIONS));
    }
    let dimension = |value: &Json<'_>| value.as_u64().ok_or(Fault::Field("shape"));
    let shape = dimensions.iter().map(dimension).collect::<Result<_, _>>()?;
    Ok(Builder::new(name, dtype, shape))
}

/// An output whose elements are in the JSON.
pub(super) fn output(output: &Json<'_>) -> Result<Output, Undecodable> {
    let fault = |fault| Undecodable::output(name(output), fault);
    let mut builder = declared(output).map_err(fault)?;
    let data = output.field("data").ok_or_else(|| fault(Fault::Field("data")))?;
    tensor::fill(&mut builder, data).map_err(fault)?;
    builder.finish()
}
