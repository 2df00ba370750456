//! What one pass keeps: counts, histograms and bounded examples, all of which merge exactly.
//!
//! Merging is commutative and associative and knows names, not codes, so the result does not depend on how the set was cut
//! or in which order its parts were read. No floating-point sum is kept: those would depend on the order.

mod bounded;
mod counts;
mod example;
mod histogram;
mod ledger;
mod load;
mod pairs;
mod sketch;
mod target;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub(crate) use bounded::Bounded;
pub(crate) use counts::Counts;
pub use example::{Example, ScorePoint};
pub(crate) use example::{Examples, ScoreSample, clipped};
pub(crate) use histogram::Latency;
pub(crate) use ledger::{ItemKey, LedgerKey, RunRows, Snapshot};
pub(crate) use sketch::Sketch;
pub(crate) use target::{BothLegs, NodePart, Target, described};

use crate::row::Row;

/// Role and name of a shadow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TargetKey {
    pub(crate) role: String,
    pub(crate) name: String,
}

/// All that is kept of a part of the set.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Accumulator {
    /// Rows read.
    pub(crate) rows: u64,
    /// Rows with a class or outcome of an unknown name: counted, not judged.
    pub(crate) unreadable: u64,
    /// Earliest and latest receipt of a request, µs since the Unix epoch.
    pub(crate) received_us: Option<(i64, i64)>,
    /// Hashes of the rules that made the divergence columns.
    pub(crate) rules: BTreeSet<String>,
    /// Rules that no pair of any file used, of the files that say.
    #[serde(default)]
    pub(crate) unused: Option<BTreeSet<String>>,
    #[serde(with = "pairs")]
    pub(crate) targets: BTreeMap<TargetKey, Target>,
    #[serde(with = "pairs")]
    pub(crate) ledger: BTreeMap<LedgerKey, Snapshot>,
    #[serde(with = "pairs")]
    pub(crate) run_rows: BTreeMap<LedgerKey, RunRows>,
    pub(crate) dead_letters: u64,
}

impl Accumulator {
    /// Adds one row; `keep` bounds the examples kept per class.
    pub(crate) fn add(&mut self, row: &Row<'_>, keep: usize) {
        self.rows += 1;
        self.received_us = Some(match self.received_us {
            None => (row.received_us, row.received_us),
            Some((first, last)) => (first.min(row.received_us), last.max(row.received_us)),
        });
        // A part holds few runs and shadows: looking through them is cheaper than making a key for each row.
        match self.run_rows.iter_mut().find(|(key, _)| key.proxy == row.proxy && key.run == row.run) {
            Some((_, rows)) => rows.add(row),
            None => {
                let key = LedgerKey { proxy: row.proxy.to_owned(), run: row.run.to_owned() };
                self.run_rows.entry(key).or_default().add(row);
            }
        }
        match self.targets.iter_mut().find(|(key, _)| key.role == row.role && key.name == row.target) {
            Some((_, target)) => target.add(row, keep),
            None => {
                let key = TargetKey { role: row.role.to_owned(), name: row.target.to_owned() };
                self.targets.entry(key).or_default().add(row, keep);
            }
        }
    }

    /// Adds all that `other` holds.
    pub(crate) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.unreadable += other.unreadable;
        self.received_us = match (self.received_us, other.received_us) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, None) | (None, one) => one,
        };
        self.rules.extend(other.rules);
        self.unused = match (self.unused.take(), other.unused) {
            (Some(one), Some(two)) => Some(&one & &two),
            (one, two) => one.or(two),
        };
        self.dead_letters += other.dead_letters;
        merge_maps(&mut self.targets, other.targets, Target::merge);
        merge_maps(&mut self.ledger, other.ledger, Snapshot::merge);
        merge_maps(&mut self.run_rows, other.run_rows, RunRows::merge);
    }
}

/// Merges maps key by key.
pub(crate) fn merge_maps<K: Ord, V>(into: &mut BTreeMap<K, V>, from: BTreeMap<K, V>, merge: fn(&mut V, V)) {
    for (key, value) in from {
        match into.entry(key) {
            std::collections::btree_map::Entry::Vacant(slot) => {
                slot.insert(value);
            }
            std::collections::btree_map::Entry::Occupied(mut slot) => merge(slot.get_mut(), value),
        }
    }
}

#[cfg(test)]
mod tests;
