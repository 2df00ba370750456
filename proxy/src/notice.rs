//! Words about failing nodes and shed copies, at most one line for each in ten seconds: a node that is down fails every request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use exchange::Leg;

const QUIET: Duration = Duration::from_secs(10);

/// Failures of one kind since they were last told.
#[derive(Debug)]
pub(crate) struct Notice {
    begun: Instant,
    failures: AtomicU64,
    /// Milliseconds from `begun` before which nothing is said.
    quiet_until: AtomicU64,
}

impl Notice {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), failures: AtomicU64::new(0), quiet_until: AtomicU64::new(0) }
    }

    /// Counts a failure at `now`; gives the number to tell when it is time to.
    fn due(&self, now: Instant) -> Option<u64> {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let at = millis(now.saturating_duration_since(self.begun));
        let quiet_until = self.quiet_until.load(Ordering::Relaxed);
        let next = at.saturating_add(millis(QUIET));
        let first = at >= quiet_until
            && self
                .quiet_until
                .compare_exchange(quiet_until, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        first.then(|| self.failures.swap(0, Ordering::Relaxed))
    }

    /// Counts a failure; gives the number to tell when it is time to.
    pub(crate) fn due_now(&self) -> Option<u64> {
        self.due(Instant::now())
    }

    /// Tells of a leg that failed.
    pub(crate) fn failed(&self, target: &str, leg: &Leg) {
        if let Some(failures) = self.due(Instant::now()) {
            let outcome = leg.outcome.as_str();
            tracing::warn!(
                target_name = target,
                node = leg.node,
                outcome,
                reason = leg.reason,
                failures,
                "a node fails"
            );
        }
    }

    /// Tells of a copy that was shed.
    pub(crate) fn shed(&self, reason: &str) {
        if let Some(shed) = self.due(Instant::now()) {
            tracing::warn!(reason, shed, "copies are shed: clients are served, the comparison misses them");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_told_and_then_all_of_ten_seconds_at_once() {
        let notice = Notice::new();
        let at = |seconds| notice.begun + Duration::from_secs(seconds);
        assert_eq!(notice.due(at(1)), Some(1));
        assert_eq!(notice.due(at(2)), None);
        assert_eq!(notice.due(at(10)), None);
        assert_eq!(notice.due(at(11)), Some(3));
        assert_eq!(notice.due(at(12)), None);
    }
}
