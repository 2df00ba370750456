//! What a server reports of its own load in the head or the trailers of an answer.
//!
//! Two things are read: how busy the server says it is, from an ORCA report (Open Request Cost Aggregation:
//! `xds.data.orca.v3.OrcaLoadReport` of cncf/xds, gRFC A51), and how long the request waited in the server's own queue, from
//! `x-queue-time` (text-generation-inference) or `Server-Timing` (W3C). A report is made when the answer is,
//! so it is no measure of the load that the request met; the proxy's own counts are.
//!
//! What cannot be read is not guessed at: the text stays as it came, the number is absent.

mod report;
mod timing;

use exchange::{Leg, Pairs};

use crate::redact::REDACTED;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reported {
    /// The ORCA report as it came.
    pub(crate) load: Option<String>,
    /// Wait in the server's queue, µs.
    pub(crate) queue_us: Option<i64>,
    /// Application utilization where it is told and above 0, else that of the processors (gRFC A58); 1 is full.
    pub(crate) utilization: Option<f64>,
}

impl Reported {
    /// Reads headers or trailers, names in lower case.
    pub(crate) fn of(pairs: &Pairs) -> Self {
        let mut found = report::Found::default();
        let (mut queue_time, mut server_timing) = (None, None);
        for (name, value) in pairs.iter().filter(|(_, value)| value != REDACTED) {
            match name.as_str() {
                "x-queue-time" => queue_time = queue_time.or_else(|| timing::microseconds(value)),
                "server-timing" => server_timing = server_timing.or_else(|| timing::queue(value)),
                name => found.take(name, value),
            }
        }
        let (load, utilization) = found.read();
        Self { load, queue_us: queue_time.or(server_timing), utilization }
    }

    /// Notes in `leg` what its headers and trailers report; trailers come last and go before.
    pub(crate) fn note(leg: &mut Leg) {
        let (head, tail) = (Self::of(&leg.headers), Self::of(&leg.trailers));
        let last = if tail.load.is_some() { &tail } else { &head };
        (leg.reported_load, leg.reported_utilization) = (last.load.clone(), last.utilization);
        leg.reported_queue_us = tail.queue_us.or(head.queue_us);
    }
}

#[cfg(test)]
mod tests;
