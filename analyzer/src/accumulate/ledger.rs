//! The proxies' own accounts, and the rows that they should agree with.

use std::collections::BTreeMap;

use exchange::ledger::load_bin;
use serde::{Deserialize, Serialize};

use super::{merge_maps, pairs};
use crate::row::Row;

/// One run of one proxy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LedgerKey {
    pub(crate) proxy: String,
    pub(crate) run: String,
}

/// What is counted, for which shadow, from which in-flight count on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ItemKey {
    pub(crate) item: String,
    pub(crate) target: String,
    pub(crate) inflight_from: u32,
}

/// The highest snapshot seen of a run: counts are cumulative, so it tells all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) number: u64,
    pub(crate) closing: bool,
    #[serde(with = "pairs")]
    pub(crate) items: BTreeMap<ItemKey, u64>,
}

impl Snapshot {
    pub(crate) fn merge(&mut self, other: Self) {
        if other.number > self.number {
            *self = other;
        } else if other.number == self.number {
            // The rows of one snapshot may lie in several files, or twice in the set: the same count either way.
            self.closing |= other.closing;
            merge_maps(&mut self.items, other.items, |mine, theirs| *mine = theirs.max(*mine));
        }
    }
}

/// Rows of one run by shadow and load bin of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct RunRows {
    /// By shadow, then by lower end of the bin.
    pub(crate) bins: BTreeMap<String, BTreeMap<u32, BinRows>>,
}

/// Rows of one load bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct BinRows {
    /// All rows.
    pub(crate) rows: u64,
    /// Those whose copy was never sent.
    pub(crate) unsent: u64,
}

impl RunRows {
    pub(crate) fn add(&mut self, row: &Row<'_>) {
        if !self.bins.contains_key(row.target) {
            self.bins.insert(row.target.to_owned(), BTreeMap::new());
        }
        let Some(bins) = self.bins.get_mut(row.target) else { return };
        let bin = bins.entry(load_bin(row.shadow.inflight)).or_default();
        bin.rows += 1;
        bin.unsent += u64::from(!row.shadow.sent());
    }

    pub(crate) fn merge(&mut self, other: Self) {
        merge_maps(&mut self.bins, other.bins, |mine, theirs| {
            merge_maps(mine, theirs, |mine, theirs| {
                mine.rows += theirs.rows;
                mine.unsent += theirs.unsent;
            });
        });
    }
}
