//! Distances of two samples whatever their order. They compare with other tools and say nothing about pairs: a swap of every answer
//! changes none of them. For information only.

use serde::Serialize;

use super::quantile::quantile;

/// Distances of two samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distribution {
    /// Kolmogorov–Smirnov statistic: the largest distance of the two empirical distribution functions, 0 to 1.
    pub kolmogorov_smirnov: f64,
    /// First Wasserstein distance ∫|F − G|, in standard deviations of P (n in the denominator); in the unit of the output where P
    /// is constant.
    pub wasserstein: f64,
    /// Population stability index Σ (c − p) ln(c / p) over ten bins between quantiles of P, with 0.5 added to each count.
    pub stability_index: f64,
    /// mean(C) / mean(P); `None` where the mean of P is 0.
    pub mean_ratio: Option<f64>,
}

/// Measures two samples; only finite values count. `None` when a side has fewer than two.
#[must_use]
pub fn distribution(p: &[f64], c: &[f64]) -> Option<Distribution> {
    let sorted = |values: &[f64]| {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let (mut p, c) = (sorted(p), sorted(c));
    if p.len() < 2 || c.len() < 2 {
        return None;
    }
    let (kolmogorov_smirnov, area) = steps(&p, &c);
    let (p_mean, c_mean) = (mean(&p), mean(&c));
    let spread = (p.iter().map(|value| (value - p_mean).powi(2)).sum::<f64>() / p.len() as f64).sqrt();
    Some(Distribution {
        kolmogorov_smirnov,
        wasserstein: if spread > 0.0 { area / spread } else { area },
        stability_index: stability(&mut p, &c)?,
        mean_ratio: (p_mean != 0.0).then(|| c_mean / p_mean),
    })
}

fn mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    values.iter().map(|value| value / count).sum()
}

/// Largest distance of the distribution functions, and the area between them.
fn steps(p: &[f64], c: &[f64]) -> (f64, f64) {
    let (mut i, mut j, mut last) = (0, 0, None);
    let (mut largest, mut area, mut apart) = (0.0_f64, 0.0, 0.0_f64);
    while i < p.len() || j < c.len() {
        let here = match (p.get(i), c.get(j)) {
            (Some(p), Some(c)) => p.min(*c),
            (Some(only), None) | (None, Some(only)) => *only,
            (None, None) => break,
        };
        if let Some(last) = last {
            area += apart * (here - last);
        }
        i += p[i..].iter().take_while(|value| **value <= here).count();
        j += c[j..].iter().take_while(|value| **value <= here).count();
        apart = (i as f64 / p.len() as f64 - j as f64 / c.len() as f64).abs();
        largest = largest.max(apart);
        last = Some(here);
    }
    (largest, area)
}

fn stability(p: &mut [f64], c: &[f64]) -> Option<f64> {
    let mut edges = (1..10).map(|tenth| quantile(p, f64::from(tenth) / 10.0)).collect::<Option<Vec<_>>>()?;
    edges.dedup();
    let counts = |values: &[f64]| {
        let mut counts = vec![0.5_f64; edges.len() + 1];
        values.iter().for_each(|value| counts[edges.partition_point(|edge| edge < value)] += 1.0);
        let all: f64 = counts.iter().sum();
        counts.into_iter().map(move |count| count / all).collect::<Vec<_>>()
    };
    Some(index(&counts(p), &counts(c)))
}

/// The index of two distributions over the same bins, none of them empty.
fn index(p: &[f64], c: &[f64]) -> f64 {
    p.iter().zip(c).map(|(p, c)| (c - p) * (c / p).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    #[test]
    fn the_values_are_those_of_scipy() {
        let p = [0.12, -1.5, 2.25, 0.8, 3.1, -0.4, 1.9, 0.05, 2.2, 1.1, 0.6, -2.0];
        let c = [0.1, -1.2, 2.5, 0.75, 2.9, -0.9, 2.1, 0.3, 2.0, 1.4, 0.2, -1.8];
        let found = distribution(&p, &c).unwrap();
        assert!(close(Some(found.kolmogorov_smirnov), 0.083_333_333_3));
        assert!(close(Some(found.wasserstein), 0.2025 / 1.475_598_748_531_140_1));
        let (p, c) = ([0.1, 0.2, 0.3, 0.4, 0.5], [0.15, 0.35, 0.55, 0.75, 0.95]);
        assert!(close(distribution(&p, &c).map(|found| found.kolmogorov_smirnov), 0.6));
        let (area, apart) =
            (steps(&[0.0, 1.0, 3.0], &[5.0, 6.0, 8.0]).1, steps(&[0.1, 0.2, 0.4], &[0.1, 0.25]).1);
        assert!(close(Some(area), 5.0) && close(Some(apart), 0.075));
    }

    #[test]
    fn the_index_of_known_shares_is_the_known_one() {
        assert!(close(Some(index(&[0.1, 0.2, 0.3, 0.4], &[0.25; 4])), 0.228_217_41));
        assert_eq!(index(&[0.5, 0.5], &[0.5, 0.5]), 0.0);
    }

    #[test]
    fn a_swap_of_everything_moves_none_of_them() {
        let p: Vec<f64> = (0..100).map(f64::from).collect();
        let swapped: Vec<f64> = p.iter().rev().copied().collect();
        let found = distribution(&p, &swapped).unwrap();
        let none = Distribution {
            kolmogorov_smirnov: 0.0,
            wasserstein: 0.0,
            stability_index: 0.0,
            mean_ratio: Some(1.0),
        };
        assert_eq!(found, none);
    }

    #[test]
    fn too_few_values_have_no_distribution_and_a_constant_has_no_spread() {
        assert_eq!(distribution(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(distribution(&[f64::NAN, 1.0], &[1.0, 2.0]), None);
        let constant = distribution(&[0.0, 0.0], &[1.0, 1.0]).unwrap();
        assert_eq!(
            (constant.kolmogorov_smirnov, constant.wasserstein, constant.mean_ratio),
            (1.0, 1.0, None)
        );
        assert!(constant.stability_index > 0.0 && constant.stability_index.is_finite());
    }
}
