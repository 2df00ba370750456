//! Validated configuration of the proxy. Text becomes these types in the `cli`; here every value is already
//! usable, and what two values say about each other is checked by [`Config::validate`].

mod fraction;
pub mod identity;
mod inference;
mod node;
pub mod redaction;
pub mod rewrite;
mod route;
mod sampling;
mod target;
mod tls;
mod traces;

use std::sync::Arc;
use std::time::Duration;

use crate::resolve::Resolve;

pub use fraction::{Fraction, FractionError};
pub use identity::{Identity, Probe};
pub use node::{Node, NodeError};
pub use redaction::{Redaction, RedactionError};
pub use rewrite::{Rewrite, RewriteError};
pub use route::{PathRule, Route, RouteError};
pub use sampling::{By, Cap, Sampling, Schedule, Update, UpdateError, describe};
pub use target::{Balance, Ejection, HostPolicy, Protocol, Shadow, Target};
pub use tls::{ClientTls, ServerTls, TlsError, Verify};
pub use traces::Traces;

/// All that the proxy needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// Name of this proxy in records; unique among the proxies that write to one topic or folder.
    pub name: String,
    /// Name of the first run.
    pub run: String,
    /// How clients are served.
    pub listener: Listener,
    /// Where the client's answer comes from.
    pub primary: Target,
    /// Where copies go.
    pub shadows: Vec<Shadow>,
    /// Which requests are mirrored, at first.
    pub sampling: Sampling,
    /// Bounds of the mirror.
    pub limits: Limits,
    /// Names of headers and query parameters whose values are secret, besides the built-in ones.
    pub secrets: Vec<String>,
    /// What of a request or an answer may leave the process.
    pub redaction: Redaction,
    /// How often the ledger is published.
    pub ledger_every: Duration,
    /// Traces of mirrored requests; none makes none.
    pub traces: Option<Traces>,
    /// What resolves the names of nodes.
    pub resolver: Arc<dyn Resolve>,
    /// How long an orderly stop may take before what is in flight is cut.
    pub drain: Duration,
}

/// How clients are served.
#[derive(Debug, Clone)]
pub struct Listener {
    /// Certificate and key to serve TLS with; none serves plain HTTP.
    pub tls: Option<ServerTls>,
    /// Largest head of a request, bytes; more is answered 431.
    pub head_bytes: usize,
    /// How long a client may take to send the head of a request, or keep a connection idle: longer than clients keep theirs.
    pub head_timeout: Duration,
    /// Requests of one HTTP/2 connection under way at once.
    pub streams: u32,
}

impl Default for Listener {
    fn default() -> Self {
        Self { tls: None, head_bytes: 64 << 10, head_timeout: Duration::from_secs(120), streams: 1024 }
    }
}

/// Bounds of the mirror and of what the proxy holds.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Client connections; more wait to be accepted.
    pub connections: usize,
    /// Exchanges under way, those that wait for a slow shadow included; more are shed, the newest first.
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
            mirror_inflight: 8192,
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
    /// A target that may have no request under way.
    #[error("max_inflight or max_connections of {0} is 0, which lets nothing through")]
    NoInflight(String),
    /// A place in a JSON answer that is none.
    #[error("`{0}` of {1} is no JSON Pointer: write /FIELD/FIELD or leave it empty for the whole answer")]
    Pointer(String, String),
    /// A label of nodes without a name.
    #[error("a label of the nodes of {0} has no name")]
    NoLabelName(String),
    /// A certificate, key or bundle that is none.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A message bound too small for the facts beside the bodies.
    #[error("max message size {0} is too small: at least 16384 bytes")]
    MessageTooSmall(usize),
    /// Rules for what may leave that cannot be kept.
    #[error(transparent)]
    Redaction(#[from] RedactionError),
    /// Changes to requests that cannot be made.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
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
            target.rewrite.validate(&target.name)?;
            let times = [
                (Some(target.connect_timeout), "connect timeout"),
                (target.upload_timeout, "upload timeout"),
                (target.first_byte_timeout, "first byte timeout"),
                (target.total_timeout, "total timeout"),
            ];
            for (timeout, what) in times {
                if timeout.is_some_and(|timeout| timeout.is_zero()) {
                    return Err(ConfigError::NoTime(what, target.name.clone()));
                }
            }
            target.identity.validate(&target.name)?;
            for (at, node) in target.nodes.iter().enumerate() {
                if target.nodes[..at].iter().any(|earlier| earlier.name == node.name) {
                    return Err(ConfigError::Twice(format!("node {} of {}", node.name, target.name)));
                }
            }
        }
        if let Some(target) =
            targets().find(|target| target.inflight == Some(0) || target.connections == Some(0))
        {
            return Err(ConfigError::NoInflight(target.name.clone()));
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
        self.redaction.validate(self.sampling.routes.iter().map(|route| route.name.as_str()))?;
        Ok(())
    }
}
