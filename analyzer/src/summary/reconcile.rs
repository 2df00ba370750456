//! The proxies' ledgers against the rows that are there.

use std::collections::{BTreeMap, BTreeSet};

use exchange::{Ending, Item, SkipReason};
use serde::Serialize;

use super::Counted;
use crate::accumulate::{Accumulator, LedgerKey, RunRows, Snapshot};

/// One run of one proxy: `mirrored + unlisted = rows + lost + spooled`, and `unlisted` is 0 once it is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunLedger {
    /// Name of the proxy.
    pub proxy: String,
    /// Name of the run.
    pub run: String,
    /// Number of the last snapshot; null when the set has no ledger of the run.
    pub snapshot: Option<u64>,
    /// Whether it is the closing one.
    pub closed: bool,
    /// Requests chosen for a shadow.
    pub mirrored: u64,
    /// Of these, answered by the shadow.
    pub answered: u64,
    /// Sent, or tried, and not answered, by outcome.
    pub failed: Vec<Counted>,
    /// Never sent, by outcome.
    pub unsent: Vec<Counted>,
    /// Chosen, and not ended at the last snapshot.
    pub unfinished: u64,
    /// Exchanges that Kafka, or the recorder in the same process, took.
    pub delivered: u64,
    /// Exchanges lost between the proxy and Kafka, by reason.
    pub dropped: Vec<Counted>,
    /// Requests that a rule kept from being mirrored, by reason; no part of `mirrored`.
    pub skipped: Vec<Counted>,
    /// Rows in the set.
    pub rows: u64,
    /// Not in the set, not dropped, and by the last snapshot in the proxy's disk spool: still to come.
    pub spooled: u64,
    /// Mirrored by the ledger and not in the set, other than those in the spool.
    pub lost: u64,
    /// In the set and not in the ledger: rows after the last snapshot; once it is closed, rows that are in the set twice.
    pub unlisted: u64,
    /// By shadow and load.
    pub loads: Vec<LoadLoss>,
    /// Requests kept back by the cap on the rate, by load.
    pub capped: Vec<LoadCap>,
}

/// Requests kept back by the cap on the rate in one load bin of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadCap {
    /// Lower end of the power-of-two bin of the in-flight count.
    pub inflight_from: u32,
    /// Kept back.
    pub skipped: u64,
    /// Mirrored in that bin; of several shadows, to the one with the most.
    pub mirrored: u64,
}

/// Exchanges of one shadow in one load bin of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadLoss {
    /// Name of the shadow.
    pub target: String,
    /// Lower end of the power-of-two bin of the shadow's in-flight count.
    pub inflight_from: u32,
    /// Ended, by the ledger.
    pub finished: u64,
    /// Rows in the set.
    pub rows: u64,
    /// Of these, never sent.
    pub unsent: u64,
    /// Ended by the ledger and not in the set; of a run with a spool, some may still come.
    pub lost: u64,
}

/// All runs that the ledger or the rows name.
pub(super) fn reconcile(accumulator: &Accumulator) -> Vec<RunLedger> {
    let keys: BTreeSet<&LedgerKey> = accumulator.ledger.keys().chain(accumulator.run_rows.keys()).collect();
    keys.into_iter().map(|key| run(key, accumulator.ledger.get(key), accumulator.run_rows.get(key))).collect()
}

