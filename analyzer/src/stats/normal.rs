//! Tails and quantiles of the standard normal distribution.

use std::f64::consts::SQRT_2;

use statrs::function::erf::{erfc, erfc_inv};

/// P(Z > z).
#[must_use]
pub fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z / SQRT_2)
}

/// The z that `confidence` (0 to 1, exclusive) of the distribution lies within, on both sides: 1.96 for 0.95.
#[must_use]
pub fn two_sided_z(confidence: f64) -> f64 {
    SQRT_2 * erfc_inv(1.0 - confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    #[test]
    fn quantiles_and_tails_have_their_known_values() {
        close(two_sided_z(0.95), 1.959_963_984_540_054, 12);
        close(two_sided_z(0.99), 2.575_829_303_548_900_6, 12);
        close(upper_tail(1.959_963_984_540_054), 0.025, 10);
        close(2.0 * upper_tail(8.069_573_7), 7.0544e-16, 4);
    }
}
