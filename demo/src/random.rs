//! Numbers that look random and are the same on every run: features, row counts and the jitter of service times.

/// A stream of numbers from a seed: SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Debug, Clone)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// The stream of that seed. Streams of neighbouring seeds are unrelated.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// The next number in [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next whole number in `0..bound`; 0 when `bound` is 0. Not perfectly even for huge bounds, which nothing here uses.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits().checked_rem(bound).unwrap_or(0)
    }
}

/// The finaliser of SplitMix64: a bijection of 64 bits that spreads every input bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut stream = Stream::new(seed);
            (0..100).map(|_| stream.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn numbers_agree_with_the_published_generator() {
        // First output of SplitMix64 from state 0.
        assert_eq!(Stream { state: 0 }.bits(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn units_fill_the_interval_evenly() {
        let mut stream = Stream::new(1);
        let draws: Vec<f64> = (0..10_000).map(|_| stream.unit()).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.015, "mean {mean}, six standard errors are 0.017");
    }
}
