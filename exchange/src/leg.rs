//! One leg of an exchange: what one deployment was sent and what came back.

use crate::{Body, Outcome};

/// Names and values in order; names may repeat.
pub type Pairs = Vec<(String, String)>;

/// What a shadow deployment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// The deployment under test.
    #[default]
    Candidate,
    /// A second copy of the primary's own version: the noise floor.
    Control,
}

impl Role {
    /// The name used in columns and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Control => "control",
        }
    }
}

/// The protocol of an answer on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

impl HttpVersion {
    /// All versions.
    pub const ALL: [Self; 3] = [Self::Http10, Self::Http11, Self::Http2];

    /// `1.0`, `1.1` or `2`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "1.0",
            Self::Http11 => "1.1",
            Self::Http2 => "2",
        }
    }
}

/// What one deployment did with the request. Times are from a monotonic clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Leg {
    /// The node's identity: the address dialled (`host:port`), empty when none was chosen.
    pub node: String,
    /// Labels of the node (GPU, driver, …), sorted by name.
    pub labels: Pairs,
    /// HTTP status, when the head of an answer came.
    pub status: Option<u16>,
    /// Status of a gRPC call (0 is OK): of its trailers, or of its head where that is all that came.
    pub grpc_status: Option<u32>,
    /// Protocol of the answer on the wire, when the head of an answer came.
    pub http_version: Option<HttpVersion>,
    /// How the leg ended.
    pub outcome: Outcome,
    /// What went wrong, for people; empty when answered.
    pub reason: String,
    /// Receipt of the request's head to dispatch on this leg, µs.
    pub queued_us: Option<i64>,
    /// Dispatch to the head of the answer, µs.
    pub first_byte_us: Option<i64>,
    /// Dispatch to the last byte of the answer, or to the failure, µs.
    pub latency_us: Option<i64>,
    /// Requests of this leg under way on this node at dispatch, this one not counted.
    pub inflight: u32,
    /// Requests of this leg under way on all its nodes at dispatch, this one not counted.
    pub inflight_total: Option<u32>,
    /// Most requests of this leg under way on this node at once while this one was, this one not counted.
    pub inflight_peak: Option<u32>,
    /// Arrivals per second on this (leg, node) before this one: shot noise, time constant 1 s.
    pub rate_1s: f64,
    /// The same with a time constant of 10 s.
    pub rate_10s: f64,
    /// The server's own load report (an ORCA `endpoint-load-metrics` header), as it came.
    pub reported_load: Option<String>,
    /// How long the request waited in the server's own queue, as the server says, µs.
    pub reported_queue_us: Option<i64>,
    /// How busy the server says it is, 1 is full: ORCA's application utilization, or else that of its processors.
    pub reported_utilization: Option<f64>,
    /// Local address of the upstream connection.
    pub connection: Option<String>,
    /// Whether that connection had carried a request before.
    pub reused: Option<bool>,
    /// Number of the request on that connection, from 0.
    pub stream: Option<u64>,
    /// How often the request was sent (2 after one replay on a stale connection), 0 when never.
    pub attempts: u32,
    /// Headers of the answer, secrets replaced.
    pub headers: Pairs,
    /// Trailers of the answer, secrets replaced, in the order they came.
    pub trailers: Pairs,
    /// Body of the answer.
    pub body: Body,
}

impl Leg {
    /// A leg that ended before anything was sent.
    #[must_use]
    pub fn unsent(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self {
            node: String::new(),
            labels: Vec::new(),
            status: None,
            grpc_status: None,
            http_version: None,
            outcome,
            reason: reason.into(),
            queued_us: None,
            first_byte_us: None,
            latency_us: None,
            inflight: 0,
            inflight_total: None,
            inflight_peak: None,
            rate_1s: 0.0,
            rate_10s: 0.0,
            reported_load: None,
            reported_queue_us: None,
            reported_utilization: None,
            connection: None,
            reused: None,
            stream: None,
            attempts: 0,
            headers: Vec::new(),
            trailers: Vec::new(),
            body: Body::default(),
        }
    }

    /// The value of the first header of that (lower-case) name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

/// The value of the first pair whose name equals `name` without regard to case.
#[must_use]
pub fn header<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
