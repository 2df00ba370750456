//! The contract between the stages: one [`Exchange`] is one client request as it was answered by the
//! primary deployment and by one shadow; a [`Ledger`] is a proxy's own account of what it mirrored.
//!
//! Owns the types, their versioned wire form for Kafka ([`wire`]) and their columns in Parquet
//! ([`columns`]). It does no I/O and knows neither HTTP stacks nor Kafka clients nor file writers.
//!
//! Modules, top down: [`columns`] and [`wire`] use [`ledger`] and [`leg`], which use [`outcome`] and [`body`].

pub mod body;
pub mod columns;
pub mod ledger;
pub mod leg;
pub mod outcome;
pub mod wire;

pub use body::Body;
pub use ledger::{DropReason, Item, Ledger, LedgerItem, SkipReason};
pub use leg::{HttpVersion, Leg, Pairs, Role};
pub use outcome::{Ending, Outcome};
pub use uuid::Uuid;

/// One request, the primary's answer and one shadow's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Unique id (UUID version 7, so ids sort by time).
    pub id: Uuid,
    /// Name of the run: one start of one proxy, or a name the operator gave.
    pub run: String,
    /// Name of the proxy that made the record.
    pub proxy: String,
    /// Number of this exchange within (proxy, run), from 0, without gaps.
    pub sequence: u64,
    /// What the client sent.
    pub request: Request,
    /// The leg whose answer the client got.
    pub primary: Leg,
    /// The leg that got the copy.
    pub shadow: Leg,
    /// Configured name of the shadow target, such as `candidate`.
    pub shadow_target: String,
    /// Whether the shadow is under test or a same-version control.
    pub shadow_role: Role,
}

/// The client's request, secrets removed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// `x-request-id` or an equivalent header of the client's.
    pub id: Option<String>,
    /// Trace id of a W3C `traceparent` header (32 hex digits).
    pub trace_id: Option<String>,
    /// When the head of the request had arrived, microseconds since the Unix epoch.
    pub received_at_us: i64,
    /// HTTP method.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// Query string with secret values replaced.
    pub query: Option<String>,
    /// Name of the configured route that matched.
    pub route: String,
    /// Number of the client's connection within this proxy's run.
    pub client_connection: u64,
    /// Headers, secrets replaced, in the order they came.
    pub headers: Pairs,
    /// The body as captured.
    pub body: Body,
}
