//! What a node is called and what is known of it, besides its address.

use std::time::Duration;

pub use http::HeaderName;
pub use http::uri::PathAndQuery;

use super::ConfigError;

/// Where the answers of a target, or the nodes themselves, say which node served and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// A header, or a trailer, of the answer that names the node.
    pub header: Option<HeaderName>,
    /// Where a JSON answer names the node: a JSON Pointer (RFC 6901). A header goes before it.
    pub json: Option<String>,
    /// Whether fields that are known to name what served are looked at where neither of those does.
    pub known: bool,
    /// Labels of the node that headers of the answer give: name of the label, then of the header.
    pub label_headers: Vec<(String, HeaderName)>,
    /// What the nodes are asked for labels, beside the requests and never in their way.
    pub probes: Vec<Probe>,
    /// How often they are asked.
    pub probe_every: Duration,
}

impl Default for Identity {
    /// The address dialled, known fields, and no questions.
    fn default() -> Self {
        Self {
            header: None,
            json: None,
            known: true,
            label_headers: Vec::new(),
            probes: Vec::new(),
            probe_every: Duration::from_secs(60),
        }
    }
}

/// A question to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// The server metadata of the Open Inference Protocol, over HTTP (`GET /v2`) or gRPC (`ServerMetadata`): labels
    /// `server` and `server_version`.
    Metadata,
    /// A path whose JSON answer has labels in it.
    Json {
        /// Asked for with GET.
        path: PathAndQuery,
        /// Name of the label, then the JSON Pointer (RFC 6901) to its value.
        labels: Vec<(String, String)>,
    },
}

impl Identity {
    /// Checks what the target `target` says of its nodes.
    ///
    /// # Errors
    /// A pointer that is none, a label without a name, or no time between two questions.
    pub(super) fn validate(&self, target: &str) -> Result<(), ConfigError> {
        let in_probes = self.probes.iter().flat_map(|probe| match probe {
            Probe::Metadata => &[],
            Probe::Json { labels, .. } => labels.as_slice(),
        });
        let pointers = self.json.iter().chain(in_probes.clone().map(|(_, pointer)| pointer));
        for pointer in pointers {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return Err(ConfigError::Pointer(pointer.clone(), target.to_owned()));
            }
        }
        let mut names =
            self.label_headers.iter().map(|(name, _)| name).chain(in_probes.map(|(name, _)| name));
        if names.any(String::is_empty) {
            return Err(ConfigError::NoLabelName(target.to_owned()));
        }
        if self.probe_every.is_zero() {
            return Err(ConfigError::NoTime("time between two probes", target.to_owned()));
        }
        Ok(())
    }
}
