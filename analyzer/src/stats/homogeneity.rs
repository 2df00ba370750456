//! Whether several groups share one rate: K. Pearson's chi-square (1900).

use statrs::function::gamma::gamma_ur;

use super::Share;

/// Result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Homogeneity {
    /// Pearson's statistic.
    pub chi_square: f64,
    /// Degrees of freedom: groups less one.
    pub degrees: usize,
    /// Upper tail of the statistic.
    pub p_value: f64,
    /// Smallest expected count of any cell; below 5 the p-value is only rough.
    pub least_expected: f64,
}

/// Pearson's test of equal rates; groups without trials are left out. `None` with fewer than two groups, or when no
/// trial, or every trial, has the event.
#[must_use]
pub fn chi_square(groups: &[Share]) -> Option<Homogeneity> {
    let groups: Vec<Share> = groups.iter().copied().filter(|group| group.trials > 0).collect();
    let all: Share = groups.iter().copied().sum();
    if groups.len() < 2 || all.events == 0 || all.events == all.trials {
        return None;
    }
    let rate = all.events as f64 / all.trials as f64;
    let (mut statistic, mut least_expected) = (0.0, f64::INFINITY);
    for group in &groups {
        let n = group.trials as f64;
        let deviation = group.events as f64 - n * rate;
        statistic += deviation * deviation / (n * rate * (1.0 - rate));
        least_expected = least_expected.min(n * rate.min(1.0 - rate));
    }
    let degrees = groups.len() - 1;
    // The upper tail at 0 is 1; the incomplete gamma function is only defined above it.
    let p_value = if statistic > 0.0 { gamma_ur(degrees as f64 / 2.0, statistic / 2.0) } else { 1.0 };
    Some(Homogeneity { chi_square: statistic, degrees, p_value, least_expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    #[test]
    fn two_groups_give_the_square_of_the_two_proportion_z() {
        // z of a two-level Cochran–Armitage test on the same table, squared.
        let groups = [Share { events: 18, trials: 1000 }, Share { events: 2, trials: 1000 }];
        let test = chi_square(&groups).unwrap();
        let expected = 256.0 / (2000.0 * 0.01 * 0.99);
        close(test.chi_square, expected, 12);
        close(test.p_value, 2.0 * crate::stats::normal::upper_tail(expected.sqrt()), 9);
    }

    #[test]
    fn equal_groups_are_homogeneous_and_empty_ones_do_not_count() {
        let group = Share { events: 5, trials: 100 };
        let test = chi_square(&[group, Share::default(), group, group]).unwrap();
        assert_eq!((test.chi_square, test.degrees, test.p_value), (0.0, 2, 1.0));
        assert_eq!(chi_square(&[group]), None);
        assert_eq!(chi_square(&[Share { events: 0, trials: 9 }; 3]), None);
    }
}