fn run(key: &LedgerKey, snapshot: Option<&Snapshot>, rows: Option<&RunRows>) -> RunLedger {
    let items: Vec<(Item, &str, u32, u64)> = snapshot
        .into_iter()
        .flat_map(|snapshot| &snapshot.items)
        .filter_map(|(key, count)| {
            Some((Item::from_name(&key.item)?, key.target.as_str(), key.inflight_from, *count))
        })
        .collect();
    let total = |keep: &dyn Fn(Item) -> bool| {
        items.iter().filter(|item| keep(item.0)).map(|item| item.3).sum::<u64>()
    };
    let by_name = |name: &dyn Fn(Item) -> Option<&'static str>| -> Vec<Counted> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (item, _, _, count) in &items {
            if let (Some(name), true) = (name(*item), *count > 0) {
                *counts.entry(name).or_default() += count;
            }
        }
        counts.into_iter().map(|(name, count)| Counted { name: name.to_owned(), count }).collect()
    };
    let ended = |ending: Ending| {
        move |item: Item| match item {
            Item::Outcome(outcome) if outcome.ending() == ending => Some(outcome.as_str()),
            _ => None,
        }
    };
    let mirrored = total(&|item| item == Item::Mirrored);
    let finished = total(&|item| matches!(item, Item::Outcome(_)));
    // By shadow: rows too many of one must not make up for rows missing of another.
    let mut by_target: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (_, target, _, count) in items.iter().filter(|item| item.0 == Item::Mirrored) {
        by_target.entry(target).or_default().0 += count;
    }
    for (target, bins) in rows.into_iter().flat_map(|rows| &rows.bins) {
        by_target.entry(target).or_default().1 += bins.values().map(|bin| bin.rows).sum::<u64>();
    }
    let sum = |of: fn(&(u64, u64)) -> u64| by_target.values().map(of).sum::<u64>();
    let missing = sum(|(mirrored, rows)| mirrored.saturating_sub(*rows));
    let dropped = total(&|item| matches!(item, Item::Dropped(_)));
    // What was in the spool may have come since; what was dropped never will.
    let spooled = total(&|item| item == Item::Spooled).min(missing.saturating_sub(dropped));
    let loads = loads(&items, rows);
    RunLedger {
        proxy: key.proxy.clone(),
        run: key.run.clone(),
        snapshot: snapshot.map(|snapshot| snapshot.number),
        closed: snapshot.is_some_and(|snapshot| snapshot.closing),
        mirrored,
        answered: total(&|item| ended(Ending::Answered)(item).is_some()),
        failed: by_name(&ended(Ending::Failed)),
        unsent: by_name(&ended(Ending::Dropped)),
        unfinished: mirrored.saturating_sub(finished),
        delivered: total(&|item| item == Item::Delivered),
        dropped: by_name(&|item| match item {
            Item::Dropped(reason) => Some(reason.as_str()),
            _ => None,
        }),
        skipped: by_name(&|item| match item {
            Item::Skipped(reason) => Some(reason.as_str()),
            _ => None,
        }),
        rows: sum(|(_, rows)| *rows),
        spooled,
        lost: missing - spooled,
        unlisted: sum(|(mirrored, rows)| rows.saturating_sub(*mirrored)),
        capped: capped(&items, &loads),
        loads,
    }
}

fn capped(items: &[(Item, &str, u32, u64)], loads: &[LoadLoss]) -> Vec<LoadCap> {
    let mut bins: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, _, from, count) in items.iter().filter(|item| item.0 == Item::Skipped(SkipReason::RateCap)) {
        *bins.entry(*from).or_default() += count;
    }
    if bins.is_empty() {
        return Vec::new();
    }
    for bin in loads {
        bins.entry(bin.inflight_from).or_default();
    }
    let mirrored = |from| {
        let of_bin = loads.iter().filter(|bin| bin.inflight_from == from);
        of_bin.map(|bin| bin.finished.max(bin.rows)).max().unwrap_or(0)
    };
    bins.into_iter()
        .map(|(from, skipped)| LoadCap { inflight_from: from, skipped, mirrored: mirrored(from) })
        .collect()
}

fn loads(items: &[(Item, &str, u32, u64)], rows: Option<&RunRows>) -> Vec<LoadLoss> {
    let mut bins: BTreeMap<(&str, u32), LoadLoss> = BTreeMap::new();
    let empty = |target: &str, inflight_from| LoadLoss {
        target: target.to_owned(),
        inflight_from,
        finished: 0,
        rows: 0,
        unsent: 0,
        lost: 0,
    };
    for (item, target, from, count) in items {
        if matches!(item, Item::Outcome(_)) {
            bins.entry((target, *from)).or_insert_with(|| empty(target, *from)).finished += count;
        }
    }
    let of_rows = rows.into_iter().flat_map(|rows| &rows.bins);
    for (target, (from, held)) in of_rows.flat_map(|(target, bins)| bins.iter().map(move |bin| (target, bin)))
    {
        let bin = bins.entry((target, *from)).or_insert_with(|| empty(target, *from));
        bin.rows += held.rows;
        bin.unsent += held.unsent;
    }
    bins.into_values().map(|bin| LoadLoss { lost: bin.finished.saturating_sub(bin.rows), ..bin }).collect()
}
