//! What a request says of the model it is for, which an answer that failed often does not, and of how its answer is made.

use super::json;
use super::protobuf::fields;
use super::{encoding, grpc, names};
use crate::Json;

/// The model that a request names in its path or its body: gRPC inference calls (`model_name`, or TensorFlow Serving's `model_spec.name`)
/// and OpenAI-shaped JSON (`model`). `None` where it names none, or cannot be read.
#[must_use]
pub fn requested_model(path: &str, headers: &[(String, String)], body: &[u8]) -> Option<String> {
    let path = path.split('?').next().unwrap_or_default();
    if let Some(model) = names::model(path) {
        return Some(model);
    }
    if grpc::is_grpc(headers) {
        return of_call(path, headers, body)
            .filter(|model| !model.is_empty())
            .map(|model| names::given(&model));
    }
    let body = encoding::decoded(headers, body).ok()?;
    let body = body.trim_ascii_start();
    // Whatever is not an object has no fields, and need not be read through.
    if !body.starts_with(b"{") {
        return None;
    }
    let document = json::parse(body).ok()?;
    document.text_field("model").filter(|model| !model.is_empty()).map(names::given)
}

/// Whether a request asks for text that is drawn by chance: then two answers to it differ, however alike the servers are. That is a
/// prompt without a seed whose temperature is not 0 (OpenAI-shaped servers draw unless told), or with `do_sample` (TGI, which
/// draws only when told). A request that cannot be read asks for nothing.
#[must_use]
pub fn samples(headers: &[(String, String)], body: &[u8]) -> bool {
    let Ok(body) = encoding::decoded(headers, body) else { return false };
    let body = body.trim_ascii_start();
    if !body.starts_with(b"{") {
        return false;
    }
    let Ok(document) = json::parse(body) else { return false };
    let number = |settings: &Json<'_>, name| match settings.field(name) {
        Some(Json::Number(number)) => Some(number.as_f64()),
        _ => None,
    };
    let prompts = ["messages", "prompt", "input"].iter().any(|name| document.field(name).is_some());
    if prompts {
        return number(&document, "temperature") != Some(0.0) && number(&document, "seed").is_none();
    }
    let told = document.field("parameters").filter(|_| document.field("inputs").is_some());
    told.is_some_and(|told| {
        told.field("do_sample") == Some(&Json::Bool(true)) && number(told, "seed").is_none()
    })
}

fn of_call(path: &str, headers: &[(String, String)], body: &[u8]) -> Option<String> {
    let message = grpc::first(headers, body)?;
    let first = |message: &[u8]| -> Option<String> {
        let named = fields(message).filter_map(Result::ok).find(|(number, _)| *number == 1);
        named.and_then(|(_, value)| value.text().ok())
    };
    match path.trim_start_matches('/').split('/').next()? {
        "inference.GRPCInferenceService" => first(&message),
        "tensorflow.serving.PredictionService" => {
            let (_, spec) = fields(&message).filter_map(Result::ok).find(|(number, _)| *number == 1)?;
            first(spec.bytes().ok()?)
        }
        _ => None,
    }
}
