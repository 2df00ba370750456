//! The result of an analysis as plain data: what every report is made from, and itself the JSON report.
//!
//! Field names carry units (`_us`). A rate always comes with its events, its trials and its Wilson interval.

mod make;
mod reconcile;
mod rows;
mod target;

use std::collections::BTreeMap;

use serde::Serialize;

pub use crate::accumulate::{Example, ScorePoint};
use crate::stats::{Share, wilson};
use crate::verdict::Verdict;
pub(crate) use make::make;
pub use reconcile::{LoadCap, LoadLoss, RunLedger};
pub use rows::{BandRow, ClassRow, Latencies, LatencyRow, LoadRow, NodeRow, PeakRow, TargetSummary, Units};

/// Version of the form of [`Summary`]; it grows when a field changes or goes.
pub const SCHEMA: u32 = 1;

/// All that a report says.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was judged by.
    pub options: Thresholds,
    /// The set as a whole.
    pub set: SetFacts,
    /// The judgement of all candidates.
    pub verdict: Verdict,
    /// Each shadow, candidates first, then by name.
    pub targets: Vec<TargetSummary>,
    /// What the proxies say they did, against the rows that are there.
    pub ledger: Vec<RunLedger>,
}

/// What was judged by.
#[derive(Debug, Clone, Serialize)]
pub struct Thresholds {
    /// Load levels asked for.
    pub load_bins: usize,
    /// Confidence of all intervals.
    pub confidence: f64,
    /// Highest rate of serious divergence that may pass.
    pub min_rate: f64,
}

/// The set as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct SetFacts {
    /// Rows read.
    pub rows: u64,
    /// Rows whose class or outcome has an unknown name: counted, not judged.
    pub unreadable_rows: u64,
    /// Messages that the recorder could not read.
    pub dead_letters: u64,
    /// When the first request came (UTC).
    pub received_from: Option<String>,
    /// When the last request came (UTC).
    pub received_to: Option<String>,
    /// Runs of proxies.
    pub runs: usize,
    /// Hashes of the comparison rules used; more than one means that rows were judged differently.
    pub rules: Vec<String>,
    /// Rules that no pair of answers used, of those that were looked at for it: the first 1,000 of each file.
    pub unused_rules: Vec<String>,
}

/// Events among trials with the Wilson interval of their rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// How many.
    pub events: u64,
    /// Of how many.
    pub trials: u64,
    /// `events / trials`; null without trials.
    pub rate: Option<f64>,
    /// Lower end of the interval.
    pub lower: Option<f64>,
    /// Upper end of the interval.
    pub upper: Option<f64>,
}

impl Rate {
    /// The rate of `share` with its interval at `confidence`.
    #[must_use]
    pub fn new(share: Share, confidence: f64) -> Self {
        let interval = wilson::interval(share, confidence);
        Self {
            events: share.events,
            trials: share.trials,
            rate: share.rate(),
            lower: interval.map(|interval| interval.lower),
            upper: interval.map(|interval| interval.upper),
        }
    }

    /// `1.2 % (0.9 % to 1.5 %)`.
    #[must_use]
    pub fn text(&self) -> String {
        use crate::text::percent;
        format!("{} ({} to {})", percent(self.rate), percent(self.lower), percent(self.upper))
    }
}

/// A name and how often it was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// Labels of a node: name to value.
pub type Labels = BTreeMap<String, String>;
