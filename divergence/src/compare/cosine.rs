//! Direction of an output, whatever its size.

use super::structure::Pair;

/// Σps / (√Σp² √Σs²) over the elements finite on both sides, in [-1, 1]; `None` for fewer than two, a zero vector, or no floats.
pub(super) fn cosine(pair: &Pair<'_>) -> Option<f64> {
    if !pair.dtype.is_float() || pair.primary.values.len() < 2 {
        return None;
    }
    let finite = || pair.values().filter(|(p, s)| p.is_finite() && s.is_finite());
    // Scaled by the largest magnitude, so that no square overflows.
    let (p_max, s_max) = finite().fold((0.0_f64, 0.0_f64), |(p, s), (a, b)| (p.max(a.abs()), s.max(b.abs())));
    if p_max == 0.0 || s_max == 0.0 {
        return None;
    }
    let sums = finite().map(|(p, s)| (p / p_max, s / s_max)).fold((0.0, 0.0, 0.0, 0), sum);
    let (dot, p_square, s_square, count) = sums;
    (count >= 2).then(|| (dot / (p_square * s_square).sqrt()).clamp(-1.0, 1.0))
}

fn sum((dot, pp, ss, count): (f64, f64, f64, usize), (p, s): (f64, f64)) -> (f64, f64, f64, usize) {
    (dot + p * s, pp + p * p, ss + s * s, count + 1)
}
