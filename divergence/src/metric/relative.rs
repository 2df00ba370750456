//! Ratios that do not blow up at zero.

/// 2|C − P| / (|C| + |P|), in [0, 2]: the symmetric relative difference. 0 where both magnitudes are below `floor`, 2 for anything
/// above it against zero. Halved throughout so that no sum overflows. `difference` is |C − P|.
#[must_use]
pub fn symmetric(p: f64, c: f64, difference: f64, floor: f64) -> f64 {
    if (p.abs() < floor && c.abs() < floor) || difference == 0.0 {
        return 0.0;
    }
    let sum = p.abs() / 2.0 + c.abs() / 2.0;
    let difference = if difference.is_finite() { difference / 2.0 } else { (c / 2.0 - p / 2.0).abs() };
    2.0 * (difference / sum).min(1.0)
}

/// |log10(|C| / |P|)|, magnitudes below the floor taken as the floor, so that what vanishes or appears is measured against it;
/// `None` when both are below. Ten times too large is 1.
#[must_use]
pub fn log10_ratio(p: f64, c: f64, floor: f64) -> Option<f64> {
    if p.abs() <= floor && c.abs() <= floor {
        return None;
    }
    // A floor of 0 leaves the smallest magnitude there is.
    let magnitude = |value: f64| value.abs().max(floor).max(f64::from_bits(1)).log10();
    Some((magnitude(c) - magnitude(p)).abs())
}

/// |C − P| in units of what is tolerated: passes at 1 or less (numpy's `isclose` and torch's `assert_close` sum the two parts of
/// a tolerance; Polygraphy passes where either holds). NaN on both sides and equal infinities are 0; any other pair that is not
/// finite, or that differs where nothing is tolerated, is infinite.
#[must_use]
pub fn tolerance_units(p: f64, c: f64, difference: f64, tolerance: f64) -> f64 {
    if p.is_nan() || c.is_nan() {
        return if p.is_nan() && c.is_nan() { 0.0 } else { f64::INFINITY };
    }
    // Equal infinities, too: their difference is NaN. Large integers differ though their floats are equal.
    if p == c && (difference == 0.0 || p.is_infinite()) {
        return 0.0;
    }
    if p.is_infinite() || c.is_infinite() || tolerance == 0.0 {
        return f64::INFINITY;
    }
    // A tolerance past the largest number would make NaN of a difference past it.
    if tolerance.is_infinite() { 0.0 } else { difference / tolerance }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    #[test]
    fn tolerance_units_of_the_edges() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let units = |p: f64, c: f64| tolerance_units(p, c, (c - p).abs(), 0.5);
        assert_eq!(units(1.0, 2.0), 2.0);
        assert_eq!(units(nan, nan), 0.0);
        assert_eq!(units(nan, 1.0), inf);
        assert_eq!(units(inf, inf), 0.0);
        assert_eq!(units(inf, -inf), inf);
        assert_eq!(units(1.0, inf), inf);
        assert_eq!(units(0.0, -0.0), 0.0);
        assert_eq!(tolerance_units(1.0, 1.0, 0.0, 0.0), 0.0);
        assert_eq!(tolerance_units(1.0, 2.0, 1.0, 0.0), inf);
    }

    #[test]
    fn the_symmetric_difference_is_2_against_zero_and_never_more() {
        let of = |p: f64, c: f64| symmetric(p, c, (c - p).abs(), 1e-9);
        assert_eq!(of(0.0, 0.3), 2.0);
        assert_eq!(of(0.3, 0.0), 2.0);
        assert_eq!(of(1.0, 3.0), 1.0);
        assert_eq!(of(1e-12, 1e-10), 0.0);
        assert_eq!(of(f64::MAX, -f64::MAX), 2.0);
        assert_eq!(of(f64::MAX, f64::MAX), 0.0);
    }

    #[test]
    fn ten_times_is_a_log_ratio_of_1_and_nothing_is_measured_below_the_floor() {
        assert!(close(log10_ratio(0.02, 0.2, 1e-5), 1.0));
        assert!(close(log10_ratio(0.2, -0.02, 1e-5), 1.0));
        assert!(close(log10_ratio(0.01, 0.0, 1e-5), 3.0));
        assert_eq!(log10_ratio(1e-7, 1e-6, 1e-5), None);
        assert!(log10_ratio(1.0, 0.0, 0.0).unwrap().is_finite());
    }
}
