//! Discordant pairs: Q. McNemar, Psychometrika 12 (1947), exact form, and its sequential form.

use statrs::function::beta::{beta_reg, ln_beta};

/// Exact two-sided p-value for `b` pairs in which only one side has the event and `c` in which only the other has it:
/// twice the binomial tail at one half, at most 1.
#[must_use]
pub fn exact(b: u64, c: u64) -> f64 {
    let (n, fewer) = (b + c, b.min(c));
    if n == 0 || fewer == n - fewer {
        return 1.0;
    }
    // P(X ≤ k) of a binomial is the regularised incomplete beta function I_{1−p}(n − k, k + 1).
    let tail = beta_reg((n - fewer) as f64, fewer as f64 + 1.0, 0.5);
    (2.0 * tail).min(1.0)
}

/// E-value for unequal discordant counts under a Beta(1, 1) mixture, `2^(b+c) B(1+b, 1+c) / B(1, 1)`. By Ville's inequality
/// it reaches 1/α at any time with probability at most α when there is no difference, so one may look while data come in. At most `f64::MAX`.
#[must_use]
pub fn e_value(b: u64, c: u64) -> f64 {
    let (b, c) = (b as f64, c as f64);
    ((b + c) * std::f64::consts::LN_2 + ln_beta(1.0 + b, 1.0 + c)).exp().min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    #[test]
    fn exact_p_values_have_their_reference_values() {
        close(exact(25, 8), 0.004_551_384_132, 9);
        close(exact(8, 25), 0.004_551_384_132, 9);
        close(exact(5, 0), 0.0625, 12);
        assert_eq!(exact(0, 0), 1.0);
        assert_eq!(exact(7, 7), 1.0);
    }

    #[test]
    fn e_values_have_their_reference_values() {
        close(e_value(0, 0), 1.0, 9);
        close(e_value(5, 0), 5.333_333_333, 9);
        close(e_value(6, 0), 9.142_857_143, 9);
        close(e_value(10, 0), 93.0909, 6);
        close(e_value(25, 8), 18.196_65, 7);
        close(e_value(12, 10), 0.282_011, 6);
        close(e_value(100, 100), 0.088_292_1, 6);
        assert_eq!(e_value(12_000, 0), f64::MAX, "a number in every report");
    }
}
