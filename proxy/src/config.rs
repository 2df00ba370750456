//! Validated configuration of the proxy. Text becomes these types in the `cli`; here every value is already
//! usable, and what two values say about each other is checked by [`Config::validate`].

mod fraction;
mod node;

use std::time::Duration;

use exchange::Role;
use http::{HeaderName, Method};

pub use fraction::{Fraction, FractionError};
pub use node::{Node, NodeError};

/// All that the proxy needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// Name of this proxy in records; unique among the proxies that write to one topic or folder.
    pub name: String,
    /// Name of the run.
    pub run: String,
    /// Where the client's answer comes from.
    pub primary: Target,
    /// Where copies go.
    pub shadows: Vec<Shadow>,
    /// Which requests may be mirrored; the first route that matches decides, no match means not mirrored.
    pub routes: Vec<Route>,
    /// How a request is chosen among those that may be mirrored.
    pub sampling: Sampling,
    /// Bounds of the mirror.
    pub limits: Limits,
    /// Names of headers and query parameters whose values are secret, besides the built-in ones.
    pub secrets: Vec<String>,
    /// How often the ledger is published.
    pub ledger_every: Duration,
    /// How long an orderly stop may take before what is in flight is cut.
    pub drain: Duration,
}

/// One deployment: a set of nodes that serve the same thing.
#[derive(Debug, Clone)]
pub struct Target {
    /// Name in records and metrics.
    pub name: String,
    /// Its nodes, at least one; requests go round robin.
    pub nodes: Vec<Node>,
    /// Deadline of the answer: to its head on the primary, to its last byte on a shadow.
    pub timeout: Duration,
    /// Deadline of making a connection.
    pub connect_timeout: Duration,
    /// How long an idle connection is kept: below the 5 s after which common servers close theirs.
    pub idle_timeout: Duration,
    /// What the `Host` header says.
    pub host: HostPolicy,
}

/// A deployment that gets copies.
#[derive(Debug, Clone)]
pub struct Shadow {
    /// The deployment.
    pub target: Target,
    /// What it is for.
    pub role: Role,
}

/// What a target sees in `Host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostPolicy {
    /// What the client sent.
    #[default]
    Preserve,
    /// The authority of the node.
    Node,
}

/// A rule that says which requests may be mirrored.
#[derive(Debug, Clone)]
pub struct Route {
    /// Name in records.
    pub name: String,
    /// Methods it matches; empty matches all.
    pub methods: Vec<Method>,
    /// Prefix of the paths it matches.
    pub path_prefix: String,
    /// Whether requests that match may be mirrored.
    pub mirror: bool,
    /// Its own fraction instead of the general one.
    pub sample: Option<Fraction>,
}

impl Default for Route {
    /// Every POST: inference is a POST in all served protocols, and health or metadata reads are not worth a copy.
    fn default() -> Self {
        Self {
            name: "default".into(),
            methods: vec![Method::POST],
            path_prefix: "/".into(),
            mirror: true,
            sample: None,
        }
    }
}

/// How requests are chosen.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// Share of requests that get a copy.
    pub fraction: Fraction,
    /// Choose by the hash of this header, so that one value is always or never mirrored, on every proxy.
    /// Requests without the header are chosen as if there were no such rule.
    pub by_header: Option<HeaderName>,
    /// Seed of the choice.
    pub seed: u64,
}

/// Bounds of the mirror and of what the proxy holds.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Client connections; more wait to be accepted.
    pub connections: usize,
    /// Exchanges under way; more are shed.
    pub mirror_inflight: usize,
    /// Bytes of captured bodies held; more are shed.
    pub mirror_bytes: usize,
    /// Bytes captured of one body.
    pub body: usize,
    /// Bytes of one published message; bodies are cut to fit.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            mirror_inflight: 1024,
            mirror_bytes: 256 << 20,
            body: 8 << 20,
            message: 1_000_000,
        }
    }
}

/// Settings that contradict each other.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigError {
    /// A target has no node.
    #[error("{0} has no node: give at least one URL")]
    NoNode(String),
    /// Two targets, or two nodes of one, have the same name.
    #[error("{0} is named twice: names tell records apart")]
    Twice(String),
    /// No shadow at all.
    #[error("no candidate: give --candidate URL or a [[shadow]] table")]
    NoShadow,
    /// A bound that lets nothing through.
    #[error("{0} is 0, which lets nothing through")]
    Zero(&'static str),
    /// A deadline that has passed before anything is sent.
    #[error("the {0} of {1} is 0, in which nothing is answered: give milliseconds")]
    NoTime(&'static str, String),
    /// A message bound too small for the facts beside the bodies.
    #[error("max message size {0} is too small: at least 16384 bytes")]
    MessageTooSmall(usize),
}

impl Config {
    /// Checks what no single value can say.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.shadows.is_empty() {
            return Err(ConfigError::NoShadow);
        }
        let targets = || std::iter::once(&self.primary).chain(self.shadows.iter().map(|s| &s.target));
        for (index, target) in targets().enumerate() {
            if target.nodes.is_empty() {
                return Err(ConfigError::NoNode(target.name.clone()));
            }
            if targets().take(index).any(|earlier| earlier.name == target.name) {
                return Err(ConfigError::Twice(target.name.clone()));
            }
            for (timeout, what) in [(target.timeout, "timeout"), (target.connect_timeout, "connect timeout")]
            {
                if timeout.is_zero() {
                    return Err(ConfigError::NoTime(what, target.name.clone()));
                }
            }
            for (at, node) in target.nodes.iter().enumerate() {
                if target.nodes[..at].iter().any(|earlier| earlier.name == node.name) {
                    return Err(ConfigError::Twice(format!("node {} of {}", node.name, target.name)));
                }
            }
        }
        let limits = &self.limits;
        let zeros = [
            (limits.connections, "max connections"),
            (limits.mirror_inflight, "max mirrored requests in flight"),
            (limits.mirror_bytes, "max mirrored bytes"),
            (limits.body, "body capture cap"),
        ];
        if let Some((_, name)) = zeros.into_iter().find(|(value, _)| *value == 0) {
            return Err(ConfigError::Zero(name));
        }
        if limits.message < 16_384 {
            return Err(ConfigError::MessageTooSmall(limits.message));
        }
        Ok(())
    }
}
