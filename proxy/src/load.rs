//! Load where it is caused: in-flight count and arrival rate per (leg, node), read before the request
//! that is being dispatched is added.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Load of one node of one leg.
#[derive(Debug)]
pub(crate) struct Load {
    inflight: AtomicU32,
    rates: Mutex<Rates>,
}

/// What was under way when a request was dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Reading {
    pub(crate) inflight: u32,
    pub(crate) rate_1s: f64,
    pub(crate) rate_10s: f64,
}

/// One request under way; dropping it ends it.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Load>);

impl Load {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { inflight: AtomicU32::new(0), rates: Mutex::new(Rates::default()) })
    }

    pub(crate) fn inflight(&self) -> u32 {
        self.inflight.load(Ordering::Relaxed)
    }

    /// Reads the load, then adds a request to it.
    pub(crate) fn enter(self: &Arc<Self>, now: Instant) -> (Reading, UnderWay) {
        let inflight = self.inflight.fetch_add(1, Ordering::Relaxed);
        // A poisoned lock only means that another thread died between two plain number updates.
        let (rate_1s, rate_10s) = self.rates.lock().unwrap_or_else(PoisonError::into_inner).arrive(now);
        (Reading { inflight, rate_1s, rate_10s }, UnderWay(self.clone()))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.inflight.fetch_sub(1, Ordering::Relaxed);
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
        let load = Load::new();
        let now = Instant::now();
        let (first, guard) = load.enter(now);
        let (second, _other) = load.enter(now);
        assert_eq!((first.inflight, second.inflight, load.inflight()), (0, 1, 2));
        drop(guard);
        assert_eq!(load.inflight(), 1);
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
