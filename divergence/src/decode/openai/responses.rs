//! The responses API: `output[]` of messages, calls of tools and reasoning. A stream ends with an event that holds the whole; one
//! that was cut off before has the pieces of its text.

use super::{decoded, error, generated, is};
use crate::Json;
use crate::decode::fault::Undecodable;
use crate::decode::generation::{Choice, Choices};
use crate::decode::parts::Parts;
use crate::decode::{Decoded, Protocol};

/// Takes answers of `/responses`.
pub(in crate::decode) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    is(parts, "/v1/responses", &["response"]).then(|| decode(parts))
}

fn decode(parts: &Parts<'_>) -> Result<Decoded, Undecodable> {
    let documents = parts.documents()?;
    let is_whole = |document: &&Json<'_>| document.field("output").is_some();
    let held = documents.iter().rev().filter_map(|event| match event.text_field("type") {
        Some("response.completed" | "response.incomplete" | "response.failed") => event.field("response"),
        _ => None,
    });
    let whole = documents.iter().find(is_whole).or_else(|| held.into_iter().next());
    let mut choices = Choices::default();
    let mut errors = Vec::new();
    match whole {
        Some(whole) => {
            add(choices.at(0)?, whole)?;
            let usage = whole.field("usage");
            choices.count("prompt_tokens", usage, &["input_tokens"]);
            choices.count("completion_tokens", usage, &["output_tokens"]);
            errors.extend(error(whole));
        }
        None => {
            for event in documents {
                if event.text_field("type") == Some("response.output_text.delta") {
                    choices.at(0)?.text.push_str(event.text_field("delta").unwrap_or_default());
                }
                errors.extend(error(event));
            }
        }
    }
    generated(
        decoded(parts, Protocol::OpenAiResponses, whole.map_or(documents, std::slice::from_ref)),
        choices,
        errors,
    )
}

fn add(to: &mut Choice, response: &Json<'_>) -> Result<(), Undecodable> {
    let items = response.field("output").and_then(Json::as_array).unwrap_or_default();
    for (place, item) in items.iter().enumerate() {
        match item.text_field("type") {
            Some("function_call") => {
                let text = |name| item.text_field(name).unwrap_or_default().to_owned();
                to.tools.insert(place as u64, (text("name"), text("arguments")));
            }
            Some("reasoning") => content(item, |part| {
                to.reasoning.push_str(part.text_field("text").unwrap_or_default());
                Ok(())
            })?,
            _ => content(item, |part| {
                let text = part.text_field("text").or_else(|| part.text_field("refusal"));
                to.text.push_str(text.unwrap_or_default());
                let tokens = part.field("logprobs").and_then(Json::as_array).unwrap_or_default();
                tokens.iter().try_for_each(|token| to.token(token))
            })?,
        }
    }
    let why = response.field("incomplete_details").and_then(|details| details.text_field("reason"));
    to.finish = why.or_else(|| response.text_field("status")).map(str::to_owned);
    Ok(())
}

fn content(
    item: &Json<'_>,
    each: impl FnMut(&Json<'_>) -> Result<(), Undecodable>,
) -> Result<(), Undecodable> {
    item.field("content").and_then(Json::as_array).unwrap_or_default().iter().try_for_each(each)
}
