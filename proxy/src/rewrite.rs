//! What is changed of a request for one target: path, headers, and the names of models in paths, gRPC messages and JSON.
//!
//! Changes the copy that the target gets, never what is recorded: the record tells what the client sent. Nothing is looked at
//! where nothing is to be changed.

mod grpc;
mod path;
mod pieces;
mod protobuf;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::redaction::{Action, Segment};
use crate::config::rewrite::{self, Model, Trace};
use crate::json::places::Places;
use crate::json::{self, NotJson, StandIn};
pub(crate) use grpc::Messages;
use pieces::{Edit, Pieces};

/// Other names of models, by the name that clients use.
type Models = Arc<BTreeMap<String, Model>>;

/// Gives the length of the JSON before binary tensors (Open Inference Protocol, binary tensor data extension).
const HEAD_LENGTH: &str = "inference-header-content-length";

const TRACEPARENT: &str = "traceparent";

/// Members of a JSON body that name its model: of OpenAI-shaped servers, and of some that speak the Open Inference Protocol.
const MEMBERS: [&str; 2] = ["model", "model_name"];

const IDEMPOTENCY_KEYS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// The changes for one target.
#[derive(Debug)]
pub(crate) struct Rewrite {
    rules: rewrite::Rewrite,
    models: Models,
    members: Vec<[Segment; 1]>,
}

/// What is left to change when the head is changed.
#[derive(Debug)]
pub(crate) enum Rest {
    /// Nothing.
    Nothing,
    /// The body, when it is there as a whole.
    Json,
    /// The messages of the body, as they come.
    Grpc(Messages),
}

impl Rewrite {
    /// `None` where nothing is to be changed.
    pub(crate) fn new(rules: &rewrite::Rewrite) -> Option<Self> {
        if rules.is_empty() {
            return None;
        }
        let models = Arc::new(rules.models.clone());
        let members = MEMBERS.iter().map(|name| [Segment::Name((*name).to_owned())]).collect();
        Some(Self { rules: rules.clone(), models, members })
    }

    /// Changes the head of a request, `grpc` calls being those; says what of the body is to be changed.
    pub(crate) fn head(&self, path: &mut PathAndQuery, headers: &mut HeaderMap, grpc: bool) -> Rest {
        let rest = match grpc::Shape::of(path.path()) {
            _ if self.models.is_empty() => Rest::Nothing,
            Some(shape) if grpc => Rest::Grpc(Messages::new(shape, self.models.clone())),
            _ if grpc => Rest::Nothing,
            _ => Rest::Json,
        };
        if let Some(changed) = self.path(path) {
            *path = changed;
        }
        self.headers(headers);
        if matches!(rest, Rest::Grpc(_)) {
            // Known only when all messages are changed, and needed by no one: each tells its own.
            headers.remove(CONTENT_LENGTH);
        }
        rest
    }

    fn path(&self, path: &PathAndQuery) -> Option<PathAndQuery> {
        let rules = &self.rules;
        if rules.strip_prefix.is_empty() && rules.add_prefix.is_empty() && self.models.is_empty() {
            return None;
        }
        let plain = stripped(path.path(), &rules.strip_prefix);
        let named = path::renamed(plain, &self.models);
        let named = named.as_deref().unwrap_or(plain);
        let slash = if named.starts_with('/') { "" } else { "/" };
        let mut changed = format!("{}{slash}{named}", rules.add_prefix.trim_end_matches('/'));
        if let Some(query) = path.query() {
            changed.push('?');
            changed.push_str(query);
        }
        // Prefixes and names are checked and encoded: what comes out is a path. If not, the client's own is sent.
        PathAndQuery::try_from(changed).ok()
    }

    fn headers(&self, headers: &mut HeaderMap) {
        let rules = &self.rules;
        for name in &rules.remove_headers {
            headers.remove(name);
        }
        let set = rules.set_headers.iter().chain(&rules.mark);
        for (name, value) in set {
            headers.insert(name, value.clone());
        }
        if let Some(value) = &rules.authorization {
            headers.insert(AUTHORIZATION, value.clone());
        }
        if !rules.idempotency_suffix.is_empty() {
            for name in IDEMPOTENCY_KEYS {
                suffix(headers, name, &rules.idempotency_suffix);
            }
        }
        if rules.trace == Trace::Unsampled
            && let Some(value) = headers.get(TRACEPARENT).and_then(unsampled)
        {
            headers.insert(HeaderName::from_static(TRACEPARENT), value);
        }
    }

