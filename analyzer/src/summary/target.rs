//! The tables of one shadow.

use std::collections::BTreeSet;

use divergence::Class;
use serde::Serialize;

use super::{Counted, Example, Labels, Rate, ScorePoint};
use crate::Options;
use crate::accumulate::{BothLegs, Bounded, Counts, Latency, Sketch, Target, described};
use crate::number;
use crate::stats::bins::mid_share;
use crate::stats::{Share, mcnemar};
use crate::verdict;
use crate::view::{LoadBin, NodeView, View};

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

    fn new(latency: &Latency) -> Self {
        Self {
            count: latency.count(),
            p50_us: latency.quantile(0.5),
            p90_us: latency.quantile(0.9),
            p99_us: latency.quantile(0.99),
            p999_us: latency.quantile(0.999),
            max_us: latency.max(),
            curve_us: Self::CURVE.iter().filter_map(|q| latency.quantile(*q)).collect(),
        }
    }
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

const BANDS: [(&str, f64); 5] =
    [("p0–50", 0.5), ("p50–90", 0.9), ("p90–99", 0.99), ("p99–99.9", 0.999), ("above p99.9", f64::INFINITY)];

pub(super) fn target_summary(view: &View<'_>, options: &Options) -> TargetSummary {
    let (target, total) = (view.target, &view.total);
    let rate = |events: u64, trials: u64| Rate::new(Share { events, trials }, options.confidence);
    let at = |node: &NodeView<'_>, bin: &LoadBin| node.share(Counts::serious_share, |load| bin.holds(load));
    let heat = view
        .nodes
        .iter()
        .map(|node| view.bins.iter().map(|bin| Rate::new(at(node, bin), options.confidence)).collect());
    let mut units = Sketch::default();
    let mut latency = BothLegs::default();
    for part in target.loads.values() {
        units.merge(part.units.clone());
        latency.merge(part.latency.clone());
    }
    let degenerate = verdict::degenerate_nodes(view, options);
    let classes = Class::ALL.iter().filter(|class| total.of(**class) > 0);
    TargetSummary {
        name: view.key.name.clone(),
        role: view.key.role.clone(),
        rows: target.rows,
        sent: total.sent(),
        comparable: total.comparable(),
        unsent: counted(&target.unsent, Clone::clone),
        serious: Rate::new(total.serious_share(), options.confidence),
        shadow_failed: rate(total.shadow_failed, total.sent()),
        primary_failed: rate(total.primary_failed, total.sent()),
        failed_p: mcnemar::exact(total.shadow_failed, total.primary_failed),
        failed_e: mcnemar::e_value(total.shadow_failed, total.primary_failed),
        classes: classes
            .map(|class| ClassRow { class: class.as_str(), rate: rate(total.of(*class), total.sent()) })
            .collect(),
        nodes: view.nodes.iter().map(|node| node_row(node, options)).collect(),
        loads: view.bins.iter().map(|bin| load_row(view, bin, &degenerate, options)).collect(),
        heat: heat.collect(),
        bands: bands(target, options),
        latency: latencies(&latency),
        tolerance_units: Units {
            count: units.count(),
            not_finite: units.beyond,
            p50: units.quantile(0.5),
            p90: units.quantile(0.9),
            p99: units.quantile(0.99),
            p999: units.quantile(0.999),
            max: units.quantile(1.0),
        },
        outcomes: counted(&target.outcomes, |ends| described(*ends)),
        details: counted(&target.details, Clone::clone),
        worst: worst(target, options.worst),
        serious_scores: target.serious_scores.points().cloned().collect(),
        other_scores: target.other_scores.points().cloned().collect(),
    }
}

