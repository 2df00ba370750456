//! The tables of one shadow, as data.

use serde::Serialize;

use super::{Counted, Example, Labels, Rate, ScorePoint};
use crate::number;

/// One shadow.
#[derive(Debug, Clone, Serialize)]
pub struct TargetSummary {
    /// Configured name.
    pub name: String,
    /// candidate or control.
    pub role: String,
    /// Rows, sent or not.
    pub rows: u64,
    /// Requests sent to it.
    pub sent: u64,
    /// Of these, with two comparable answers: what all rates below are of.
    pub comparable: u64,
    /// Copies never sent, by outcome.
    pub unsent: Vec<Counted>,
    /// Pairs that count against the shadow.
    pub serious: Rate,
    /// Failed on the shadow alone, of those sent.
    pub shadow_failed: Rate,
    /// Failed on the primary alone, of those sent.
    pub primary_failed: Rate,
    /// McNemar's exact p-value of these two.
    pub failed_p: f64,
    /// The e-value of these two, for looking while data come in.
    pub failed_e: f64,
    /// Pairs by class.
    pub classes: Vec<ClassRow>,
    /// By node of the shadow.
    pub nodes: Vec<NodeRow>,
    /// By load: mid-rank bins of the in-flight count on the shadow's node.
    pub loads: Vec<LoadRow>,
    /// By the most requests under way at once on the shadow's node during the pair: mid-rank bins.
    pub peaks: Vec<PeakRow>,
    /// Serious pairs by node (outer, as `nodes`) and load (inner, as `loads`).
    pub heat: Vec<Vec<Rate>>,
    /// By percentile of the primary's latency.
    pub bands: Vec<BandRow>,
    /// Latencies of successful answers.
    pub latency: Latencies,
    /// Largest difference per pair, in units of the tolerance.
    pub tolerance_units: Units,
    /// Rows by how both legs ended, primary first.
    pub outcomes: Vec<Counted>,
    /// Pairs by class and detail.
    pub details: Vec<Counted>,
    /// The worst pairs: by class, within each the largest difference first.
    pub worst: Vec<Example>,
    /// A sample of the scores of serious pairs.
    pub serious_scores: Vec<ScorePoint>,
    /// A sample of the scores of all others.
    pub other_scores: Vec<ScorePoint>,
}

/// One class.
#[derive(Debug, Clone, Serialize)]
pub struct ClassRow {
    /// Name.
    pub class: &'static str,
    /// Pairs of it among those sent.
    pub rate: Rate,
}

/// One node.
#[derive(Debug, Clone, Serialize)]
pub struct NodeRow {
    /// Name: the address dialled, unless configured otherwise.
    pub node: String,
    /// Its labels; the most frequent set when they changed.
    pub labels: Labels,
    /// How many label sets it had.
    pub label_sets: usize,
    /// Requests sent to it.
    pub sent: u64,
    /// Serious pairs.
    pub serious: Rate,
    /// Degenerate on the shadow's side only.
    pub degenerate: Rate,
    /// Signs of these.
    pub degenerate_signs: Vec<Counted>,
    /// Failed on the shadow alone, of those sent.
    pub failed: Rate,
    /// Highest in-flight count.
    pub inflight_max: u32,
    /// Median latency, µs.
    pub p50_us: Option<u64>,
    /// 99th percentile, µs.
    pub p99_us: Option<u64>,
}

/// One load level.
#[derive(Debug, Clone, Serialize)]
pub struct LoadRow {
    /// Lowest in-flight count.
    pub inflight_from: u32,
    /// Highest.
    pub inflight_to: u32,
    /// Mean over its comparable pairs.
    pub inflight_mean: f64,
    /// Serious pairs.
    pub serious: Rate,
    /// Serious pairs on the nodes that are not named degenerate: the effect of load, without theirs.
    pub sound: Rate,
    /// Beyond tolerance, not serious.
    pub minor: Rate,
    /// 99th percentile of the tolerance units.
    #[serde(with = "number")]
    pub units_p99: Option<f64>,
    /// Latencies at this load.
    pub latency: Latencies,
}

/// One level of the most requests under way at once during a pair, the pair itself not counted.
#[derive(Debug, Clone, Serialize)]
pub struct PeakRow {
    /// Lowest count.
    pub inflight_from: u32,
    /// Highest.
    pub inflight_to: u32,
    /// Mean over its comparable pairs.
    pub inflight_mean: f64,
    /// Serious pairs on the nodes that are not named degenerate.
    pub sound: Rate,
}

/// One band of the primary's latency.
#[derive(Debug, Clone, Serialize)]
pub struct BandRow {
    /// Name, such as `p90–99`.
    pub band: &'static str,
    /// Lowest latency in it, µs; null when empty.
    pub from_us: Option<u64>,
    /// Highest, µs (lower end of its last bucket, 0.8 % wide).
    pub to_us: Option<u64>,
    /// Serious pairs.
    pub serious: Rate,
}

/// Both legs.
#[derive(Debug, Clone, Serialize)]
pub struct Latencies {
    /// The primary's.
    pub primary: LatencyRow,
    /// The shadow's.
    pub shadow: LatencyRow,
}

/// Latencies of one leg, µs.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LatencyRow {
    pub count: u64,
    pub p50_us: Option<u64>,
    pub p90_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub p999_us: Option<u64>,
    pub max_us: Option<u64>,
    /// Latency at each of [`CURVE`](LatencyRow::CURVE), for plots.
    pub curve_us: Vec<u64>,
}

impl LatencyRow {
    /// Quantiles of the curve.
    pub const CURVE: [f64; 13] =
        [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999];
}

/// Quantiles of a magnitude; infinite is `"inf"` in JSON.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Units {
    pub count: u64,
    /// NaN or infinite.
    pub not_finite: u64,
    #[serde(with = "number")]
    pub p50: Option<f64>,
    #[serde(with = "number")]
    pub p90: Option<f64>,
    #[serde(with = "number")]
    pub p99: Option<f64>,
    #[serde(with = "number")]
    pub p999: Option<f64>,
    #[serde(with = "number")]
    pub max: Option<f64>,
}