    /// Changes the name of the model in a JSON body, which is here as a whole, and tells its new length; `None` when nothing is
    /// changed. What is compressed or no JSON stays as it is.
    pub(crate) fn json(&self, headers: &mut HeaderMap, body: &[Bytes]) -> Option<Vec<Bytes>> {
        if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
            return None;
        }
        let pieces = Pieces::new(body);
        let first =
            (0..pieces.len()).find_map(|at| pieces.get(at).filter(|byte| !byte.is_ascii_whitespace()));
        if first != Some(b'{') {
            return None;
        }
        let head = match headers.get(HEAD_LENGTH) {
            Some(length) => length.to_str().ok()?.trim().parse().ok().filter(|head| *head <= pieces.len())?,
            None => pieces.len(),
        };
        // One piece is read where it lies; several have to be joined.
        let joined;
        let text = match body {
            [only] => &only[..head],
            _ => {
                joined = pieces.copy(0..head, head)?;
                &joined[..]
            }
        };
        let rules = self.members.iter().map(|member| (&member[..], Action::Mask)).collect();
        let edits = json::edits(text, &Places::new(rules).0, None, &Named(&self.models)).ok()?;
        if edits.is_empty() {
            return None;
        }
        let edits: Vec<Edit> = edits.into_iter().map(|edit| Edit { at: edit.at, with: edit.with }).collect();
        let added: usize = edits.iter().map(|edit| edit.with.len()).sum();
        let removed: usize = edits.iter().map(|edit| edit.at.len()).sum();
        let mut out = Vec::with_capacity(2 * edits.len() + body.len());
        pieces.edited(0..pieces.len(), edits, &mut out);
        for (name, length) in [(HEAD_LENGTH, head), (CONTENT_LENGTH.as_str(), pieces.len())] {
            if let Some(told) = headers.get_mut(name) {
                *told = HeaderValue::from(length + added - removed);
            }
        }
        Some(out)
    }
}

/// The JSON string of a model's other name.
struct Named<'m>(&'m BTreeMap<String, Model>);

impl StandIn for Named<'_> {
    fn for_value(&self, value: &[u8], _: Action) -> Result<Option<String>, NotJson> {
        let [b'"', inner @ .., b'"'] = value else { return Ok(None) };
        let name = json::unescaped(inner)?;
        let model = std::str::from_utf8(&name).ok().and_then(|name| self.0.get(name));
        Ok(model.map(|model| serde_json::Value::from(model.name.as_str()).to_string()))
    }
}

/// The path without a prefix of whole segments.
fn stripped<'p>(path: &'p str, prefix: &str) -> &'p str {
    match path.strip_prefix(prefix.trim_end_matches('/')) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => path,
    }
}

fn suffix(headers: &mut HeaderMap, name: &str, suffix: &str) {
    if let Some(key) = headers.get_mut(name)
        && let Ok(value) = HeaderValue::from_bytes(&[key.as_bytes(), suffix.as_bytes()].concat())
    {
        *key = value;
    }
}

/// A `traceparent` with its `sampled` flag cleared, where it was set.
fn unsampled(value: &HeaderValue) -> Option<HeaderValue> {
    // Two digits of version, 32 and 16 of ids, two of flags, and three dashes; later versions may go on after that.
    const FLAGS: std::ops::Range<usize> = 53..55;
    let text = value.to_str().ok()?;
    let flags = u8::from_str_radix(text.get(FLAGS)?, 16).ok()?;
    if flags & 1 == 0 {
        return None;
    }
    let (before, after) = (&text[..FLAGS.start], &text[FLAGS.end..]);
    HeaderValue::from_str(&format!("{before}{:02x}{after}", flags & !1)).ok()
}

#[cfg(test)]
mod tests;
