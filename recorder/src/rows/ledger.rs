//! Rows of `ledger`.

use exchange::{Item, Ledger, LedgerItem};

use super::{Rows, int};

/// Appends one row for each count. A ledger without counts says that all are zero, and gets the row of `mirrored`, so
/// that its snapshot and its closing mark are not lost.
pub(crate) fn put_ledger(rows: &mut Rows, ledger: &Ledger) {
    let zero = [LedgerItem { item: Item::Mirrored, target: String::new(), inflight_from: 0, count: 0 }];
    let items = if ledger.items.is_empty() { &zero[..] } else { &ledger.items };
    for entry in items {
        rows.put("proxy", &ledger.proxy);
        rows.put("run", &ledger.run);
        rows.put("at", ledger.at_us);
        rows.put("snapshot", int(ledger.snapshot));
        rows.put("closing", ledger.closing);
        rows.put("item", entry.item.name().as_str());
        rows.put("target", &entry.target);
        rows.put("inflight_from", entry.inflight_from);
        rows.put("count", int(entry.count));
    }
}
