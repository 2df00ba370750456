//! Latencies: an HdrHistogram of two significant digits with its exact maximum.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Latencies are cut to this, one day in µs, so that a histogram's memory is bounded.
const HIGHEST_US: u64 = 24 * 3600 * 1_000_000;

/// Latencies in µs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Latency {
    histogram: Histogram<u64>,
    /// Exact, up to [`HIGHEST_US`].
    max_us: u64,
}

impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new(2).expect("two significant digits are allowed");
        Self { histogram, max_us: 0 }
    }
}

impl Latency {
    pub(crate) fn add(&mut self, latency_us: u64) {
        self.add_many(latency_us.min(HIGHEST_US), 1);
        self.max_us = self.max_us.max(latency_us.min(HIGHEST_US));
    }

    fn add_many(&mut self, latency_us: u64, count: u64) {
        self.histogram.record_n(latency_us, count).expect("the histogram resizes itself up to a day");
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.histogram.add(&other.histogram).expect("both resize themselves and have two digits");
        self.max_us = self.max_us.max(other.max_us);
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Latency of the quantile, within 1 %; never above the maximum. `None` when empty.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<u64> {
        let value = || self.histogram.value_at_quantile(quantile).min(self.max_us);
        (!self.histogram.is_empty()).then(value)
    }

    pub(crate) fn max(&self) -> Option<u64> {
        (!self.histogram.is_empty()).then_some(self.max_us)
    }
}

/// Serial form: the buckets that hold something, as (value, count), and the maximum.
#[derive(Serialize, Deserialize)]
struct Recorded {
    buckets: Vec<(u64, u64)>,
    max_us: u64,
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let recorded = self.histogram.iter_recorded();
        let buckets = recorded.map(|at| (at.value_iterated_to(), at.count_at_value())).collect();
        Recorded { buckets, max_us: self.max_us }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let recorded = Recorded::deserialize(deserializer)?;
        let mut latency = Self { max_us: recorded.max_us, ..Self::default() };
        for (value, count) in recorded.buckets {
            // The top of the last bucket may lie a little beyond the cut.
            latency.add_many(value.min(2 * HIGHEST_US), count);
        }
        Ok(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_hundredth_and_the_maximum_is_exact() {
        let mut latency = Latency::default();
        (1..=10_000).for_each(|us| latency.add(us));
        for (quantile, exact) in [(0.5, 5000.0), (0.99, 9900.0), (0.999, 9990.0)] {
            let value = latency.quantile(quantile).unwrap() as f64;
            assert!((value - exact).abs() <= exact * 0.01, "{value} {exact}");
        }
        assert_eq!(
            (latency.quantile(1.0), latency.max(), latency.count()),
            (Some(10_000), Some(10_000), 10_000)
        );
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!((Latency::default().quantile(0.5), Latency::default().max()), (None, None));
    }

    #[test]
    fn it_comes_back_from_its_serial_form() {
        let mut latency = Latency::default();
        [0, 1, 777, 123_456_789, u64::MAX].into_iter().for_each(|us| latency.add(us));
        let text = serde_json::to_string(&latency).unwrap();
        let back: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(back, latency);
    }
}
