//! Which parts of a body are JSON: all of it, its head before binary tensors, or the events of a stream; compressed or not.

use std::borrow::Cow;
use std::io::Read;

use exchange::Pairs;
use flate2::read::{MultiGzDecoder, ZlibDecoder};

use super::unreadable::Unreadable;
use super::{Hidden, events};
use crate::config::redaction::{Action, HashKey};
use crate::json;
use crate::json::places::{Places, Step};

/// Gives the length of the JSON before binary tensors (Open Inference Protocol, binary tensor data extension).
const HEAD_LENGTH: &str = "inference-header-content-length";

/// The same as a parameter of the media type, on SageMaker and Vertex AI.
const HEAD_PARAMETER: &str = "json-header-size=";

/// Most content codings of one body: each may undo to the bound.
const MAX_CODINGS: usize = 4;

/// Levels of nesting of the `data` of a tensor that a rule may name.
const MAX_RANK: usize = 8;

/// The rules for one body.
pub(super) struct Rules<'r> {
    pub(super) places: Places<'r>,
    pub(super) whole: Option<Action>,
    pub(super) key: Option<&'r HashKey>,
    /// Most bytes of a decompressed body.
    pub(super) limit: usize,
}

impl Rules<'_> {
    pub(super) fn json(&self, text: &[u8]) -> Result<Option<Vec<u8>>, Unreadable> {
        let edits = json::edits(text, &self.places, self.whole, &Hidden(self.key))?;
        Ok((!edits.is_empty()).then(|| json::apply(text, &edits)))
    }

    /// Whether a rule is about elements of tensors, which follow the JSON when they are binary.
    fn cover_tensors(&self) -> bool {
        let covers = |list: &[u8]| {
            let mut places = self.places.clone();
            let steps = [Step::Name(list), Step::AnyIndex, Step::Name(b"data")];
            steps.into_iter().any(|step| places.down(step).is_some()) || places.any_in_array(MAX_RANK)
        };
        self.whole.is_some() || covers(b"inputs") || covers(b"outputs")
    }
}

/// The body as it may leave, or `None` when it may leave as it is. `headers` are made to tell of the new bytes.
///
/// # Errors
/// When it cannot be read.
pub(super) fn redacted(
    body: &[u8],
    headers: &mut Pairs,
    rules: &Rules<'_>,
) -> Result<Option<Vec<u8>>, Unreadable> {
    let plain = decoded(headers, body, rules.limit)?;
    let head = head_length(headers)?.unwrap_or(plain.len());
    let (text, tail) = plain.split_at_checked(head).ok_or(Unreadable::NotJson)?;
    if !tail.is_empty() && rules.cover_tensors() {
        return Err(Unreadable::BinaryTensors);
    }
    let text = if tail.is_empty() && events::are(headers, text) {
        events::redacted(text, rules)?
    } else {
        rules.json(text)?
    };
    let Some(mut text) = text else { return Ok(None) };
    if !tail.is_empty() {
        tell_head_length(headers, text.len());
        text.extend_from_slice(tail);
    }
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
    tell(headers, "content-length", |_| Some(text.len().to_string()));
    Ok(Some(text))
}

fn value<'h>(headers: &'h Pairs, name: &str) -> Option<&'h str> {
    exchange::leg::header(headers, name)
}

fn tell(headers: &mut Pairs, name: &str, new: impl Fn(&str) -> Option<String>) {
    let named = headers.iter_mut().filter(|(header, _)| header.eq_ignore_ascii_case(name));
    for (_, value) in named {
        if let Some(new) = new(value) {
            *value = new;
        }
    }
}

fn head_length(headers: &Pairs) -> Result<Option<usize>, Unreadable> {
    let parameter = value(headers, "content-type").and_then(|media| parameter(media).map(|(_, size)| size));
    match value(headers, HEAD_LENGTH).or(parameter) {
        Some(length) => length.trim().parse().map(Some).map_err(|_| Unreadable::NotJson),
        None => Ok(None),
    }
}

/// Where the size in a media type begins, and its text.
fn parameter(media: &str) -> Option<(usize, &str)> {
    let at = media.find(HEAD_PARAMETER)? + HEAD_PARAMETER.len();
    let rest = media.get(at..)?;
    Some((at, rest.split(';').next().unwrap_or(rest)))
}

fn tell_head_length(headers: &mut Pairs, length: usize) {
    tell(headers, HEAD_LENGTH, |_| Some(length.to_string()));
    tell(headers, "content-type", |media| {
        let (at, size) = parameter(media)?;
        Some(format!("{}{length}{}", &media[..at], &media[at + size.len()..]))
    });
}

/// The body without its content codings (RFC 9110, section 8.4).
fn decoded<'b>(headers: &Pairs, body: &'b [u8], limit: usize) -> Result<Cow<'b, [u8]>, Unreadable> {
    let named = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
    let codings: Vec<&str> =
        named.flat_map(|(_, value)| value.split(',')).map(str::trim).take(MAX_CODINGS + 1).collect();
    if codings.len() > MAX_CODINGS {
        return Err(Unreadable::Encoding);
    }
    let mut body = Cow::Borrowed(body);
    for coding in codings.iter().rev() {
        body = match coding.to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => bounded(MultiGzDecoder::new(&*body), limit)?.into(),
            "deflate" => bounded(ZlibDecoder::new(&*body), limit)?.into(),
            _ => return Err(Unreadable::Encoding),
        };
    }
    Ok(body)
}

fn bounded(reader: impl Read, limit: usize) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(most).read_to_end(&mut bytes).map_err(|_| Unreadable::Encoding)?;
    if bytes.len() > limit { Err(Unreadable::TooLarge) } else { Ok(bytes) }
}