fn node_row(node: &NodeView<'_>, options: &Options) -> NodeRow {
    let total = &node.total;
    let failed = Share { events: total.shadow_failed, trials: total.sent() };
    NodeRow {
        node: node.name.to_owned(),
        labels: node.labels(),
        label_sets: node.part.labels.iter().count(),
        sent: total.sent(),
        serious: Rate::new(total.serious_share(), options.confidence),
        degenerate: Rate::new(total.degenerate_share(), options.confidence),
        degenerate_signs: counted(&node.part.degenerate, Clone::clone),
        failed: Rate::new(failed, options.confidence),
        inflight_max: node.part.loads.keys().next_back().copied().unwrap_or(0),
        p50_us: node.part.latency.shadow.quantile(0.5),
        p99_us: node.part.latency.shadow.quantile(0.99),
    }
}

fn load_row(view: &View<'_>, bin: &LoadBin, degenerate: &BTreeSet<&str>, options: &Options) -> LoadRow {
    let share = |of: fn(&Counts) -> Share| {
        Rate::new(
            view.nodes.iter().map(|node| node.share(of, |load| bin.holds(load))).sum(),
            options.confidence,
        )
    };
    let sound = view.nodes.iter().filter(|node| !degenerate.contains(node.name));
    let sound = sound.map(|node| node.share(Counts::serious_share, |load| bin.holds(load)));
    let mut latency = BothLegs::default();
    let mut units = Sketch::default();
    for (_, part) in view.target.loads.range(bin.from..=bin.to) {
        latency.merge(part.latency.clone());
        units.merge(part.units.clone());
    }
    LoadRow {
        inflight_from: bin.from,
        inflight_to: bin.to,
        inflight_mean: bin.mean,
        serious: share(Counts::serious_share),
        sound: Rate::new(sound.sum(), options.confidence),
        minor: share(Counts::minor_share),
        units_p99: units.quantile(0.99),
        latency: latencies(&latency),
    }
}

/// Buckets of the primary's latency by the mid-rank of each: equal values never lie in two bands.
fn bands(target: &Target, options: &Options) -> Vec<BandRow> {
    let comparable = |counts: &Counts| counts.comparable();
    let total: u64 = target.primary_latency.values().map(comparable).sum();
    let mut rows: Vec<(Option<u64>, Option<u64>, Share)> = vec![(None, None, Share::default()); BANDS.len()];
    let mut below = 0;
    for (latency_us, counts) in &target.primary_latency {
        let pairs = comparable(counts);
        if pairs == 0 {
            continue;
        }
        let place = mid_share(below, pairs, total);
        let band = BANDS.iter().position(|(_, end)| place < *end).unwrap_or(BANDS.len() - 1);
        let row = &mut rows[band];
        *row = (row.0.or(Some(*latency_us)), Some(*latency_us), row.2 + counts.serious_share());
        below += pairs;
    }
    let named = BANDS.iter().zip(rows);
    named
        .map(|((band, _), (from_us, to_us, share))| BandRow {
            band,
            from_us,
            to_us,
            serious: Rate::new(share, options.confidence),
        })
        .collect()
}

/// The worst of each class in turn, so that a frequent class does not crowd out the others; shown by class.
fn worst(target: &Target, keep: usize) -> Vec<Example> {
    let mut taken: Vec<(u8, usize, &Example)> = Vec::new();
    for depth in 0..keep {
        for (class, held) in &target.worst {
            if let (Some(example), true) = (held.worst.get(depth), taken.len() < keep) {
                taken.push((*class, depth, example));
            }
        }
    }
    taken.sort_by_key(|(class, depth, _)| (*class, *depth));
    taken.into_iter().map(|(_, _, example)| example.clone()).collect()
}

fn latencies(legs: &BothLegs) -> Latencies {
    Latencies { primary: LatencyRow::new(&legs.primary), shadow: LatencyRow::new(&legs.shadow) }
}

/// The most frequent first, then by name.
fn counted<K: Ord, const LIMIT: usize>(
    counts: &Bounded<K, LIMIT>,
    name: impl Fn(&K) -> String,
) -> Vec<Counted> {
    let mut all: Vec<Counted> =
        counts.iter().map(|(key, count)| Counted { name: name(key), count }).collect();
    if counts.other > 0 {
        all.push(Counted { name: "(others)".into(), count: counts.other });
    }
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    all
}
