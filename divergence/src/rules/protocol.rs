//! Which protocol the answers to some requests are of, where neither path nor body shows it.

use serde::{Deserialize, Serialize};

use super::RulesError;
use crate::Protocol;

/// The protocol of the answers to requests of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolRule {
    /// Prefix of the request paths; the longest that fits counts.
    pub request_path: String,
    /// The protocol, by the name that reports give it.
    #[serde(rename = "protocol")]
    pub named: Named,
}

/// A protocol by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Named(pub Protocol);

impl TryFrom<String> for Named {
    type Error = RulesError;

    fn try_from(name: String) -> Result<Self, RulesError> {
        let known = Protocol::NAMED;
        let found = known.into_iter().find(|protocol| protocol.as_str() == name);
        found
            .map(Self)
            .ok_or_else(|| RulesError::Protocol { name, known: known.map(Protocol::as_str).join(", ") })
    }
}

impl From<Named> for String {
    fn from(named: Named) -> Self {
        named.0.as_str().to_owned()
    }
}
