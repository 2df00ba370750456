//! One deployment: its nodes, how they are reached and how requests are spread over them.

use std::time::Duration;

use exchange::Role;
use http::HeaderName;

use super::{ClientTls, Identity, Node, Rewrite};

/// By default: a GiB in that time is 0.3 MiB a second, and a client that sends a byte now and then is no upload.
const UPLOAD: Duration = Duration::from_secs(3600);

/// One deployment: a set of nodes that serve the same thing.
#[derive(Debug, Clone)]
pub struct Target {
    /// Name in records and metrics.
    pub name: String,
    /// Its nodes, at least one.
    pub nodes: Vec<Node>,
    /// How requests are spread over the nodes.
    pub balance: Balance,
    /// Passes over nodes that keep failing; none never does, so that every failure is data.
    pub eject: Option<Ejection>,
    /// Requests under way at once; on the primary more are answered 503, on a shadow more wait. None has no bound of its own.
    pub inflight: Option<usize>,
    /// Connections to each node at once, of all workers; a request for which none is free waits for one. None has no bound.
    pub connections: Option<usize>,
    /// How long the body of a client's request to it may take, from the receipt of its head; a gRPC call has none but its own. Looked
    /// at on the primary only. None has no bound.
    pub upload_timeout: Option<Duration>,
    /// Deadline of the head of the answer, from dispatch.
    pub first_byte_timeout: Option<Duration>,
    /// Deadline of the last byte of the answer, from dispatch.
    pub total_timeout: Option<Duration>,
    /// Deadline of making a connection, its TLS handshake included.
    pub connect_timeout: Duration,
    /// How long an idle connection is kept: below the 5 s after which common servers close theirs.
    pub idle_timeout: Duration,
    /// How often the names of nodes are resolved again.
    pub resolve_every: Duration,
    /// What the `Host` header (`:authority` in HTTP/2) says.
    pub host: HostPolicy,
    /// Which HTTP the nodes are spoken to in.
    pub protocol: Protocol,
    /// What is changed of requests on their way to it.
    pub rewrite: Rewrite,
    /// How `https` nodes are verified, and who the proxy says it is.
    pub tls: ClientTls,
    /// What the nodes are called and what is known of them.
    pub identity: Identity,
}

impl Target {
    /// A target with the defaults for everything but its name and nodes: no deadline but those of the connection and of uploads.
    #[must_use]
    pub fn new(name: impl Into<String>, nodes: Vec<Node>) -> Self {
        Self {
            name: name.into(),
            nodes,
            balance: Balance::default(),
            eject: None,
            inflight: None,
            connections: None,
            upload_timeout: Some(UPLOAD),
            first_byte_timeout: None,
            total_timeout: None,
            connect_timeout: Duration::from_secs(2),
            idle_timeout: Duration::from_secs(4),
            resolve_every: Duration::from_secs(5),
            host: HostPolicy::default(),
            protocol: Protocol::default(),
            rewrite: Rewrite::default(),
            tls: ClientTls::default(),
            identity: Identity::default(),
        }
    }
}

/// A deployment that gets copies.
#[derive(Debug, Clone)]
pub struct Shadow {
    /// The deployment.
    pub target: Target,
    /// What it is for.
    pub role: Role,
}

/// How requests are spread over the nodes of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Balance {
    /// One after the other.
    #[default]
    RoundRobin,
    /// The one of two random nodes with fewer requests under way (Mitzenmacher, "The Power of Two Choices in Randomized
    /// Load Balancing", IEEE TPDS 12(10), 2001).
    LeastOfTwo,
    /// By the value of a header: one value goes to one node while the nodes stay (rendezvous hashing: Thaler and Ravishankar,
    /// IEEE/ACM ToN 6(1), 1998). Requests without it go round robin.
    Hash(HeaderName),
}

/// When a node is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ejection {
    /// Failures in a row (refused, reset, timed out, broken off) after which it is.
    pub failures: u32,
    /// For how long the first time; the n-th time in a row n times as long, at most ten times.
    pub time: Duration,
}

/// What a target sees in `Host`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HostPolicy {
    /// What the client sent.
    #[default]
    Preserve,
    /// The authority of the node.
    Node,
    /// A fixed name.
    Fixed(http::uri::Authority),
}

/// Which HTTP a target is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/2 for gRPC, HTTP/1.1 for everything else.
    #[default]
    Auto,
    /// HTTP/1.1 always.
    Http1,
    /// HTTP/2 always: with prior knowledge on plain nodes, by ALPN on `https` ones.
    Http2,
}
