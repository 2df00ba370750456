//! What must not leave the process is taken out here, before a record is made: secrets in headers and in the query by
//! their names, fields of JSON bodies by their places.
//!
//! It fails closed: a body that a rule may concern and that cannot be read is not recorded at all, and counted. Nothing of a
//! body is looked at where no rule concerns it.

mod body;
mod events;
mod unreadable;

use std::sync::Arc;

use bytes::Bytes;
use exchange::{Body, Pairs};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::redaction::{self, Action, HashKey, NameRule, Side, is_credential};
use crate::json::places::Places;
use crate::json::{NotJson, StandIn, compacted};

/// What replaces a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Headers that carry a plain digest of the body, from which a short secret in it could be guessed; the last is a prefix.
const DIGESTS: [&str; 7] = [
    "content-digest",
    "repr-digest",
    "digest",
    "content-md5",
    "etag",
    "x-amz-content-sha256",
    "x-amz-checksum-",
];

/// Larger bodies, and compressed ones, are read on a thread for such work: no request waits for it.
const AT_ONCE: usize = 64 << 10;

/// Says what is secret and must reach no record.
#[derive(Debug)]
pub(crate) struct Redaction {
    rules: redaction::Redaction,
    secrets: Vec<String>,
    limit: usize,
    unreadable: unreadable::Counts,
}

impl Redaction {
    /// `secrets` are names of headers and parameters that are masked besides the rules, `limit` the most bytes of a decompressed
    /// body.
    pub(crate) fn new(rules: redaction::Redaction, secrets: &[String], limit: usize) -> Self {
        Self { rules, secrets: secrets.to_vec(), limit, unreadable: unreadable::Counts::default() }
    }

    /// Headers or trailers as they are recorded.
    pub(crate) fn headers(&self, headers: &HeaderMap) -> Pairs {
        let one = |(name, value): (&HeaderName, &HeaderValue)| {
            let name = name.as_str();
            let value = match self.action(name, &self.rules.headers) {
                Some(Action::Drop) => return None,
                Some(Action::Hash) if !value.is_sensitive() => self.hash(value.as_bytes()),
                None if !value.is_sensitive() => String::from_utf8_lossy(value.as_bytes()).into_owned(),
                _ => REDACTED.to_owned(),
            };
            Some((name.to_owned(), value))
        };
        headers.iter().filter_map(one).collect()
    }

