//! What is kept of one shadow.

use std::collections::BTreeMap;

use divergence::Class;
use exchange::Outcome;
use serde::{Deserialize, Serialize};

use super::example::clipped;
use super::{Bounded, Counts, Examples, Latency, ScoreSample, Sketch, load, merge_maps, pairs};
use crate::row::{Row, RowLeg};

/// How both legs ended, primary first: position in [`Outcome::ALL`] and HTTP status, -1 for none.
pub(crate) type LegEnds = ((u8, i32), (u8, i32));

/// Examples kept per class and node.
const PER_NODE: usize = 3;

/// Latencies of the two legs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BothLegs {
    pub(crate) primary: Latency,
    pub(crate) shadow: Latency,
}

impl BothLegs {
    /// Only whole answers count: the latency of a failure is that of a deadline or a refusal.
    fn add(&mut self, row: &Row<'_>) {
        for (leg, latency) in [(&row.primary, &mut self.primary), (&row.shadow, &mut self.shadow)] {
            if let (true, Some(latency_us)) = (leg.succeeded(), leg.latency_us) {
                latency.add(latency_us);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.primary.merge(other.primary);
        self.shadow.merge(other.shadow);
    }
}

/// One node of the shadow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodePart {
    /// By in-flight bucket.
    #[serde(with = "pairs")]
    pub(crate) loads: BTreeMap<u32, Counts>,
    /// By bucket of the most requests under way meanwhile.
    #[serde(with = "pairs")]
    pub(crate) peaks: BTreeMap<u32, Counts>,
    pub(crate) latency: BothLegs,
    /// Distinct label sets, as JSON.
    pub(crate) labels: Bounded<String, 8>,
    /// Signs of the answers that are degenerate on this side only.
    pub(crate) degenerate: Bounded<String, 32>,
    #[serde(with = "pairs")]
    pub(crate) examples: BTreeMap<u8, Examples>,
}

impl NodePart {
    pub(crate) fn total(&self) -> Counts {
        self.loads.values().fold(Counts::default(), |mut sum, counts| {
            sum.merge(*counts);
            sum
        })
    }

    fn merge(&mut self, other: Self) {
        merge_maps(&mut self.loads, other.loads, Counts::merge);
        merge_maps(&mut self.peaks, other.peaks, Counts::merge);
        self.latency.merge(other.latency);
        self.labels.merge(other.labels);
        self.degenerate.merge(other.degenerate);
        merge_maps(&mut self.examples, other.examples, |mine, theirs| mine.merge(theirs, PER_NODE));
    }
}

/// All nodes at one in-flight bucket.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoadPart {
    pub(crate) latency: BothLegs,
    pub(crate) units: Sketch,
    /// Those of the pairs that are not serious.
    pub(crate) quiet_units: Sketch,
}

impl LoadPart {
    pub(crate) fn merge(&mut self, other: Self) {
        self.latency.merge(other.latency);
        self.units.merge(other.units);
        self.quiet_units.merge(other.quiet_units);
    }
}

/// One shadow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Target {
    /// Rows, sent or not.
    pub(crate) rows: u64,
    /// By name of the node.
    pub(crate) nodes: BTreeMap<String, NodePart>,
    /// By in-flight bucket of the shadow.
    #[serde(with = "pairs")]
    pub(crate) loads: BTreeMap<u32, LoadPart>,
    /// Pairs by bucket of the primary's latency. (The shadow's own latency may be changed by the very fault that is sought.)
    #[serde(with = "pairs")]
    pub(crate) primary_latency: BTreeMap<u64, Counts>,
    /// Rows by the primary's in-flight bucket.
    #[serde(with = "pairs")]
    pub(crate) primary_loads: BTreeMap<u32, u64>,
    /// Rows by how both legs ended.
    pub(crate) outcomes: Bounded<LegEnds, 1000>,
    /// Pairs by class and detail.
    pub(crate) details: Bounded<String, 300>,
    /// Copies never sent, by outcome.
    pub(crate) unsent: Bounded<String, 16>,
    /// Worst pairs by class.
    #[serde(with = "pairs")]
    pub(crate) worst: BTreeMap<u8, Examples>,
    /// How many worst pairs are kept per class.
    pub(crate) keep: usize,
    pub(crate) serious_scores: ScoreSample,
    pub(crate) other_scores: ScoreSample,
}

