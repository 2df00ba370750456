//! TensorFlow Serving over gRPC: `tensorflow.serving.PredictionService/{Predict, Classify, Regress}`.
//!
//! `PredictResponse {1 map<string, TensorProto> outputs, 2 model_spec}`; `ClassificationResponse {1 result {1 classifications {1 classes
//! {1 label, 2 score}}}, 2 model_spec}`; `RegressionResponse {1 result {1 regressions {1 value}}, 2 model_spec}`; `ModelSpec {1 name,
//! 2 version {1 value}, 4 version_label}`.

mod json;
mod proto;

use super::fault::{Undecodable, check_name};
use super::parts::Parts;
use super::protobuf::{Wire, fields};
use super::ranked::Ranked;
use super::tensor::Builder;
use super::{Decoded, MAX_OUTPUTS, MAX_RAW_ELEMENTS, MAX_VALUES, Protocol, grpc, names};
use crate::{DType, Output};
pub(super) use json::tensor as json_tensor;
pub(super) use proto::tensor;

/// Takes answers of the three methods.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let method = match parts.method_of("tensorflow.serving.PredictionService") {
        Some(method) => method,
        None if parts.forced => "Predict",
        None => return None,
    };
    let outputs: fn(&[u8]) -> Result<Vec<Output>, Undecodable> = match method {
        "Predict" => predicted,
        "Classify" => classified,
        "Regress" => regressed,
        _ => return None,
    };
    Some(decode(parts, outputs))
}

fn decode(
    parts: &Parts<'_>,
    outputs: fn(&[u8]) -> Result<Vec<Output>, Undecodable>,
) -> Result<Decoded, Undecodable> {
    let messages = grpc::messages(parts.headers, parts.body)?;
    let message = messages.first().ok_or(Undecodable::Empty)?;
    let mut decoded = Decoded::of(Protocol::TfGrpc, outputs(message)?);
    for field in fields(message) {
        if let (2, spec) = field? {
            for field in fields(spec.bytes()?) {
                match field? {
                    (1, name) => decoded.model = Some(names::given(&name.text()?)),
                    (2, version) => decoded.model_version = version_of(version.bytes()?)?,
                    _ => {}
                }
            }
        }
    }
    Ok(decoded)
}

/// The number in an `Int64Value`.
fn version_of(message: &[u8]) -> Result<Option<String>, Undecodable> {
    let mut version = None;
    for field in fields(message) {
        if let (1, value) = field? {
            version = Some(value.varint()?.cast_signed().to_string());
        }
    }
    Ok(version)
}

fn predicted(message: &[u8]) -> Result<Vec<Output>, Undecodable> {
    let mut room = MAX_RAW_ELEMENTS;
    let mut outputs = Vec::new();
    for entry in repeated(message, 1) {
        let (mut name, mut value) = (String::new(), &[][..]);
        for field in fields(entry?) {
            match field? {
                (1, key) => name = key.text()?,
                (2, tensor) => value = tensor.bytes()?,
                _ => {}
            }
        }
        check_name(name.len())?;
        outputs.push(proto::tensor(&name, value, &mut room)?);
        if outputs.len() > MAX_OUTPUTS {
            return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
        }
    }
    Ok(outputs)
}

fn classified(message: &[u8]) -> Result<Vec<Output>, Undecodable> {
    let mut ranked = Ranked::default();
    for result in repeated(message, 1) {
        for row in repeated(result?, 1) {
            ranked.row();
            for class in repeated(row?, 1) {
                let (mut label, mut score) = (String::new(), 0.0);
                for field in fields(class?) {
                    match field? {
                        (1, value) => label = value.text()?,
                        (2, Wire::Fixed32(bits)) => score = f64::from(f32::from_bits(bits)),
                        _ => {}
                    }
                }
                ranked.add(label, score, None)?;
            }
        }
    }
    Ok(vec![ranked.output("result", DType::Fp32)?])
}

fn regressed(message: &[u8]) -> Result<Vec<Output>, Undecodable> {
    let mut values = Vec::new();
    for result in repeated(message, 1) {
        for row in repeated(result?, 1) {
            let mut value = 0.0;
            for field in fields(row?) {
                if let (1, Wire::Fixed32(bits)) = field? {
                    value = f64::from(f32::from_bits(bits));
                }
            }
            values.push(value);
            if values.len() > MAX_VALUES {
                return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
            }
        }
    }
    let mut builder = Builder::new("result", DType::Fp32, vec![values.len() as u64]);
    builder.floats(values.into_iter());
    Ok(vec![builder.finish()?])
}

/// The messages of a repeated field.
fn repeated(message: &[u8], number: u64) -> impl Iterator<Item = Result<&[u8], Undecodable>> {
    fields(message).filter_map(move |field| match field {
        Ok((found, value)) => (found == number).then(|| value.bytes()),
        Err(reason) => Some(Err(reason)),
    })
}
