//! A bound on a rate, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::config::Cap;

/// Nanoseconds, far below the most that is counted.
const CENTURY: f64 = 3.2e18;

/// A token bucket in the form of the generic cell rate algorithm (ITU-T I.371, annex A): one number, the moment at which the bucket
/// will be full again, stands for what is in it.
#[derive(Debug)]
pub(super) struct Bucket {
    begun: Instant,
    /// Nanoseconds in which one token comes.
    interval: f64,
    /// Nanoseconds that the bucket may be away from full and still give.
    tolerance: f64,
    /// Nanoseconds from `begun` at which the bucket is full again.
    full_at: AtomicU64,
}

impl Bucket {
    pub(super) fn new(cap: Cap) -> Self {
        let interval = 1e9 / cap.per_second;
        Self {
            begun: Instant::now(),
            interval,
            tolerance: ((cap.burst - 1.0).max(0.0) * interval).min(CENTURY),
            full_at: AtomicU64::new(0),
        }
    }

    /// Takes so many tokens, if there is one. The others are owed: what needs more than a burst is not kept away for ever.
    pub(super) fn take(&self, tokens: u32, now: Instant) -> bool {
        let now = u64::try_from(now.saturating_duration_since(self.begun).as_nanos()).unwrap_or(u64::MAX);
        let price = (self.interval * f64::from(tokens)) as u64;
        let taken = |full_at: u64| {
            let there = full_at.saturating_sub(now) as f64 <= self.tolerance;
            there.then(|| full_at.max(now).saturating_add(price))
        };
        self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn taken(bucket: &Bucket, tokens: u32, tries: u32, at_ms: u64) -> u32 {
        let now = bucket.begun + Duration::from_millis(at_ms);
        (0..tries).map(|_| u32::from(bucket.take(tokens, now))).sum()
    }

    #[test]
    fn a_burst_is_let_through_and_then_the_rate() {
        let bucket = Bucket::new(Cap { per_second: 10.0, burst: 5.0 });
        assert_eq!(taken(&bucket, 1, 100, 0), 5);
        assert_eq!(taken(&bucket, 1, 100, 99), 0);
        assert_eq!(taken(&bucket, 1, 100, 100), 1);
        assert_eq!(taken(&bucket, 1, 100, 400), 3);
        assert_eq!(taken(&bucket, 1, 100, 60_000), 5, "a pause fills no more than the bucket");
    }

    #[test]
    fn what_needs_more_than_a_burst_is_owed() {
        let bucket = Bucket::new(Cap { per_second: 10.0, burst: 1.0 });
        let all: u32 = (0..=100).map(|tenth| taken(&bucket, 4, 1, tenth * 100)).sum();
        assert_eq!(all, 26, "4 tokens in each 400 ms of 10 s, and the first");
    }

    #[test]
    fn rates_far_below_one_and_of_a_million_hold() {
        let slow = Bucket::new(Cap { per_second: 1e-3, burst: 1.0 });
        assert_eq!(
            [taken(&slow, 1, 9, 0), taken(&slow, 1, 9, 999_999), taken(&slow, 1, 9, 1_000_000)],
            [1, 0, 1]
        );
        let fast = Bucket::new(Cap { per_second: 1e6, burst: 10.0 });
        assert_eq!([taken(&fast, 1, 99, 0), taken(&fast, 500, 2, 1), taken(&fast, 1, 99, 2)], [10, 1, 10]);
        let saved_up = Bucket::new(Cap { per_second: 1e-3, burst: 1e300 });
        assert_eq!(taken(&saved_up, 1, 1000, 0), 1000);
    }

    #[test]
    fn threads_together_get_no_more() {
        let bucket = Bucket::new(Cap { per_second: 1e-3, burst: 100.0 });
        let now = bucket.begun;
        let all: u32 = std::thread::scope(|scope| {
            let run = || (0..1000).map(|_| u32::from(bucket.take(1, now))).sum::<u32>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(all, 100);
    }
}