impl Target {
    pub(crate) fn add(&mut self, row: &Row<'_>, keep: usize) {
        self.rows += 1;
        self.keep = keep;
        self.outcomes.add(&(ends(&row.primary), ends(&row.shadow)), 1);
        *self.primary_loads.entry(load::inflight(row.primary.inflight)).or_default() += 1;
        if !row.shadow.sent() {
            self.unsent.add(row.shadow.outcome.as_str(), 1);
            return;
        }
        let level = load::inflight(row.shadow.inflight);
        self.add_to_node(row, level);
        let at_load = self.loads.entry(level).or_default();
        at_load.latency.add(row);
        if let Some(units) = row.tolerance_units {
            at_load.units.add(units);
            if !row.serious {
                at_load.quiet_units.add(units);
            }
        }
        if let (true, Some(latency_us)) = (row.primary.succeeded(), row.primary.latency_us) {
            self.primary_latency.entry(load::latency(latency_us)).or_default().add(row);
        }
        if !row.detail.is_empty() {
            self.details.add(clipped(&format!("{}: {}", row.class, row.detail), 160), 1);
        }
        if row.serious { &mut self.serious_scores } else { &mut self.other_scores }.add(row);
        if differs(row.class) {
            self.worst.entry(row.class as u8).or_default().add(row, keep);
        }
    }

    fn add_to_node(&mut self, row: &Row<'_>, level: u32) {
        if !self.nodes.contains_key(row.shadow.node) {
            self.nodes.insert(row.shadow.node.to_owned(), NodePart::default());
        }
        let Some(node) = self.nodes.get_mut(row.shadow.node) else { return };
        node.loads.entry(level).or_default().add(row);
        node.peaks.entry(load::inflight(row.peak)).or_default().add(row);
        node.latency.add(row);
        node.labels.add(clipped(row.labels, 4096), 1);
        if row.class == Class::Degenerate && row.serious {
            node.degenerate.add(clipped(row.degenerate, 80), 1);
        }
        if row.serious || row.class == Class::Incomparable {
            node.examples.entry(row.class as u8).or_default().add(row, PER_NODE);
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.keep = self.keep.max(other.keep);
        merge_maps(&mut self.nodes, other.nodes, NodePart::merge);
        merge_maps(&mut self.loads, other.loads, LoadPart::merge);
        merge_maps(&mut self.primary_latency, other.primary_latency, Counts::merge);
        merge_maps(&mut self.primary_loads, other.primary_loads, |mine, theirs| *mine += theirs);
        self.outcomes.merge(other.outcomes);
        self.details.merge(other.details);
        self.unsent.merge(other.unsent);
        for (class, examples) in other.worst {
            self.worst.entry(class).or_default().merge(examples, self.keep);
        }
        self.serious_scores.merge(other.serious_scores);
        self.other_scores.merge(other.other_scores);
    }
}

fn differs(class: Class) -> bool {
    !matches!(class, Class::Incomparable | Class::WithinTol | Class::BitEqual)
}

fn ends(leg: &RowLeg<'_>) -> (u8, i32) {
    let outcome = Outcome::ALL.iter().position(|outcome| *outcome == leg.outcome);
    (outcome.unwrap_or(0) as u8, leg.status.unwrap_or(-1))
}

/// `answered 200 → timed_out`.
pub(crate) fn described(ends: LegEnds) -> String {
    let leg = |(outcome, status): (u8, i32)| {
        let outcome = Outcome::ALL.get(usize::from(outcome)).map_or("unknown", |outcome| outcome.as_str());
        if status < 0 { outcome.to_owned() } else { format!("{outcome} {status}") }
    };
    format!("{} → {}", leg(ends.0), leg(ends.1))
}
