//! What became of the exchanges of one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use exchange::DropReason;

use super::Kind;

/// Counts of one run: every exchange that ended is in one of them, or still waits in memory.
#[derive(Debug, Default)]
pub struct Tally {
    delivered: AtomicU64,
    spooled: AtomicU64,
    dropped: [AtomicU64; DropReason::ALL.len()],
    part: Option<Part>,
}

/// What makes a tally that of some messages on their way from the spool.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// The run that they belong to; none of ledgers, and of messages that an earlier process left in the spool.
    pub(super) run: Option<Arc<Tally>>,
    /// Whether they may have been delivered before.
    pub(super) again: bool,
    /// Of them, those that went back to the spool.
    returned: AtomicU64,
}

impl Tally {
    /// The count of messages of one kind and run on their way from the spool. Their run's count follows it.
    pub(super) fn part_of(kind: Kind, run: Option<Arc<Self>>, again: bool) -> Self {
        let run = run.filter(|_| kind == Kind::Exchange);
        Self { part: Some(Part { kind, run, again, returned: AtomicU64::new(0) }), ..Self::default() }
    }

    pub(super) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// Messages of a part whose fate is known. What was done about them before is seen by who reads it.
    pub(super) fn settled(&self) -> u64 {
        let dropped: u64 = self.dropped.iter().map(|count| count.load(Ordering::Acquire)).sum();
        self.delivered.load(Ordering::Acquire) + dropped + self.returned()
    }

    /// Messages of a part that went back to the spool.
    pub(super) fn returned(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| part.returned.load(Ordering::Acquire))
    }

    /// Counts a message of a part as gone back to the spool.
    pub(super) fn add_returned(&self) {
        if let Some(part) = &self.part {
            part.returned.fetch_add(1, Ordering::Release);
        }
    }

    /// Counts exchanges as acknowledged by the far end.
    pub fn add_delivered(&self, exchanges: u64) {
        if let Some(run) = self.run() {
            // In this order, a reader that reads `delivered` first never counts one twice.
            run.take_back_spooled(exchanges);
            run.add_delivered(exchanges);
        }
        self.delivered.fetch_add(exchanges, Ordering::Release);
    }

    /// Takes back exchanges counted as delivered: the far end lost them after all.
    pub fn take_back_delivered(&self, exchanges: u64) {
        take_back(&self.delivered, exchanges);
    }

    /// Counts exchanges as put into the spool.
    pub(super) fn add_spooled(&self, exchanges: u64) {
        self.spooled.fetch_add(exchanges, Ordering::Relaxed);
    }

    /// Counts exchanges as no longer in the spool.
    pub(super) fn take_back_spooled(&self, exchanges: u64) {
        take_back(&self.spooled, exchanges);
    }

    /// Counts exchanges as lost.
    pub fn add_dropped(&self, reason: DropReason, exchanges: u64) {
        if let Some(run) = self.run() {
            run.take_back_spooled(exchanges);
            run.add_dropped(reason, exchanges);
        }
        self.dropped[reason as usize].fetch_add(exchanges, Ordering::Release);
    }

    /// Exchanges acknowledged.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Acquire)
    }

    /// Exchanges that are in the spool now.
    #[must_use]
    pub fn spooled(&self) -> u64 {
        self.spooled.load(Ordering::Relaxed)
    }

    /// Exchanges lost for that reason.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize].load(Ordering::Acquire)
    }

    fn run(&self) -> Option<&Arc<Self>> {
        self.part.as_ref()?.run.as_ref()
    }
}

/// A saturating subtraction: whoever takes back more than there was must not show 2^64.
fn take_back(count: &AtomicU64, exchanges: u64) {
    let less = |count: u64| Some(count.saturating_sub(exchanges));
    let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_count_of_its_own() {
        let tally = Tally::default();
        for (number, reason) in (1..).zip(DropReason::ALL) {
            tally.add_dropped(reason, number);
        }
        for (number, reason) in (1..).zip(DropReason::ALL) {
            assert_eq!(tally.dropped(reason), number, "{reason:?}");
        }
    }

    #[test]
    fn what_is_taken_back_is_not_delivered_and_never_below_nothing() {
        let tally = Tally::default();
        tally.add_delivered(3);
        tally.take_back_delivered(1);
        assert_eq!(tally.delivered(), 2);
        tally.take_back_delivered(5);
        assert_eq!(tally.delivered(), 0);
    }

    #[test]
    fn a_part_of_a_run_moves_the_counts_of_the_run() {
        let run = Arc::new(Tally::default());
        run.add_spooled(4);
        let part = Tally::part_of(Kind::Exchange, Some(run.clone()), false);
        part.add_delivered(1);
        part.add_dropped(DropReason::DeliveryFailed, 1);
        part.add_returned();
        assert_eq!(part.settled(), 3);
        let counts = (run.delivered(), run.spooled(), run.dropped(DropReason::DeliveryFailed));
        assert_eq!(counts, (1, 2, 1));
    }
}
