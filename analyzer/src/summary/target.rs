//! Makes the tables of one shadow.

use std::collections::BTreeSet;

use divergence::Class;

use super::rows::{
    BandRow, ClassRow, Latencies, LatencyRow, LoadRow, NodeRow, PeakRow, TargetSummary, Units,
};
use super::{Counted, Example, Rate};
use crate::Options;
use crate::accumulate::{BothLegs, Bounded, Counts, Latency, Sketch, Target, described};
use crate::stats::bins::mid_share;
use crate::stats::{Share, mcnemar};
use crate::verdict;
use crate::view::{LoadBin, NodeView, View, by_peak, mid_rank_bins};

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
        peaks: peaks(view, &degenerate, options),
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

fn peaks(view: &View<'_>, degenerate: &BTreeSet<&str>, options: &Options) -> Vec<PeakRow> {
    let levels = by_peak(view.nodes.iter().filter(|node| !degenerate.contains(node.name)));
    let share = |bin: &LoadBin| {
        levels.range(bin.from..=bin.to).map(|(_, counts)| counts.serious_share()).sum::<Share>()
    };
    let row = |bin: LoadBin| PeakRow {
        inflight_from: bin.from,
        inflight_to: bin.to,
        inflight_mean: bin.mean,
        sound: Rate::new(share(&bin), options.confidence),
    };
    mid_rank_bins(&levels, options.load_bins).into_iter().map(row).collect()
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
    Latencies { primary: latency_row(&legs.primary), shadow: latency_row(&legs.shadow) }
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

fn latency_row(latency: &Latency) -> LatencyRow {
    LatencyRow {
        count: latency.count(),
        p50_us: latency.quantile(0.5),
        p90_us: latency.quantile(0.9),
        p99_us: latency.quantile(0.99),
        p999_us: latency.quantile(0.999),
        max_us: latency.max(),
        curve_us: LatencyRow::CURVE.iter().filter_map(|q| latency.quantile(*q)).collect(),
    }
}
