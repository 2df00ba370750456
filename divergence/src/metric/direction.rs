//! Direction and size of a vector: embeddings and logits.

use serde::Serialize;

use super::finite;

/// How one vector lies to another, over the elements finite on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Direction {
    /// Σpc / (√Σp² √Σc²), in [-1, 1]; `None` for a zero vector or fewer than two elements.
    pub cosine: Option<f64>,
    /// |C − P| / |P| in the Euclidean norm; `None` where P is zero.
    pub l2_relative: Option<f64>,
    /// |C| / |P|, which the cosine hides; `None` where P is zero.
    pub norm_ratio: Option<f64>,
}

/// Measures two vectors of one length.
#[must_use]
pub fn direction(p: &[f64], c: &[f64]) -> Direction {
    let pairs = finite(p, c);
    // Scaled by the largest magnitudes, so that no square overflows.
    let (p_max, c_max) =
        pairs.clone().fold((0.0_f64, 0.0_f64), |(a, b), (p, c)| (a.max(p.abs()), b.max(c.abs())));
    if p_max == 0.0 {
        return Direction { cosine: None, l2_relative: None, norm_ratio: None };
    }
    let both = p_max.max(c_max);
    let unit = if c_max == 0.0 { 1.0 } else { c_max };
    let mut sums = Sums::default();
    for (p, c) in pairs {
        sums.add(p / p_max, c / unit, c / both - p / both);
    }
    let p_norm = sums.pp.sqrt();
    let defined = sums.count >= 2 && c_max > 0.0;
    Direction {
        cosine: defined.then(|| (sums.pc / (p_norm * sums.cc.sqrt())).clamp(-1.0, 1.0)),
        l2_relative: Some(sums.dd.sqrt() / p_norm * (both / p_max)),
        norm_ratio: Some(sums.cc.sqrt() / p_norm * (c_max / p_max)),
    }
}

#[derive(Default)]
struct Sums {
    pp: f64,
    cc: f64,
    pc: f64,
    dd: f64,
    count: usize,
}

impl Sums {
    fn add(&mut self, p: f64, c: f64, d: f64) {
        self.pp += p * p;
        self.cc += c * c;
        self.pc += p * c;
        self.dd += d * d;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    #[test]
    fn the_values_are_those_of_scipy() {
        let found = direction(&[1.0, 2.0, 3.0, 4.0], &[1.1, 1.9, 3.2, 3.8]);
        assert!(close(found.cosine, 0.998_354_578_497_429_4));
        assert!(close(found.l2_relative, 0.057_735_026_918_962_63));
        assert!(close(found.norm_ratio, 0.991_631_652_042_901));
    }

    #[test]
    fn ten_times_a_vector_has_its_direction_and_another_norm() {
        let found = direction(&[0.1, -0.2], &[1.0, -2.0]);
        assert!(close(found.cosine, 1.0) && close(found.norm_ratio, 10.0) && close(found.l2_relative, 9.0));
    }

    #[test]
    fn a_zero_vector_has_no_direction() {
        let none = Direction { cosine: None, l2_relative: None, norm_ratio: None };
        assert_eq!(direction(&[0.0, 0.0], &[1.0, 1.0]), none);
        assert_eq!(direction(&[], &[]), none);
        let lost = direction(&[1.0, 1.0], &[0.0, 0.0]);
        assert_eq!((lost.cosine, lost.norm_ratio, lost.l2_relative), (None, Some(0.0), Some(1.0)));
        assert_eq!(direction(&[1.0], &[2.0]).cosine, None);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let found = direction(&[f64::MAX, f64::MAX], &[f64::MAX, -f64::MAX]);
        assert!(close(found.cosine, 0.0) && close(found.norm_ratio, 1.0));
    }
}
