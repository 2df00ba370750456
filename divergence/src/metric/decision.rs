//! What a caller would do with a row of scores: take the largest, or act from a threshold on.

/// Index of the largest element, the first of equals; `None` for an empty row or one with a NaN, which has no largest.
#[must_use]
pub fn argmax(row: &[f64]) -> Option<usize> {
    let (largest, has_nan) = largest(row);
    if has_nan { None } else { row.iter().position(|value| *value == largest) }
}

/// Whether an element is NaN; looks at all of them, as vector code does best.
pub(crate) fn has_nan(row: &[f64]) -> bool {
    row.iter().fold(false, |found, value| found | value.is_nan())
}

/// The largest element that is no NaN, −∞ of none; and whether one is NaN.
fn largest(row: &[f64]) -> (f64, bool) {
    const LANES: usize = 4;
    let (parts, rest) = row.as_chunks::<LANES>();
    let (mut found, mut nan) = ([f64::NEG_INFINITY; LANES], [false; LANES]);
    for part in parts {
        for lane in 0..LANES {
            found[lane] = if part[lane] > found[lane] { part[lane] } else { found[lane] };
            nan[lane] |= part[lane].is_nan();
        }
    }
    let largest = rest.iter().chain(&found).fold(f64::NEG_INFINITY, |largest, value| largest.max(*value));
    (largest, nan.contains(&true) || has_nan(rest))
}

/// P₍₁₎ − P₍₂₎: how far the largest is above the second largest; a small margin explains a flip. `None` for fewer than two elements
/// or a NaN.
#[must_use]
pub fn margin(row: &[f64]) -> Option<f64> {
    let top = argmax(row)?;
    let rest = row.iter().enumerate().filter(|(index, _)| *index != top).map(|(_, value)| *value);
    let second = rest.reduce(f64::max)?;
    // Two equal infinities are tied.
    Some(if row[top] == second { 0.0 } else { row[top] - second })
}

/// A move of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flip {
    /// Between values that are further apart on the primary than noise explains.
    Real,
    /// Between values that noise may order either way.
    NearTie,
}

/// Whether the largest element moved: a near tie when P_top − P[the candidate's pick] is at most twice the noise (the tolerated
/// difference) at either. `None` when it did not move or a row has a NaN.
#[must_use]
pub fn argmax_flip(p: &[f64], c: &[f64], noise: impl Fn(f64) -> f64) -> Option<Flip> {
    moved(p, argmax(p)?, argmax(c)?, noise)
}

/// The same of largest elements that are known: `top` of the primary's row, `pick` of the candidate's.
pub(crate) fn moved(p: &[f64], top: usize, pick: usize, noise: impl Fn(f64) -> f64) -> Option<Flip> {
    let chosen = p.get(pick)?;
    // A masked element (-inf) is below all others, with no noise to it.
    let noise_of = |value: f64| if value == f64::NEG_INFINITY { 0.0 } else { noise(value) };
    let apart = p[top] - noise_of(p[top]) > chosen + noise_of(*chosen);
    (top != pick).then_some(if apart { Flip::Real } else { Flip::NearTie })
}

/// Whether one side is at or above the threshold and the other is not: a near tie when P is within `noise` of it. `None` when both are
/// on one side, or one is NaN.
#[must_use]
pub fn crossed(p: f64, c: f64, threshold: f64, noise: f64) -> Option<Flip> {
    if p.is_nan() || c.is_nan() || (p >= threshold) == (c >= threshold) {
        return None;
    }
    Some(if (p - threshold).abs() <= noise { Flip::NearTie } else { Flip::Real })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_is_the_largest_and_nan_has_none() {
        assert_eq!(argmax(&[0.5, 0.9, 0.9]), Some(1));
        assert_eq!(argmax(&[f64::NEG_INFINITY; 2]), Some(0));
        assert_eq!((argmax(&[]), argmax(&[0.5, f64::NAN])), (None, None));
    }

    #[test]
    fn the_margin_is_between_the_two_best() {
        assert_eq!(margin(&[0.25, 0.75, 0.5]), Some(0.25));
        assert_eq!(margin(&[1.0, 1.0]), Some(0.0));
        assert_eq!(margin(&[f64::INFINITY; 2]), Some(0.0));
        assert_eq!((margin(&[1.0]), margin(&[])), (None, None));
    }

    #[test]
    fn a_flip_within_twice_the_noise_is_a_near_tie() {
        let noise = |_| 0.01;
        assert_eq!(argmax_flip(&[0.52, 0.48], &[0.49, 0.51], noise), Some(Flip::Real));
        assert_eq!(argmax_flip(&[0.505, 0.495], &[0.495, 0.505], noise), Some(Flip::NearTie));
        assert_eq!(argmax_flip(&[0.52, 0.48], &[0.51, 0.49], noise), None);
        assert_eq!(argmax_flip(&[0.52, f64::NEG_INFINITY], &[0.1, 0.2], noise), Some(Flip::Real));
    }

    #[test]
    fn a_threshold_belongs_to_the_side_above_it() {
        assert_eq!(crossed(0.49, 0.5, 0.5, 0.001), Some(Flip::Real));
        assert_eq!(crossed(0.4999, 0.5, 0.5, 0.001), Some(Flip::NearTie));
        assert_eq!(crossed(0.5, 0.9, 0.5, 0.001), None);
        assert_eq!(crossed(f64::NAN, 0.9, 0.5, 0.001), None);
    }
}
