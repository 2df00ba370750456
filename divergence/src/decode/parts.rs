//! An answer taken apart once for all readers: path, JSON part, binary tail.

use std::cell::OnceCell;

use super::fault::{Undecodable, shortened};
use super::{Answer, grpc, json, sse};
use crate::Json;

/// An answer with its body decompressed and split.
pub(super) struct Parts<'a> {
    /// Path of the request, without the query.
    pub(super) path: &'a str,
    /// Headers of the answer.
    pub(super) headers: &'a [(String, String)],
    /// The whole body.
    pub(super) body: &'a [u8],
    /// The JSON part: the whole body unless the headers mark a binary tail.
    pub(super) head: &'a [u8],
    /// Binary tensors after the JSON; `None` when the headers mark none.
    pub(super) tail: Option<&'a [u8]>,
    /// Whether a rule says which protocol it is of: neither path nor headers need to show it.
    pub(super) forced: bool,
    parsed: OnceCell<Result<Json<'a>, Undecodable>>,
    events: OnceCell<Result<Vec<Json<'a>>, Undecodable>>,
}

impl<'a> Parts<'a> {
    /// Splits the decompressed body.
    pub(super) fn new(answer: &Answer<'a>, body: &'a [u8]) -> Result<Self, Undecodable> {
        let path = answer.path.split('?').next().unwrap_or_default();
        let (head, tail) = match json_length(answer.headers) {
            None => (body, None),
            Some(declared) => {
                let split = declared.trim().parse().ok().and_then(|length| body.split_at_checked(length));
                let (head, tail) = split.ok_or_else(|| Undecodable::JsonLength {
                    declared: shortened(declared),
                    body: body.len(),
                })?;
                (head, Some(tail))
            }
        };
        Ok(Self {
            path,
            headers: answer.headers,
            body,
            head,
            tail,
            forced: false,
            parsed: OnceCell::new(),
            events: OnceCell::new(),
        })
    }

    /// The JSON part, parsed at the first call.
    pub(super) fn json(&self) -> Result<&Json<'a>, Undecodable> {
        self.parsed.get_or_init(|| json::parse(self.head)).as_ref().map_err(Clone::clone)
    }

    /// Whether the answer is an event stream.
    pub(super) fn is_stream(&self) -> bool {
        header_values(self.headers, "content-type").any(|media_type| media_type.contains("event-stream"))
            || sse::looks_like(self.body)
    }

    /// The JSON documents of the answer: its events when it is a stream, else the only one.
    pub(super) fn documents(&self) -> Result<&[Json<'a>], Undecodable> {
        if !self.is_stream() {
            return self.json().map(std::slice::from_ref);
        }
        let events = self.events.get_or_init(|| json::events(self.body));
        events.as_deref().map_err(Clone::clone)
    }

    /// Whether the answer says that it is of a media type.
    pub(super) fn is_of(&self, media_type: &str) -> bool {
        let named = header_values(self.headers, "content-type").next().unwrap_or_default();
        named.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type)
    }

    /// Whether the path ends with `end`, a slash after it or not.
    pub(super) fn ends_with(&self, end: &str) -> bool {
        self.path.trim_end_matches('/').ends_with(end)
    }

    /// The method of a gRPC service that the path calls.
    pub(super) fn method_of(&self, service: &str) -> Option<&'a str> {
        let (called, method) = self.path.rsplit_once('/')?;
        called.ends_with(service).then_some(method)
    }

    /// A field of the JSON part, when that is an object which has it.
    pub(super) fn field(&self, name: &str) -> Option<&Json<'a>> {
        self.json().ok().and_then(|value| value.field(name))
    }

    /// Why an answer of a known format has no outputs.
    pub(super) fn without_outputs(&self) -> Undecodable {
        match self.json() {
            Err(reason) => reason,
            Ok(document) if json::error(document).is_some() => Undecodable::ErrorBody,
            Ok(_) => Undecodable::NoOutputs,
        }
    }

    /// Why no reader took the answer.
    pub(super) fn unknown(&self) -> Undecodable {
        let media_type = header_values(self.headers, "content-type").next().unwrap_or_default();
        match self.documents() {
            _ if grpc::is_grpc(self.headers) => Undecodable::Method(shortened(self.path)),
            Err(reason) if media_type.is_empty() || media_type.contains("json") || self.is_stream() => reason,
            Err(_) => Undecodable::Media(shortened(media_type)),
            Ok(_) => Undecodable::NoOutputs,
        }
    }
}

/// Values of the header of that name, whatever its case.
pub(super) fn header_values<'h>(
    headers: &'h [(String, String)],
    name: &'static str,
) -> impl Iterator<Item = &'h str> {
    headers.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Length of the JSON part before binary tensors: `Inference-Header-Content-Length` (V2 binary extension), or the parameter of
/// the media type that the SageMaker front end of Triton puts it in.
fn json_length(headers: &[(String, String)]) -> Option<&str> {
    header_values(headers, "inference-header-content-length").next().or_else(|| {
        let media_type = header_values(headers, "content-type").next()?;
        let (_, length) = media_type.split_once("json-header-size=")?;
        length.split(';').next()
    })
}
