//! A request through every leg before anything is served: which nodes are reached, how, and what a target really receives.
//!
//! Sent by the same code that sends clients' requests and copies, with the changes of each target. What arrives is seen on a
//! loop-back address that stands in for the target's first node. Nothing is recorded, and no secret is told.

mod loopback;
mod probe;
mod text;

use std::net::SocketAddr;

use bytes::Bytes;
use exchange::Pairs;
use http::header::{CONTENT_LENGTH, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use serde::Serialize;

use crate::config::{Config, ConfigError, Target};
use crate::grpc;
use crate::head::Head;
use crate::redact::Redaction;
use crate::upstream::Upstream;

/// Marks the requests of a self-test, those to the primary too.
pub const MARK: HeaderName = HeaderName::from_static("x-shadowdiff-self-test");

/// What is asked of each node.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Method.
    pub method: Method,
    /// Path and query, as a client would send them.
    pub path: PathAndQuery,
    /// Headers, `host` where it matters to the targets.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Whether every node of every leg passed.
    pub ok: bool,
    /// The legs, the primary first.
    pub legs: Vec<LegFindings>,
}

/// What was found of one leg.
#[derive(Debug, Serialize)]
pub struct LegFindings {
    /// Name of the target.
    pub target: String,
    /// `primary`, `candidate` or `control`.
    pub role: &'static str,
    /// Whether every node passed, and there is one.
    pub ok: bool,
    /// Its nodes.
    pub nodes: Vec<NodeFindings>,
    /// What arrives at a node, as seen on a loop-back address; `None` when that could not be seen.
    pub received: Option<Received>,
}

/// What was found of one node.
#[derive(Debug, Serialize)]
pub struct NodeFindings {
    /// Its name in records.
    pub node: String,
    /// Whether it passed: it answered, and to a configured request with a status below 400.
    pub ok: bool,
    /// The address that was reached.
    pub address: Option<SocketAddr>,
    /// Addresses that its name resolves to.
    pub addresses: Vec<SocketAddr>,
    /// How the connection is secured; `None` when it is not, or was not made.
    pub tls: Option<TlsFindings>,
    /// `HTTP/1.1` or `HTTP/2.0`, when it answered.
    pub http: Option<String>,
    /// Method and path that were asked last, before the changes of the target.
    pub asked: String,
    /// Status of its answer.
    pub status: Option<u16>,
    /// Time to the head of the answer, connecting included, microseconds.
    pub latency_us: i64,
    /// The beginning of a textual answer, secrets replaced.
    pub answer: Option<String>,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// How a connection is secured.
#[derive(Debug, Clone, Serialize)]
pub struct TlsFindings {
    /// Whether the node's certificate was verified.
    pub verified: bool,
    /// Version of the protocol, such as `TLSv1_3`.
    pub version: String,
    /// Protocol agreed on by ALPN.
    pub alpn: Option<String>,
}

/// A request as it arrived.
#[derive(Debug, Serialize)]
pub struct Received {
    /// Method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// `HTTP/1.1` or `HTTP/2.0`.
    pub http: String,
    /// Headers in the order they came, secrets replaced.
    pub headers: Pairs,
    /// Length of the body, bytes.
    pub body_bytes: usize,
}

impl Findings {
    /// As JSON, for programs.
    #[must_use]
    pub fn json(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("strings, numbers and lists have a JSON form");
        json + "\n"
    }
}

impl Default for Ask {
    /// The readiness of the Open Inference Protocol.
    fn default() -> Self {
        Self::get("/v2/health/ready")
    }
}

impl Ask {
    fn get(path: &'static str) -> Self {
        let path = PathAndQuery::from_static(path);
        Self { method: Method::GET, path, headers: HeaderMap::new(), body: Bytes::new() }
    }

    fn head(&self) -> Head {
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::from(self.path.clone());
        *request.headers_mut() = self.headers.clone();
        if grpc::is_message(&self.headers) {
            *request.version_mut() = Version::HTTP_2;
        }
        let headers = request.headers_mut();
        headers.insert(MARK, HeaderValue::from_static("1"));
        if !headers.contains_key(USER_AGENT) {
            headers.insert(USER_AGENT, HeaderValue::from_static("shadowdiff-self-test"));
        }
        if !self.body.is_empty() {
            headers.insert(CONTENT_LENGTH, self.body.len().into());
        }
        Head::new(request.into_parts().0, self.body.is_empty())
    }
}

/// Asks every node of every target of a configuration. Without an `ask` it is `GET /v2/health/ready`, then `GET /` where that is
/// refused, and any answer will do.
///
/// # Errors
/// When the configuration contradicts itself.
pub async fn self_test(config: &Config, ask: Option<Ask>) -> Result<Findings, ConfigError> {
    config.validate()?;
    let own = ask.is_some();
    let asks = ask.map_or_else(|| vec![Ask::default(), Ask::get("/")], |ask| vec![ask]);
    let redaction = Redaction::new(config.redaction.clone(), &config.secrets, config.limits.body);
    let shadows = config.shadows.iter().map(|shadow| (&shadow.target, shadow.role.as_str()));
    let mut legs = Vec::new();
    for (target, role) in std::iter::once((&config.primary, "primary")).chain(shadows) {
        legs.push(leg(config, target, role, &asks, own, &redaction).await?);
    }
    Ok(Findings { ok: legs.iter().all(|leg| leg.ok), legs })
}

async fn leg(
    config: &Config,
    target: &Target,
    role: &'static str,
    asks: &[Ask],
    own: bool,
    redaction: &Redaction,
) -> Result<LegFindings, ConfigError> {
    let upstream = Upstream::new(target.clone(), 1, config.resolver.clone())?;
    upstream.resolve().await;
    let arrived = match asks.first() {
        Some(ask) => loopback::arrived(target, config.resolver.clone(), ask).await?,
        None => None,
    };
    let received = arrived.as_ref().map(|arrived| arrived.told(redaction));
    let secrets = arrived.as_ref().map(|arrived| arrived.secrets(redaction));
    let mut nodes = Vec::new();
    for node in upstream.nodes.current().iter() {
        nodes.push(probe::node(&upstream, node, asks, own, secrets.as_deref()).await);
    }
    let ok = !nodes.is_empty() && nodes.iter().all(|node| node.ok);
    Ok(LegFindings { target: target.name.clone(), role, ok, nodes, received })
}
