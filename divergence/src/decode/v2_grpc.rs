//! Open Inference Protocol V2 over gRPC: `inference.GRPCInferenceService/ModelInfer` and Triton's `ModelStreamInfer`.
//!
//! `ModelInferResponse {1 model_name, 2 model_version, 3 id, 5 outputs {1 name, 2 datatype, 3 shape, 5 contents}, 6 raw_output_contents}`;
//! a stream wraps it: `{1 error_message, 2 infer_response}`. Elements are raw bytes, one field per output in their order, or typed
//! `contents`; a server may send an empty `contents` beside raw bytes.

use std::borrow::Cow;

use super::contents;
use super::fault::{Fault, Undecodable, check_name, shortened};
use super::parts::Parts;
use super::protobuf::{Wire, fields, varints};
use super::tensor::{self, Builder};
use super::{Decoded, MAX_DIMENSIONS, MAX_OUTPUTS, MAX_RAW_ELEMENTS, Protocol, grpc, messages, names, raw};
use crate::{DType, Output};

/// Takes answers of the two methods.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let method = parts.method_of("inference.GRPCInferenceService");
    match method.or(parts.forced.then_some("ModelInfer"))? {
        "ModelInfer" => Some(decode(parts, false)),
        "ModelStreamInfer" => Some(decode(parts, true)),
        _ => None,
    }
}

fn decode(parts: &Parts<'_>, stream: bool) -> Result<Decoded, Undecodable> {
    let bodies = grpc::messages(parts.headers, parts.body)?;
    let mut responses = Vec::new();
    let mut errors = Vec::new();
    for body in &bodies {
        match response_of(body, stream)? {
            (Some(message), response) if !message.is_empty() => {
                errors.push(message);
                // A response beside an error has only the id of its request.
                drop(response);
            }
            (_, Some(response)) => responses.push(response),
            (_, None) => {}
        }
    }
    if responses.is_empty() && !errors.is_empty() {
        return Err(Undecodable::InMessage(shortened(&errors[0])));
    }
    // Answers to several requests on one stream may come in any order; those to one request keep theirs.
    responses.sort_by(|one, other| one.id.cmp(&other.id));
    let mut room = MAX_RAW_ELEMENTS;
    let mut decoded = Decoded::of(Protocol::V2Grpc, Vec::new());
    let mut parsed = Vec::new();
    for response in &responses {
        decoded.model = decoded.model.or_else(|| response.model.clone());
        decoded.model_version = decoded.model_version.or_else(|| response.version.clone());
        parsed.push(outputs(response, &mut room)?);
    }
    decoded.outputs = messages::joined(parsed)?;
    if !errors.is_empty() {
        decoded.outputs.push(messages::errors(errors));
    }
    Ok(decoded)
}

/// An answer, its tensors not yet read.
#[derive(Default)]
struct Response<'m> {
    model: Option<String>,
    version: Option<String>,
    id: Cow<'m, [u8]>,
    outputs: Vec<&'m [u8]>,
    raw: Vec<&'m [u8]>,
}

/// The error and the answer of a message.
fn response_of(body: &[u8], stream: bool) -> Result<(Option<String>, Option<Response<'_>>), Undecodable> {
    if !stream {
        return Ok((None, Some(response(body)?)));
    }
    let (mut error, mut found) = (None, None);
    for field in fields(body) {
        match field? {
            (1, value) => error = Some(value.text()?),
            (2, value) => found = Some(response(value.bytes()?)?),
            _ => {}
        }
    }
    Ok((error, found))
}

fn response(message: &[u8]) -> Result<Response<'_>, Undecodable> {
    let mut response = Response::default();
    let given = |value: Wire<'_>| value.text().map(|text| (!text.is_empty()).then(|| names::given(&text)));
    for field in fields(message) {
        match field? {
            (1, value) => response.model = given(value)?,
            (2, value) => response.version = given(value)?,
            (3, value) => response.id = Cow::Borrowed(value.bytes()?),
            (5, value) => response.outputs.push(value.bytes()?),
            (6, value) => response.raw.push(value.bytes()?),
            _ => {}
        }
        if response.outputs.len().max(response.raw.len()) > MAX_OUTPUTS {
            return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
        }
    }
    Ok(response)
}

fn outputs(response: &Response<'_>, room: &mut usize) -> Result<Vec<Output>, Undecodable> {
    let mut raw = response.raw.iter();
    let mut outputs = Vec::new();
    for message in &response.outputs {
        outputs.push(output(message, &mut raw, room)?);
    }
    match raw.map(|bytes| bytes.len()).sum() {
        0 => Ok(outputs),
        left => Err(Undecodable::LeftOver(left)),
    }
}

fn output<'m>(
    message: &'m [u8],
    raw: &mut std::slice::Iter<'_, &'m [u8]>,
    room: &mut usize,
) -> Result<Output, Undecodable> {
    let (mut name, mut datatype) = (String::new(), String::new());
    let (mut shape, mut typed) = (Vec::new(), Vec::new());
    let mut right = true;
    for field in fields(message) {
        match field? {
            (1, value) => name = value.text()?,
            (2, value) => datatype = value.text()?,
            (3, value) => varints(value, |dimension| match u64::try_from(dimension.cast_signed()) {
                Ok(dimension) if shape.len() < MAX_DIMENSIONS => shape.push(dimension),
                _ => right = false,
            })?,
            (5, value) => typed.push(value.bytes()?),
            _ => {}
        }
    }
    check_name(name.len())?;
    let fault = |fault| Undecodable::output(&name, fault);
    if !right {
        return Err(fault(Fault::Field("shape")));
    }
    let dtype = DType::from_name(&datatype).ok_or_else(|| fault(Fault::Datatype(shortened(&datatype))))?;
    let empty = tensor::elements(&shape) == Some(0);
    let mut builder = Builder::new(&name, dtype, shape);
    if typed.iter().any(|contents| !contents.is_empty()) {
        typed.iter().try_for_each(|contents| contents::fill(&mut builder, contents, room))?;
        return builder.finish();
    }
    match raw.next() {
        Some(bytes) => raw::tensor(builder, bytes, room),
        None if empty => builder.finish(),
        None => Err(fault(Fault::Field("contents"))),
    }
}
