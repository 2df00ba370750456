//! Traces of mirrored requests, for an OpenTelemetry collector.

use super::{Fraction, Target};

/// Where traces go, and which requests have one.
#[derive(Debug, Clone)]
pub struct Traces {
    /// The collector.
    pub collector: Target,
    /// Path of its receiver, `/v1/traces` in OTLP over HTTP.
    pub path: String,
    /// Share of the mirrored requests without a `traceparent` that begin a trace of their own. Those with one have a trace when its
    /// `sampled` flag is set, and none when it is not.
    pub sample: Fraction,
}
