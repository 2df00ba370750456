//! The proxy's own account, from which the ledger, the metrics and the status page are made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use exchange::ledger::load_bin;
use exchange::{DropReason, Item, Ledger, LedgerItem, Outcome};

use crate::publish::Tally;

/// Counts since the start.
#[derive(Debug)]
pub(crate) struct Account {
    targets: Vec<String>,
    mirrored: Vec<AtomicU64>,
    outcomes: Mutex<BTreeMap<(usize, Outcome, u32), u64>>,
    tally: Arc<Tally>,
    upgraded: AtomicU64,
    sequence: AtomicU64,
    snapshot: AtomicU64,
    /// Answers given to clients, by hundreds of the status (index 1 to 5) and 0 for none.
    answers: [AtomicU64; 6],
}

/// Counts of one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) items: Vec<LedgerItem>,
    pub(crate) answers: [u64; 6],
}

impl Account {
    pub(crate) fn new(targets: Vec<String>) -> Self {
        Self {
            mirrored: targets.iter().map(|_| AtomicU64::new(0)).collect(),
            targets,
            outcomes: Mutex::default(),
            tally: Arc::default(),
            upgraded: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            snapshot: AtomicU64::new(0),
            answers: Default::default(),
        }
    }

    pub(crate) fn mirrored(&self, target: usize) {
        self.mirrored[target].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self, target: usize, outcome: Outcome, inflight: u32) {
        // Plain counts: a thread that died with the lock held left them whole.
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        *outcomes.entry((target, outcome, load_bin(inflight))).or_default() += 1;
    }

    /// What became of the exchanges of this run, counted by the publisher.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        self.tally.clone()
    }

    /// Counts an exchange that the publisher did not take.
    pub(crate) fn not_taken(&self, reason: DropReason) {
        self.tally.add_dropped(reason, 1);
    }

    /// Counts a protocol upgrade, which is never mirrored.
    pub(crate) fn upgraded(&self) {
        self.upgraded.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn upgrades(&self) -> u64 {
        self.upgraded.load(Ordering::Relaxed)
    }

    pub(crate) fn answered(&self, status: u16) {
        self.answers[usize::from(status / 100).min(5)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// The counts as ledger items. Counts that come later in a request's life are read first, so that a snapshot taken
    /// under load never shows more endings than beginnings.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let all = |item, count| LedgerItem { item, target: String::new(), inflight_from: 0, count };
        let mut items = vec![all(Item::Delivered, self.tally.delivered())];
        items.push(all(Item::Spooled, self.tally.spooled()));
        items.extend(DropReason::ALL.map(|reason| all(Item::Dropped(reason), self.tally.dropped(reason))));
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        items.extend(outcomes.into_iter().map(|((target, outcome, inflight_from), count)| LedgerItem {
            item: Item::Outcome(outcome),
            target: self.targets[target].clone(),
            inflight_from,
            count,
        }));
        items.extend(self.targets.iter().zip(&self.mirrored).map(|(target, count)| LedgerItem {
            item: Item::Mirrored,
            target: target.clone(),
            inflight_from: 0,
            count: count.load(Ordering::Relaxed),
        }));
        let answers = self.answers.each_ref().map(|count| count.load(Ordering::Relaxed));
        Snapshot { items, answers }
    }

    /// The next ledger record.
    pub(crate) fn ledger(&self, proxy: &str, run: &str, closing: bool) -> Ledger {
        Ledger {
            proxy: proxy.to_owned(),
            run: run.to_owned(),
            at_us: crate::now_us(),
            snapshot: self.snapshot.fetch_add(1, Ordering::Relaxed),
            closing,
            items: self.snapshot().items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_balances() {
        let account = Account::new(vec!["candidate".into()]);
        for inflight in 0..10 {
            account.mirrored(0);
            let outcome = if inflight == 3 { Outcome::TimedOut } else { Outcome::Answered };
            account.ended(0, outcome, inflight);
        }
        account.not_taken(DropReason::QueueFull);
        account.tally().add_delivered(8);
        account.tally().add_dropped(DropReason::DeliveryFailed, 1);
        let ledger = account.ledger("p", "r", true);
        let mirrored = ledger.total(|item| item == Item::Mirrored);
        let ended = ledger.total(|item| matches!(item, Item::Outcome(_)));
        let accounted = ledger.total(|item| matches!(item, Item::Delivered | Item::Dropped(_)));
        assert_eq!((mirrored, ended, accounted), (10, 10, 10));
        assert_eq!(ledger.total(|item| item == Item::Outcome(Outcome::TimedOut)), 1);
    }

    #[test]
    fn snapshots_and_sequences_are_numbered_without_gaps() {
        let account = Account::new(vec![]);
        assert_eq!([account.next_sequence(), account.next_sequence()], [0, 1]);
        let number = || account.ledger("p", "r", false).snapshot;
        assert_eq!([number(), number()], [0, 1]);
    }
}
