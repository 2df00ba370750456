//! The ledger balances: whatever happened, each mirrored request is in one place.

use std::collections::BTreeMap;

use exchange::ledger::load_bin;
use exchange::wire::{Record, decode};
use exchange::{Exchange, Item, Ledger};

use crate::support::Kept;

/// Asserts, of a stopped proxy, that `mirrored = recorded + failed{reason} + dropped{reason}` for each shadow and load, that
/// what is recorded is what the ledger says was delivered, and that the numbers of the exchanges have no gaps but
/// those dropped.
pub(crate) fn assert_balances(ledger: &Ledger, kept: &Kept) {
    assert!(ledger.closing);
    let exchanges = kept.exchanges();
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
    for Exchange { shadow_target, shadow, .. } in &exchanges {
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

    let published = kept.messages.lock().unwrap();
    let last = published.iter().rev().find_map(|(_, message)| match decode(message.clone()).unwrap() {
        Record::Ledger(ledger) => Some(ledger),
        Record::Exchange(_) => None,
    });
    assert_eq!(last.as_ref(), Some(ledger), "the closing ledger is published last");
}