    /// A query string as it is recorded; `None` when nothing of it is left.
    pub(crate) fn query(&self, query: &str) -> Option<String> {
        let one = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match self.action(&String::from_utf8_lossy(&unescaped(name)), &self.rules.query) {
                Some(Action::Drop) => None,
                Some(Action::Hash) => Some(format!("{name}={}", self.hash(&unescaped(value)))),
                Some(Action::Mask) if pair.contains('=') => Some(format!("{name}={REDACTED}")),
                Some(Action::Mask) | None => Some(pair.to_owned()),
            }
        };
        let left: Vec<String> = query.split('&').filter_map(one).collect();
        (!left.is_empty()).then(|| left.join("&"))
    }

    /// Redacts the bodies of an exchange, the request's and those of the answers.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        request: &mut exchange::Request,
        legs: impl Iterator<Item = &mut exchange::Leg>,
    ) {
        if self.rules.json.is_empty() {
            return;
        }
        let exchange::Request { route, headers, body, .. } = request;
        self.record(Side::Request, route, headers, body).await;
        for leg in legs {
            self.record(Side::Answer, route, &mut leg.headers, &mut leg.body).await;
        }
    }

    /// Redacts a body as [`body`](Self::body) does, without holding up the requests of this thread.
    async fn record(self: &Arc<Self>, side: Side, route: &str, headers: &mut Pairs, body: &mut Body) {
        if !self.reads(side, route) {
            return;
        }
        let compressed = exchange::leg::header(headers, "content-encoding").is_some();
        if body.bytes.len() <= AT_ONCE && !compressed {
            return self.body(side, route, headers, body);
        }
        let (redaction, route) = (self.clone(), route.to_owned());
        let (mut heads, mut bytes) = (std::mem::take(headers), std::mem::take(body));
        // What stays when the thread is lost: nothing of the body.
        *body = Body { length: bytes.length, truncated: true, ..Body::default() };
        let reading = tokio::task::spawn_blocking(move || {
            redaction.body(side, &route, &mut heads, &mut bytes);
            (heads, bytes)
        });
        if let Ok(read) = reading.await {
            (*headers, *body) = read;
        }
    }

    /// Whether [`body`](Self::body) has anything to do for bodies of this side and route.
    fn reads(&self, side: Side, route: &str) -> bool {
        self.rules.json.iter().any(|rule| holds(rule, side, route))
    }

    /// A body and its headers as they are recorded. Its length stays that of what crossed the wire; its digest is that of the
    /// bytes which are left, and there is none when there are none.
    fn body(&self, side: Side, route: &str, headers: &mut Pairs, body: &mut Body) {
        let concerned = self.rules.json.iter().filter(|rule| holds(rule, side, route));
        let rules: Vec<_> = concerned.map(|rule| (rule.path.segments(), rule.action)).collect();
        if rules.is_empty() || body.length == 0 {
            return;
        }
        // Of a body that was not kept, over the cap or never there, nothing can leave but what a digest would tell of it.
        if body.bytes.is_empty() && (body.truncated || body.digest.is_none()) {
            body.digest = None;
            hide_digests(headers);
            return;
        }
        let (places, whole) = Places::new(rules);
        let rules = body::Rules { places, whole, key: self.rules.key.as_ref(), limit: self.limit };
        let redacted = if body.truncated {
            Err(unreadable::Unreadable::Truncated)
        } else {
            body::redacted(&body.bytes, headers, &rules)
        };
        let length = body.length;
        *body = match redacted {
            Ok(None) => return,
            Ok(Some(bytes)) => Body { length, ..Body::whole(bytes.into()) },
            Err(reason) => {
                self.unreadable.add(reason);
                Body { bytes: Bytes::new(), length, digest: None, truncated: true }
            }
        };
        hide_digests(headers);
    }

    /// Bodies that were not recorded because they could not be read, by reason.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = (unreadable::Unreadable, u64)> {
        self.unreadable.all()
    }

    fn action(&self, name: &str, rules: &[NameRule]) -> Option<Action> {
        let ruled = rules.iter().filter(|rule| rule.matches(name)).map(|rule| rule.action).max();
        if is_plain(name) && self.secrets.is_empty() {
            return ruled;
        }
        let credential =
            is_credential(name) || self.secrets.iter().any(|more| more.eq_ignore_ascii_case(name));
        if credential {
            return ruled.max(Some(Action::Mask));
        }
        // The id of a session may be told apart where a rule says so; without one it is taken for a credential.
        ruled.or_else(|| contains_session(name).then_some(Action::Mask))
    }

    fn hash(&self, value: &[u8]) -> String {
        self.rules.key.as_ref().map_or_else(|| REDACTED.to_owned(), |key| key.hash(value))
    }
}

/// What is written in place of a JSON value.
pub(crate) struct Hidden<'k>(pub(crate) Option<&'k HashKey>);

impl StandIn for Hidden<'_> {
    fn for_value(&self, value: &[u8], action: Action) -> Result<Option<String>, NotJson> {
        let text = match (action, self.0) {
            (Action::Hash, Some(key)) => match value {
                [b'"', inner @ .., b'"'] => key.hash(&crate::json::unescaped(inner)?),
                _ => key.hash(&compacted(value)),
            },
            _ => REDACTED.to_owned(),
        };
        Ok(Some(format!("\"{text}\"")))
    }
}

fn holds(rule: &redaction::JsonRule, side: Side, route: &str) -> bool {
    rule.side.covers(side) && rule.route.as_ref().is_none_or(|only| only == route)
}

/// Names that most requests and answers have and that mark no secret: looked at no further.
fn is_plain(name: &str) -> bool {
    matches!(
        name,
        "host"
            | "user-agent"
            | "accept"
            | "accept-encoding"
            | "content-type"
            | "content-length"
            | "transfer-encoding"
            | "connection"
            | "date"
            | "server"
            | "traceparent"
            | "x-request-id"
            | "inference-header-content-length"
    )
}

fn contains_session(name: &str) -> bool {
    name.as_bytes().windows(7).any(|part| part.eq_ignore_ascii_case(b"session"))
}

fn hide_digests(headers: &mut Pairs) {
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        if DIGESTS
            .iter()
            .any(|digest| lower == *digest || (digest.ends_with('-') && lower.starts_with(digest)))
        {
            *value = REDACTED.to_owned();
        }
    }
}

/// A name or value of a query parameter with its `%XX` resolved: a secret keeps its name in any spelling.
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        let escaped = match tail {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        // Two hex digits are below 256.
        let resolved = escaped.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(resolved.unwrap_or(*first));
        rest = if resolved.is_some() { &tail[2..] } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests;
