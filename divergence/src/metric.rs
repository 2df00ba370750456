//! The metrics, one family per file: pure functions of numbers, of rankings, boxes or texts, with no rules and no classes.
//!
//! P is the primary's value and the reference, C the candidate's. All is computed in 64-bit floats. Pairs in which one side is NaN
//! or infinite are left out unless a function says otherwise: they are signs of degeneration, and have their own count.
//! `None` means that nothing defines the metric (no elements, a zero vector, a constant ranking); it never stands for zero.

pub mod decision;
pub mod detection;
pub mod direction;
pub mod distribution;
pub mod error;
pub mod image;
pub mod logprob;
pub mod ndcg;
pub mod order;
pub mod overlap;
pub mod probability;
pub mod quantile;
pub mod rbo;
pub mod relative;
pub mod text;
pub mod ulp;

/// The pairs that are finite on both sides.
pub(crate) fn finite<'v>(p: &'v [f64], c: &'v [f64]) -> impl Iterator<Item = (f64, f64)> + Clone + 'v {
    p.iter().copied().zip(c.iter().copied()).filter(|(p, c)| p.is_finite() && c.is_finite())
}

#[cfg(test)]
pub(crate) fn close(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() <= 1e-8 * expected.abs().max(1.0))
}
