//! The coefficients ±1 of the projections: fixed by a seed, cheap to apply, the same on every machine.
//!
//! A projection has one table of random signs. Each block of elements reads it from a random place on and with a random sign of its own,
//! both drawn for its number; so the signs of two places of an answer are unrelated, and a block is still a plain product of two slices.

use std::sync::LazyLock;

use super::PROJECTIONS;

/// Elements of a block.
pub(super) const BLOCK: usize = 256;

/// Signs of one projection, twice in a row so that a block may begin anywhere in the first half.
pub(super) struct Pattern {
    signs: [f64; 2 * BLOCK],
    seed: u64,
}

static PATTERNS: LazyLock<[Pattern; PROJECTIONS]> = LazyLock::new(|| std::array::from_fn(Pattern::new));

impl Pattern {
    /// The signs of projection `k` (below [`PROJECTIONS`]).
    pub(super) fn of(k: usize) -> &'static Self {
        &PATTERNS[k]
    }

    fn new(k: usize) -> Self {
        let seed = mixed(0x5eed ^ ((k as u64) << 32));
        let sign = |index: usize| {
            let word = mixed(seed.wrapping_add((index / 64) as u64));
            if word >> (index % 64) & 1 == 1 { -1.0 } else { 1.0 }
        };
        Self { signs: std::array::from_fn(|index| sign(index % BLOCK)), seed: mixed(seed) }
    }

    /// Σ r_i·x_i of a chunk of at most one block that begins a block at element `at`.
    pub(super) fn project(&self, at: usize, chunk: &[f64]) -> f64 {
        let word = mixed(self.seed ^ (at / BLOCK) as u64);
        let from = (word % BLOCK as u64) as usize;
        let sum = dot(&self.signs[from..from + chunk.len()], chunk);
        if word >> 63 == 1 { -sum } else { sum }
    }
}

/// In eight strands, whose order is part of the signature: it must not depend on the compiler.
fn dot(signs: &[f64], values: &[f64]) -> f64 {
    let mut strands = [0.0; 8];
    let (signs, values) = (signs.chunks_exact(8), values.chunks_exact(8));
    let rest: f64 = signs.remainder().iter().zip(values.remainder()).map(|(sign, value)| sign * value).sum();
    for (signs, values) in signs.zip(values) {
        for (strand, (sign, value)) in strands.iter_mut().zip(signs.iter().zip(values)) {
            *strand += sign * value;
        }
    }
    strands.iter().sum::<f64>() + rest
}

/// One step of SplitMix64 (Steele, Lea & Flood 2014).
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // First outputs of the reference implementation for seeds 0 and 1234567.
        assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mixed(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn signs_are_balanced_and_projections_unrelated() {
        let ones = |k: usize| Pattern::of(k).signs[..BLOCK].iter().filter(|sign| **sign > 0.0).count();
        for k in 0..PROJECTIONS {
            assert!((BLOCK * 3 / 8..=BLOCK * 5 / 8).contains(&ones(k)), "{k}: {}", ones(k));
            for other in 0..k {
                let shared: f64 =
                    Pattern::of(k).signs.iter().zip(&Pattern::of(other).signs).map(|(a, b)| a * b).sum();
                assert!(shared.abs() < BLOCK as f64 / 2.0, "{k} {other}: {shared}");
            }
        }
    }
}
