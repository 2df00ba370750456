//! JSON of no known shape: numbers within arrays are one output, anything else is kept as a tree.

use super::fault::Undecodable;
use super::parts::Parts;
use super::{Decoded, Protocol, json, names, tensor};
use crate::{Json, Rules};

/// Name of the output that is the whole answer.
const NAME: &str = "body";

/// Takes any JSON answer that is more than the message of an error; an event stream is the array of its events.
pub(super) fn read(parts: &Parts<'_>, rules: &Rules) -> Option<Result<Decoded, Undecodable>> {
    let documents = parts.documents().ok()?;
    let model = names::model(parts.path);
    if let (false, [values @ (Json::Array(_) | Json::Number(_))]) = (parts.is_stream(), documents)
        && let Ok(output) = tensor::undeclared(NAME, &[values], false)
        && !output.values.is_empty()
    {
        return Some(Ok(Decoded { model, ..Decoded::of(Protocol::Json, vec![output]) }));
    }
    let tree = match documents {
        [] => return None,
        [only] if json::error(only).is_some() => return Some(Err(Undecodable::ErrorBody)),
        [only] if !parts.is_stream() => lasting(only, rules),
        events => Json::Array(events.iter().map(|event| lasting(event, rules)).collect()),
    };
    Some(Ok(Decoded { model, tree: Some(tree), ..Decoded::of(Protocol::Json, Vec::new()) }))
}

/// The document without the fields that are new in every answer.
fn lasting(document: &Json<'_>, rules: &Rules) -> Json<'static> {
    let Json::Object(fields) = document else { return document.clone().into_owned() };
    let kept = fields.iter().filter(|(name, _)| !rules.json.volatile.iter().any(|volatile| volatile == name));
    Json::Object(kept.cloned().collect()).into_owned()
}
