//! Many tests at once: Y. Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57 (1995).

/// Adjusted p-values (q-values) in the order of `p_values`: step-up, monotone, at most 1. A NaN is not a test: it stays NaN
/// and does not count.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&i| !p_values[i].is_nan()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]).then(i.cmp(&j)));
    let tests = order.len() as f64;
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut least = 1.0_f64;
    for (rank, &index) in order.iter().enumerate().rev() {
        least = least.min(p_values[index] * tests / (rank + 1) as f64);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    #[test]
    fn the_classic_twenty_five_have_their_q_values() {
        let p = [
            0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251, 0.269, 0.275,
            0.34, 0.341, 0.384, 0.569, 0.594, 0.696, 0.762, 0.94, 0.942, 0.975, 0.986,
        ];
        let q = benjamini_hochberg(&p);
        for (actual, expected) in q.iter().zip([0.025, 0.1, 0.21, 0.21, 0.21]) {
            close(*actual, expected, 12);
        }
        assert_eq!(q.iter().filter(|q| **q <= 0.05).count(), 1);
        assert!(q.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn nan_is_left_out_of_the_family() {
        let q = benjamini_hochberg(&[0.04, f64::NAN, 0.02]);
        assert_eq!((q[0], q[2]), (0.04, 0.04));
        assert!(q[1].is_nan());
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
