//! What a run of load came to: counts, latencies, failures by kind.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::{LoadError, Step};

/// Latencies above are counted as this; far beyond a worker's patience.
const LONGEST_US: u64 = 120_000_000;

/// How a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The server could not be reached.
    Connect,
    /// The connection broke before or within the answer.
    Broken,
    /// No answer in time.
    Timeout,
    /// An answer with another status than 200.
    Status(u16),
    /// Status 200, but not JSON or another request's `id`.
    Answer,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => f.write_str("no connection"),
            Self::Broken => f.write_str("connection broke"),
            Self::Timeout => f.write_str("timed out"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Answer => f.write_str("not an answer to the request"),
        }
    }
}

/// The outcome of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    /// What was asked for.
    pub step: Step,
    /// Requests answered as they should.
    pub answered: u64,
    /// The others, by kind; `answered` and these make `step.requests`.
    pub failures: BTreeMap<Failure, u64>,
    /// Median latency of those answered, to three digits; zero when there is none.
    pub p50: Duration,
    /// 99th percentile of the latency of those answered, to three digits; zero when there is none.
    pub p99: Duration,
    /// From the first request to the last answer.
    pub elapsed: Duration,
}

impl StepReport {
    /// Number of requests that failed in any way.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

/// The outcome of all steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReport {
    /// In the order they ran.
    pub steps: Vec<StepReport>,
}

impl LoadReport {
    /// Requests answered as they should, in all steps.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.steps.iter().map(|step| step.answered).sum()
    }

    /// Requests that failed in any way, in all steps.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.steps.iter().map(StepReport::failed).sum()
    }
}

/// A worker's own count; those of a step are added up at its end.
#[derive(Debug)]
pub(super) struct Tally {
    latency_us: Histogram<u64>,
    failures: BTreeMap<Failure, u64>,
}

impl Tally {
    pub(super) fn new() -> Result<Self, LoadError> {
        let latency_us = Histogram::new_with_bounds(1, LONGEST_US, 3).map_err(|error| internal(&error))?;
        Ok(Self { latency_us, failures: BTreeMap::new() })
    }

    pub(super) fn answered(&mut self, latency: Duration) {
        self.latency_us.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(LONGEST_US));
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        *self.failures.entry(failure).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) -> Result<(), LoadError> {
        self.latency_us.add(&other.latency_us).map_err(|error| internal(&error))?;
        for (&failure, count) in &other.failures {
            *self.failures.entry(failure).or_default() += count;
        }
        Ok(())
    }

    pub(super) fn report(self, step: Step, elapsed: Duration) -> StepReport {
        let at = |share| Duration::from_micros(self.latency_us.value_at_quantile(share));
        StepReport {
            step,
            answered: self.latency_us.len(),
            p50: at(0.5),
            p99: at(0.99),
            failures: self.failures,
            elapsed,
        }
    }
}

fn internal(error: &dyn fmt::Display) -> LoadError {
    LoadError::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up() {
        let (mut one, mut other) = (Tally::new().unwrap(), Tally::new().unwrap());
        (1..=98).for_each(|ms| one.answered(Duration::from_millis(ms)));
        other.answered(Duration::from_millis(99));
        other.answered(Duration::from_secs(1_000_000));
        one.failed(Failure::Timeout);
        other.failed(Failure::Timeout);
        other.failed(Failure::Status(503));
        one.add(&other).unwrap();
        let report = one.report(Step { concurrency: 1, requests: 103 }, Duration::from_secs(1));
        assert_eq!((report.answered, report.failed()), (100, 3));
        assert_eq!(report.failures, BTreeMap::from([(Failure::Timeout, 2), (Failure::Status(503), 1)]));
        // Values keep three digits: 50 ms may read up to 50.1.
        assert!((50_000..50_100).contains(&report.p50.as_micros()), "{:?}", report.p50);
        assert!((99_000..99_200).contains(&report.p99.as_micros()), "{:?}", report.p99);
    }

    #[test]
    fn no_answers_have_no_latency() {
        let report = Tally::new().unwrap().report(Step { concurrency: 1, requests: 0 }, Duration::ZERO);
        assert_eq!((report.answered, report.p50, report.p99), (0, Duration::ZERO, Duration::ZERO));
    }
}
