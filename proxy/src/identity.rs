//! Which node served a request, and what is known of it.
//!
//! In this order: a configured header or trailer of the answer; a configured place in a JSON answer; header fields that are
//! known to name what served; the node that was dialled. Whenever an answer renames the node, the address dialled stays as the label
//! `address`; load is always that of the address, as that is what the proxy can count.
//!
//! An answer is what a server says: a name is bounded in length, and a target in the number of names, so that a header with
//! another value in each answer does not make as many nodes.

mod json;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use exchange::{Leg, Pairs};
use http::{HeaderMap, HeaderValue};

use crate::config::{Identity, Node};
use crate::redact::{REDACTED, Redaction};
pub(crate) use json::at;

/// Names that answers give the nodes of one target; more are not taken.
const NAMES: usize = 1000;

/// Longest name or label, in bytes.
const LONGEST: usize = 256;

/// Label of the address dialled, where an answer renamed the node.
const ADDRESS: &str = "address";

/// Header fields that name what served, in the order in which they are believed: the Gateway API inference extension (endpoint picker
/// protocol), Amazon SageMaker and Azure Machine Learning.
const KNOWN: [&str; 3] =
    ["x-gateway-destination-endpoint-served", "x-amzn-invoked-production-variant", "azureml-model-session"];

/// Names the nodes of one target.
#[derive(Debug)]
pub(crate) struct Naming {
    identity: Identity,
    names: Mutex<BTreeSet<String>>,
}

impl Naming {
    pub(crate) fn new(identity: Identity) -> Self {
        Self { identity, names: Mutex::default() }
    }

    /// Says which of the configured headers `redaction` hides, as they will not be read.
    pub(crate) fn warn_of_hidden(&self, redaction: &Redaction, target: &str) {
        let labels = self.identity.label_headers.iter().map(|(_, header)| header);
        for header in self.identity.header.iter().chain(labels) {
            let sample = HeaderMap::from_iter([(header.clone(), HeaderValue::from_static("sample"))]);
            let shown = redaction.headers(&sample);
            if recorded(&shown, header.as_str()) != Some("sample") {
                tracing::warn!(
                    target_name = target,
                    header = header.as_str(),
                    "redacted, so it names and labels no node"
                );
            }
        }
    }

    /// Notes what the head of an answer says, whose recorded headers are in `leg` already.
    pub(crate) fn of_head(&self, node: &Node, leg: &mut Leg, headers: &HeaderMap) {
        let known = |name: &&str| headers.get(*name).and_then(|value| value.to_str().ok());
        let named = self.configured(&leg.headers);
        let named = named.or_else(|| self.identity.known.then(|| KNOWN.iter().find_map(known)).flatten());
        if let Some(name) = named.map(str::to_owned) {
            self.rename(node, leg, &name);
        }
        for (label, header) in &self.identity.label_headers {
            let value = recorded(&leg.headers, header.as_str()).and_then(usable).map(str::to_owned);
            if let Some(value) = value {
                set(&mut leg.labels, label, value);
            }
        }
    }

    /// Notes what the body and the trailers of an answer say; they are in `leg` already.
    pub(crate) fn of_end(&self, node: &Node, leg: &mut Leg) {
        if self.configured(&leg.headers).is_some() {
            return;
        }
        let named = self.configured(&leg.trailers).map(str::to_owned);
        let named = named.or_else(|| json::value(leg, self.identity.json.as_deref()?));
        if let Some(name) = named {
            self.rename(node, leg, &name);
        }
    }

    /// The value of the configured header.
    fn configured<'a>(&self, fields: &'a Pairs) -> Option<&'a str> {
        recorded(fields, self.identity.header.as_ref()?.as_str()).and_then(usable)
    }

    fn rename(&self, node: &Node, leg: &mut Leg, name: &str) {
        let Some(name) = usable(name) else { return };
        if leg.node == name || !self.takes(name) {
            return;
        }
        leg.node = name.to_owned();
        set(&mut leg.labels, ADDRESS, node.authority.to_string());
    }

    /// Whether `name` is among the names that are taken.
    fn takes(&self, name: &str) -> bool {
        // A set of names: a thread that died with the lock held left it whole.
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) {
            return true;
        }
        if names.len() < NAMES {
            names.insert(name.to_owned());
            if names.len() == NAMES {
                tracing::warn!(name, "answers name {NAMES} nodes: further names are not taken");
            }
            return true;
        }
        false
    }
}

/// The value of a header or trailer as it is recorded, unless it is a secret.
fn recorded<'a>(fields: &'a Pairs, name: &str) -> Option<&'a str> {
    exchange::leg::header(fields, name).filter(|value| *value != REDACTED)
}

/// The value without space around it, if a name or a label may be so.
pub(crate) fn usable(value: &str) -> Option<&str> {
    let value = value.trim();
    let sound = (1..=LONGEST).contains(&value.len()) && !value.chars().any(char::is_control);
    sound.then_some(value)
}

/// Sets a label; labels stay sorted by name.
pub(crate) fn set(labels: &mut Pairs, name: &str, value: String) {
    match labels.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
        Ok(at) => labels[at].1 = value,
        Err(at) => labels.insert(at, (name.to_owned(), value)),
    }
}

#[cfg(test)]
mod tests;
