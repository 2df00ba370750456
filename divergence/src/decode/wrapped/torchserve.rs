//! TorchServe over gRPC: `org.pytorch.serve.grpc.inference.InferenceAPIsService/{Predictions, StreamPredictions, StreamPredictions2}` answers
//! `PredictionResponse {1 prediction, 2 sequenceId, 3 status {1 code, 2 message}}`, whose prediction is what REST has as the body.

use super::Inner;
use crate::decode::fault::{Undecodable, shortened};
use crate::decode::grpc;
use crate::decode::json;
use crate::decode::protobuf::fields;

/// Whether a path is of the service.
pub(super) fn is(path: &str) -> bool {
    path.contains("pytorch.serve.grpc.inference.InferenceAPIsService/")
}

/// The prediction; of several messages that are JSON each an array of them, of others one after the other.
pub(super) fn prediction(headers: &[(String, String)], body: &[u8]) -> Result<Inner, Undecodable> {
    let messages = grpc::messages(headers, body)?;
    let mut predictions = Vec::new();
    for message in &messages {
        for field in fields(message) {
            match field? {
                (1, value) => predictions.push(value.bytes()?),
                (3, status) => refuse(status.bytes()?)?,
                _ => {}
            }
        }
    }
    let is_json = |prediction: &&[u8]| json::parse(prediction).is_ok();
    let all_json = predictions.iter().all(is_json);
    let whole = match all_json && predictions.len() > 1 {
        true => [&b"["[..], &predictions.join(&b","[..]), b"]"].concat(),
        false => predictions.concat(),
    };
    Ok(Inner::of((!all_json).then_some("text/plain"), whole))
}

/// Refuses an answer whose status is not 0.
fn refuse(status: &[u8]) -> Result<(), Undecodable> {
    let (mut code, mut message) = (0, String::new());
    for field in fields(status) {
        match field? {
            (1, value) => code = value.varint()?,
            (2, value) => message = value.text()?,
            _ => {}
        }
    }
    if code == 0 { Ok(()) } else { Err(Undecodable::InMessage(shortened(&message))) }
}
