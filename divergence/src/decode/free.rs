//! JSON of no known shape: numbers within arrays are one output, anything else is kept as a tree.

use super::fault::Undecodable;
use super::parts::Parts;
use super::{Decoded, Protocol, names, tensor};
use crate::Json;

/// Name of the output that is the whole answer.
const NAME: &str = "body";

/// Takes any JSON answer that is more than the message of an error; an event stream is the array of its events.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
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
        [Json::Object(fields)]
            if fields.iter().any(|(name, value)| name == "error" && *value != Json::Null) =>
        {
            return Some(Err(Undecodable::ErrorBody));
        }
        [only] if !parts.is_stream() => only.clone().into_owned(),
        events => Json::Array(events.iter().cloned().map(Json::into_owned).collect()),
    };
    Some(Ok(Decoded { model, tree: Some(tree), ..Decoded::of(Protocol::Json, Vec::new()) }))
}
