//! Text Generation Inference's own form: `{generated_text, details {finish_reason, tokens[] {id, text, logprob, special},
//! top_tokens[][]}}`, in a list at the path `/`; a stream has one `token` (and its `top_tokens`) per event and `generated_text` in the last.

use super::fault::Undecodable;
use super::generation::{Choice, Choices};
use super::parts::Parts;
use super::{Decoded, Protocol, messages, names};
use crate::Json;

/// Takes answers that have `generated_text`, and streams of `token`.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let documents = parts.documents().ok()?;
    let items = match documents {
        [Json::Array(items)] => items.as_slice(),
        documents => documents,
    };
    let first = items.first()?;
    let token = first.field("token").is_some_and(|token| token.field("logprob").is_some());
    (token || first.field("generated_text").is_some()).then(|| decode(parts, items))
}

fn decode(parts: &Parts<'_>, items: &[Json<'_>]) -> Result<Decoded, Undecodable> {
    let mut choices = Choices::default();
    let mut errors = Vec::new();
    let stream = parts.is_stream();
    for (place, item) in items.iter().enumerate() {
        if let Some(message) = item.text_field("error").filter(|message| !message.is_empty()) {
            errors.push(message.to_owned());
            continue;
        }
        let choice = choices.at(if stream { 0 } else { place as u64 })?;
        if let Some(token) = item.field("token") {
            add(choice, token)?;
            // The pieces of the text, until the last event brings the whole of it.
            if token.field("special") != Some(&Json::Bool(true)) {
                choice.text.push_str(token.text_field("text").unwrap_or_default());
            }
        }
        if let Some(text) = item.text_field("generated_text") {
            text.clone_into(&mut choice.text);
        }
        if let Some(alternatives) = item.field("top_tokens").and_then(Json::as_array) {
            top(choice, alternatives)?;
        }
        let Some(details) = item.field("details") else { continue };
        let tokens = details.field("tokens").and_then(Json::as_array).unwrap_or_default();
        tokens.iter().try_for_each(|token| add(choice, token))?;
        let places = details.field("top_tokens").and_then(Json::as_array).unwrap_or_default();
        places.iter().try_for_each(|place| top(choice, place.as_array().unwrap_or_default()))?;
        choice.finish = details.text_field("finish_reason").map(str::to_owned);
        choices.count("completion_tokens", Some(details), &["generated_tokens"]);
    }
    if choices.is_empty() {
        return Err(Undecodable::ErrorBody);
    }
    let mut outputs = choices.outputs()?;
    if !errors.is_empty() {
        outputs.push(messages::errors(errors));
    }
    Ok(Decoded { model: names::model(parts.path), ..Decoded::of(Protocol::Tgi, outputs) })
}

fn add(choice: &mut Choice, token: &Json<'_>) -> Result<(), Undecodable> {
    choice.tokens.push(token.text_field("text").unwrap_or_default().to_owned());
    choice.ids.extend(token.field("id").and_then(Json::as_number).map(crate::Number::as_f64));
    choice.logprob(token.field("logprob"));
    Ok(())
}

/// The alternatives at one place, as `{id, text, logprob, special}`.
fn top(choice: &mut Choice, alternatives: &[Json<'_>]) -> Result<(), Undecodable> {
    let named = alternatives
        .iter()
        .map(|token| (token.text_field("text").unwrap_or_default(), token.field("logprob")));
    choice.top(named)
}
