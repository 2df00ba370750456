//! The forms of OpenAI's API, which vLLM, TGI, LitServe and many others answer in. Whole answers and streams of chunks are read by
//! the same code: a stream is a list of JSON documents, a whole answer a list of one.

mod chat;
mod embeddings;
mod responses;
mod scores;

use super::fault::{Undecodable, shortened};
use super::generation::Choices;
use super::parts::Parts;
use super::{Decoded, Protocol, json, messages, names};
use crate::Json;

pub(super) use chat::{read_chat, read_completions};
pub(super) use embeddings::read as read_embeddings;
pub(super) use responses::read as read_responses;
pub(super) use scores::{read_rerank, read_scores};

/// Whether the request path ends with `end`, or the first document is an object of one of those names.
fn is(parts: &Parts<'_>, end: &str, objects: &[&str]) -> bool {
    let object = || parts.documents().ok()?.first()?.text_field("object");
    parts.forced || parts.ends_with(end) || object().is_some_and(|object| objects.contains(&object))
}

/// The answer around its outputs.
fn decoded(parts: &Parts<'_>, protocol: Protocol, documents: &[Json<'_>]) -> Decoded {
    let text = |name| documents.iter().find_map(|document| document.text_field(name)).map(names::given);
    let model = text("model").or_else(|| names::model(parts.path));
    Decoded { model, model_version: text("system_fingerprint"), ..Decoded::of(protocol, Vec::new()) }
}

/// The message of an error that a document is.
fn error(document: &Json<'_>) -> Option<String> {
    let error = json::error(document)?;
    let message = error.text_field("message").or_else(|| error.as_text()).unwrap_or("error");
    Some(shortened(message))
}

/// Puts the outputs of generated text into an answer. An error among chunks is an output beside what came before it.
fn generated(mut decoded: Decoded, choices: Choices, errors: Vec<String>) -> Result<Decoded, Undecodable> {
    if choices.is_empty() && !errors.is_empty() {
        return Err(Undecodable::ErrorBody);
    }
    decoded.outputs = choices.outputs()?;
    if !errors.is_empty() {
        decoded.outputs.push(messages::errors(errors));
    }
    Ok(decoded)
}
