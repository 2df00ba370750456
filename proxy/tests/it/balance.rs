//! The ledger balances: whatever happened, each mirrored request is in one place.

use std::collections::BTreeMap;

use exchange::ledger::load_bin;
use exchange::{Exchange, Item, Ledger};

use crate::support::Kept;

/// Asserts, of a stopped proxy, that the last ledger of each run is its closing one and balances, and that `sum` is what all of them say
/// together.
pub(crate) fn assert_balances(sum: &Ledger, kept: &Kept) {
    let mut last: BTreeMap<String, Ledger> = BTreeMap::new();
    let mut newest = None;
    for ledger in kept.ledgers() {
        newest = Some(ledger.run.clone());
        let earlier = last.insert(ledger.run.clone(), ledger.clone());
        assert!(earlier.is_none_or(|earlier| earlier.snapshot < ledger.snapshot), "{}", ledger.run);
    }
    assert_eq!(newest.as_ref(), Some(&sum.run), "the last run is closed last");
    let mut together: BTreeMap<(Item, &str, u32), u64> = BTreeMap::new();
    let mut exchanges: BTreeMap<String, Vec<Exchange>> = BTreeMap::new();
    for exchange in kept.exchanges() {
        exchanges.entry(exchange.run.clone()).or_default().push(exchange);
    }
    for (run, ledger) in &last {
        assert_run_balances(ledger, &exchanges.remove(run).unwrap_or_default());
        for entry in &ledger.items {
            *together.entry((entry.item, &entry.target, entry.inflight_from)).or_default() += entry.count;
        }
    }
    assert!(exchanges.is_empty(), "exchanges of runs without a ledger: {:?}", exchanges.keys());
    for entry in &sum.items {
        let key = (entry.item, entry.target.as_str(), entry.inflight_from);
        assert_eq!(together.remove(&key), Some(entry.count), "{key:?}");
    }
    assert!(together.is_empty(), "not in the sum: {together:?}");
}

/// Asserts, of one run, that `mirrored = recorded + failed{reason} + dropped{reason}` for each shadow and load, that
/// what is recorded is what the ledger says was delivered, and that the numbers of the exchanges have no gaps but
/// those dropped.
fn assert_run_balances(ledger: &Ledger, exchanges: &[Exchange]) {
    assert!(ledger.closing, "{}", ledger.run);
    let dropped = ledger.total(|item| matches!(item, Item::Dropped(_)));
    let spooled = ledger.total(|item| item == Item::Spooled);
    let delivered = ledger.total(|item| item == Item::Delivered);
    let ended = ledger.total(|item| matches!(item, Item::Outcome(_)));
    assert_eq!(delivered, exchanges.len() as u64, "delivered by the ledger, and recorded");
    assert_eq!(ended, delivered + spooled + dropped, "ended, and delivered, spooled or dropped: {ledger:?}");

    let mut by_shadow: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for entry in &ledger.items {
        let counts = match entry.item {
            Item::Mirrored => (entry.count, 0),
            Item::Outcome(_) => (0, entry.count),
            _ => continue,
        };
        let sums = by_shadow.entry(&entry.target).or_default();
        *sums = (sums.0 + counts.0, sums.1 + counts.1);
    }
    for (shadow, (mirrored, ended)) in by_shadow {
        assert_eq!(mirrored, ended, "mirrored to {shadow}, and ended");
    }

    let mut by_load: BTreeMap<(&str, String, u32), (u64, u64)> = BTreeMap::new();
    for entry in ledger.items.iter().filter(|entry| matches!(entry.item, Item::Outcome(_))) {
        by_load.entry((&entry.target, entry.item.name(), entry.inflight_from)).or_default().0 += entry.count;
    }
    for Exchange { shadow_target, shadow, .. } in exchanges {
        let key = (shadow_target.as_str(), Item::Outcome(shadow.outcome).name(), load_bin(shadow.inflight));
        by_load.entry(key).or_default().1 += 1;
    }
    let mut missing = 0;
    for (key, (ended, recorded)) in by_load {
        assert!(recorded <= ended, "{key:?}: {recorded} recorded of {ended}");
        missing += ended - recorded;
    }
    assert_eq!(missing, spooled + dropped, "not recorded, and spooled or dropped");

    let mut sequences: Vec<u64> = exchanges.iter().map(|exchange| exchange.sequence).collect();
    sequences.sort_unstable();
    sequences.dedup();
    assert_eq!(sequences.len(), exchanges.len(), "a number was given twice");
    assert!(sequences.last().is_none_or(|last| *last < ended), "{sequences:?} of {ended}");
}
