//! Load where it is caused: in-flight count and arrival rate per (leg, node), read before the request
//! that is being dispatched is added; and the most that was under way while it was, read when it ends.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;

/// Requests under way on all nodes of a leg.
#[derive(Debug, Clone, Default)]
pub(crate) struct Total(Arc<AtomicU32>);

impl Total {
    pub(crate) fn inflight(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Load of one node of one leg.
#[derive(Debug)]
pub(crate) struct Load {
    inflight: AtomicU32,
    total: Total,
    arrivals: Mutex<Arrivals>,
}

#[derive(Debug, Default)]
struct Arrivals {
    rates: Rates,
    peaks: Peaks,
}

/// What was under way when a request was dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Reading {
    pub(crate) inflight: u32,
    /// On all nodes of the leg.
    pub(crate) total: u32,
    pub(crate) rate_1s: f64,
    pub(crate) rate_10s: f64,
}

/// One request under way; dropping it ends it.
#[derive(Debug)]
pub(crate) struct UnderWay {
    load: Arc<Load>,
    arrival: u64,
    /// Its place, where those of the target are bounded.
    place: Option<OwnedSemaphorePermit>,
}

impl Load {
    pub(crate) fn new(total: Total) -> Arc<Self> {
        Arc::new(Self { inflight: AtomicU32::new(0), total, arrivals: Mutex::default() })
    }

    pub(crate) fn inflight(&self) -> u32 {
        self.inflight.load(Ordering::Relaxed)
    }

    /// Reads the load, then adds a request to it.
    pub(crate) fn enter(self: &Arc<Self>, now: Instant) -> (Reading, UnderWay) {
        let mut arrivals = self.arrivals();
        let inflight = self.inflight.fetch_add(1, Ordering::Relaxed);
        let total = self.total.0.fetch_add(1, Ordering::Relaxed);
        let (rate_1s, rate_10s) = arrivals.rates.arrive(now);
        let arrival = arrivals.peaks.arrive(inflight + 1);
        drop(arrivals);
        (
            Reading { inflight, total, rate_1s, rate_10s },
            UnderWay { load: self.clone(), arrival, place: None },
        )
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        // A poisoned lock only means that another thread died between two plain number updates.
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    /// Keeps a place among those of the target until the request has ended.
    pub(crate) fn hold(&mut self, place: Option<OwnedSemaphorePermit>) {
        self.place = place;
    }

    /// The most requests under way at once since this one began, this one not counted.
    pub(crate) fn peak(&self) -> u32 {
        self.load.arrivals().peaks.since(self.arrival).saturating_sub(1)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.load.inflight.fetch_sub(1, Ordering::Relaxed);
        self.load.total.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Maximum of the in-flight count over any time that reaches to now: the arrivals that no later one has topped. Their counts fall
/// from front to back, so there are never more of them than requests were once under way.
#[derive(Debug, Default)]
struct Peaks {
    arrivals: u64,
    untopped: VecDeque<(u64, u32)>,
}

impl Peaks {
    /// Notes an arrival that made the count so high; gives its number.
    fn arrive(&mut self, count: u32) -> u64 {
        while self.untopped.back().is_some_and(|(_, earlier)| *earlier <= count) {
            self.untopped.pop_back();
        }
        let number = self.arrivals;
        self.arrivals += 1;
        self.untopped.push_back((number, count));
        number
    }

    /// The highest count since the arrival of that number, itself included.
    fn since(&self, arrival: u64) -> u32 {
        let from = self.untopped.partition_point(|(number, _)| *number < arrival);
        self.untopped.get(from).map_or(0, |(_, count)| *count)
    }
}

/// Shot-noise estimates of the arrival rate with time constants of 1 s and 10 s:
/// `λ ← λ·exp(−Δt/τ) + 1/τ` at each arrival, read before the addition.
#[derive(Debug, Default)]
struct Rates {
    last: Option<Instant>,
    fast: f64,
    slow: f64,
}

impl Rates {
    fn arrive(&mut self, now: Instant) -> (f64, f64) {
        let elapsed = self.last.map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64());
        self.last = Some(now);
        let fast = self.fast * (-elapsed).exp();
        let slow = self.slow * (-elapsed / 10.0).exp();
        self.fast = fast + 1.0;
        self.slow = slow + 0.1;
        (fast, slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn inflight_is_read_before_the_request_is_counted() {
        let load = Load::new(Total::default());
        let now = Instant::now();
        let (first, guard) = load.enter(now);
        let (second, _other) = load.enter(now);
        assert_eq!((first.inflight, second.inflight, load.inflight()), (0, 1, 2));
        drop(guard);
        assert_eq!(load.inflight(), 1);
    }

    #[test]
    fn the_total_is_over_all_nodes() {
        let total = Total::default();
        let (one, other) = (Load::new(total.clone()), Load::new(total.clone()));
        let now = Instant::now();
        let (_, first) = one.enter(now);
        let (reading, _second) = other.enter(now);
        assert_eq!((reading.inflight, reading.total, total.inflight()), (0, 1, 2));
        drop(first);
        assert_eq!(other.enter(now).0.total, 1);
    }

    #[test]
    fn the_peak_is_the_most_that_was_under_way_meanwhile() {
        let load = Load::new(Total::default());
        let enter = || load.enter(Instant::now()).1;
        let first = enter();
        let second = enter();
        drop(enter());
        let third = enter();
        assert_eq!((first.peak(), second.peak(), third.peak()), (2, 2, 2));
        drop(second);
        drop(third);
        let last = enter();
        assert_eq!((first.peak(), last.peak()), (2, 1));
        drop(first);
        assert_eq!(enter().peak(), 1);
        assert!(load.arrivals().peaks.untopped.len() <= 3);
    }

    #[test]
    fn peaks_agree_with_a_plain_search() {
        let mut peaks = Peaks::default();
        let counts: Vec<u32> = (0..500u32).map(|n| n.wrapping_mul(2_654_435_761) >> 26).collect();
        for (now, count) in counts.iter().enumerate() {
            assert_eq!(peaks.arrive(*count), now as u64);
            for since in 0..=now {
                assert_eq!(Some(&peaks.since(since as u64)), counts[since..=now].iter().max());
            }
        }
    }

    #[test]
    fn the_rate_is_shot_noise_read_before_the_arrival() {
        let start = Instant::now();
        let mut rates = Rates::default();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let read: Vec<f64> = [0.0, 0.1, 0.2, 0.3, 1.0].iter().map(|t| rates.arrive(at(*t)).0).collect();
        for (got, wanted) in read.iter().zip([0.0, 0.904_837, 1.723_568, 2.464_386, 1.720_363]) {
            assert!((got - wanted).abs() < 1e-6, "{got} for {wanted}");
        }
    }
}
