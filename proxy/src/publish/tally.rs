//! What became of the exchanges of one run.

use std::sync::atomic::{AtomicU64, Ordering};

use exchange::DropReason;

/// Counts of one run: every exchange that ended is in one of them, or still waits in memory.
#[derive(Debug, Default)]
pub struct Tally {
    delivered: AtomicU64,
    dropped: [AtomicU64; DropReason::ALL.len()],
}

impl Tally {
    /// Counts exchanges as acknowledged by the far end.
    pub fn add_delivered(&self, exchanges: u64) {
        self.delivered.fetch_add(exchanges, Ordering::Relaxed);
    }

    /// Takes back exchanges counted as delivered: the far end lost them after all.
    pub fn take_back_delivered(&self, exchanges: u64) {
        // A saturating update: a publisher that takes back more than it gave must not show 2^64 deliveries.
        let less = |count: u64| Some(count.saturating_sub(exchanges));
        let _ = self.delivered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Counts exchanges as lost.
    pub fn add_dropped(&self, reason: DropReason, exchanges: u64) {
        self.dropped[reason as usize].fetch_add(exchanges, Ordering::Relaxed);
    }

    /// Exchanges acknowledged.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Exchanges lost for that reason.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize].load(Ordering::Relaxed)
    }
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
}
