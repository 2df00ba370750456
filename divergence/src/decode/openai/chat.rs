//! Chat and text completions: `choices[]` with `message`, `delta` (a chunk) or `text`.

use super::{decoded, error, generated, is};
use crate::Json;
use crate::decode::fault::Undecodable;
use crate::decode::generation::{Choice, Choices};
use crate::decode::parts::Parts;
use crate::decode::{Decoded, Protocol};

/// Takes answers of `/chat/completions`.
pub(in crate::decode) fn read_chat(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    is(parts, "/chat/completions", &["chat.completion", "chat.completion.chunk"])
        .then(|| read(parts, Protocol::OpenAiChat))
}

/// Takes answers of `/completions`.
pub(in crate::decode) fn read_completions(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    is(parts, "/completions", &["text_completion"]).then(|| read(parts, Protocol::OpenAiCompletions))
}

fn read(parts: &Parts<'_>, protocol: Protocol) -> Result<Decoded, Undecodable> {
    let documents = parts.documents()?;
    let mut choices = Choices::default();
    let mut errors = Vec::new();
    for document in documents {
        let listed = document.field("choices").and_then(Json::as_array).unwrap_or_default();
        for (place, choice) in listed.iter().enumerate() {
            let index = choice.field("index").and_then(Json::as_u64).unwrap_or(place as u64);
            add(choices.at(index)?, choice)?;
        }
        let usage = document.field("usage");
        choices.count("prompt_tokens", usage, &["prompt_tokens"]);
        choices.count("completion_tokens", usage, &["completion_tokens"]);
        errors.extend(error(document));
    }
    generated(decoded(parts, protocol, documents), choices, errors)
}

/// Adds what a choice, or a chunk of one, says.
fn add(to: &mut Choice, choice: &Json<'_>) -> Result<(), Undecodable> {
    to.text.push_str(choice.text_field("text").unwrap_or_default());
    if let Some(message) = choice.field("delta").or_else(|| choice.field("message")) {
        content(to, message.field("content"));
        to.text.push_str(message.text_field("refusal").unwrap_or_default());
        let thought = message.text_field("reasoning_content").or_else(|| message.text_field("reasoning"));
        to.reasoning.push_str(thought.unwrap_or_default());
        let calls = message.field("tool_calls").and_then(Json::as_array).unwrap_or_default();
        for (place, call) in calls.iter().enumerate() {
            let index = call.field("index").and_then(Json::as_u64).unwrap_or(place as u64);
            let (name, arguments) = to.tools.entry(index).or_default();
            if let Some(function) = call.field("function") {
                name.push_str(function.text_field("name").unwrap_or_default());
                arguments.push_str(function.text_field("arguments").unwrap_or_default());
            }
        }
    }
    if let Some(reason) = choice.text_field("finish_reason") {
        to.finish = Some(reason.to_owned());
    }
    let ids = choice.field("token_ids").and_then(Json::as_array).unwrap_or_default();
    to.ids.extend(ids.iter().filter_map(|id| id.as_number()).map(crate::Number::as_f64));
    match choice.field("logprobs") {
        Some(logprobs) => self::logprobs(to, logprobs),
        None => Ok(()),
    }
}

/// Content as text, or as a list of parts.
fn content(to: &mut Choice, content: Option<&Json<'_>>) {
    match content {
        Some(Json::Text(text)) => to.text.push_str(text),
        Some(Json::Array(parts)) => {
            parts.iter().filter_map(|part| part.text_field("text")).for_each(|text| to.text.push_str(text));
        }
        _ => {}
    }
}

/// `{content: [{token, logprob, top_logprobs}]}` of chat, or `{tokens, token_logprobs, top_logprobs}` of completions.
fn logprobs(to: &mut Choice, logprobs: &Json<'_>) -> Result<(), Undecodable> {
    let list = |name| logprobs.field(name).and_then(Json::as_array).unwrap_or_default();
    list("content").iter().try_for_each(|token| to.token(token))?;
    to.tokens.extend(list("tokens").iter().map(|token| token.as_text().unwrap_or_default().to_owned()));
    list("token_logprobs").iter().for_each(|value| to.logprob(Some(value)));
    for place in list("top_logprobs") {
        match place {
            Json::Object(fields) => to.top(fields.iter().map(|(token, value)| (&**token, Some(value))))?,
            _ => to.top(std::iter::empty())?,
        }
    }
    Ok(())
}
