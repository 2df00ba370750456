//! Triton's generate extension: `/v2/models/M/generate` answers one object with a field per output, `generate_stream` an event stream
//! of them.

use super::fault::{Undecodable, check_name};
use super::parts::Parts;
use super::{Decoded, MAX_OUTPUTS, Protocol, messages, names, tensor};
use crate::{DType, Json, Kind, Output};

/// The output of language models, whose pieces make one text.
const TEXT: &str = "text_output";

/// Fields that are no outputs.
const ABOUT: [&str; 3] = ["model_name", "model_version", "id"];

/// Takes answers of the two paths.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let generates = parts.ends_with("/generate") || parts.ends_with("/generate_stream");
    (parts.forced || (generates && parts.path.contains("/v2/models/"))).then(|| decode(parts))
}

fn decode(parts: &Parts<'_>) -> Result<Decoded, Undecodable> {
    let documents = parts.documents()?;
    let mut errors = Vec::new();
    let mut answers = Vec::new();
    for document in documents {
        let Json::Object(fields) = document else { return Err(Undecodable::NoOutputs) };
        match document.text_field("error").filter(|message| !message.is_empty()) {
            Some(message) => errors.push(message.to_owned()),
            None => answers.push(outputs(fields)?),
        }
    }
    if answers.is_empty() && !errors.is_empty() {
        return Err(Undecodable::ErrorBody);
    }
    let mut outputs = messages::joined(answers)?;
    for output in outputs.iter_mut().filter(|output| output.name == TEXT && output.dtype == DType::Bytes) {
        *output = Output {
            kind: Kind::Text,
            text: vec![output.text.concat()],
            ..Output::new(TEXT, DType::Bytes, vec![])
        };
    }
    if !errors.is_empty() {
        outputs.push(messages::errors(errors));
    }
    let text = |name| documents.iter().find_map(|document| document.text_field(name)).map(names::given);
    let model = text("model_name").or_else(|| names::model(parts.path));
    Ok(Decoded { model, model_version: text("model_version"), ..Decoded::of(Protocol::V2Generate, outputs) })
}

fn outputs(fields: &[(std::borrow::Cow<'_, str>, Json<'_>)]) -> Result<Vec<Output>, Undecodable> {
    if fields.len() > MAX_OUTPUTS {
        return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
    }
    let named = fields.iter().filter(|(name, _)| !ABOUT.contains(&&**name));
    named
        .map(|(name, value)| {
            check_name(name.len())?;
            tensor::undeclared(name, &[value], false)
        })
        .collect()
}
