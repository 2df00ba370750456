//! Metrics of single elements: tolerance units, differences, ratios, signs.

use super::structure::Pair;
use crate::Output;

/// Element metrics of one output.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Elements {
    /// Number of numeric elements.
    pub(super) count: usize,
    /// Number of those beyond tolerance.
    pub(super) beyond: usize,
    /// Most tolerance units, and the first index that has them.
    pub(super) worst: Option<(f64, usize)>,
    /// Number of elements beyond tolerance among those finite on both sides.
    pub(super) finite_beyond: usize,
    /// Most tolerance units among those.
    pub(super) finite_worst: f64,
    pub(super) max_absolute: Option<f64>,
    pub(super) max_relative: Option<f64>,
    pub(super) symmetric_relative: Option<f64>,
    pub(super) log10_ratio: Option<f64>,
    pub(super) sign_change: Option<bool>,
    /// Largest log ratio of an element beyond tolerance whose primary value is above the floor.
    pub(super) ratio_beyond: f64,
}

/// Puts the larger of both into the slot.
pub(super) fn raise(slot: &mut Option<f64>, value: f64) {
    *slot = Some(slot.map_or(value, |known| known.max(value)));
}

impl Elements {
    /// Measures one pair of outputs.
    pub(super) fn of(pair: &Pair<'_>) -> Self {
        let mut elements = Self::default();
        let exact = exact(&pair.primary, &pair.shadow);
        for (index, (p, s)) in pair.values().enumerate() {
            let difference = match &exact {
                Some((primary, shadow)) => primary[index].abs_diff(shadow[index]) as f64,
                None => (s - p).abs(),
            };
            elements.add(pair, index, (p, s), difference);
        }
        elements
    }

    fn add(&mut self, pair: &Pair<'_>, index: usize, (p, s): (f64, f64), difference: f64) {
        self.count += 1;
        let units = tolerance_units(p, s, difference, pair.tolerance.around(p));
        let beyond = units > 1.0;
        self.beyond += usize::from(beyond);
        if self.worst.is_none_or(|(worst, _)| units > worst) {
            self.worst = Some((units, index));
        }
        if !p.is_finite() || !s.is_finite() {
            return;
        }
        self.finite_beyond += usize::from(beyond);
        self.finite_worst = self.finite_worst.max(units);
        raise(&mut self.max_absolute, difference);
        if p != 0.0 {
            raise(&mut self.max_relative, difference / p.abs());
        }
        raise(&mut self.symmetric_relative, symmetric_relative(p, s, difference, pair.floor));
        if !pair.dtype.is_float() {
            return;
        }
        if let Some(ratio) = log10_ratio(p, s, pair.floor) {
            raise(&mut self.log10_ratio, ratio);
            if beyond && p.abs() > pair.floor {
                self.ratio_beyond = self.ratio_beyond.max(ratio);
            }
        }
        let above = p.abs() > pair.floor && s.abs() > pair.floor;
        let changed = beyond && above && p.is_sign_negative() != s.is_sign_negative();
        self.sign_change = Some(self.sign_change.unwrap_or(false) || changed);
    }
}

/// |S − P| in units of what is tolerated.
fn tolerance_units(p: f64, s: f64, difference: f64, tolerance: f64) -> f64 {
    if p.is_nan() || s.is_nan() {
        return if p.is_nan() && s.is_nan() { 0.0 } else { f64::INFINITY };
    }
    // Equal infinities, too: their difference is NaN. Large integers differ though their floats are equal.
    if p == s && (difference == 0.0 || p.is_infinite()) {
        return 0.0;
    }
    if p.is_infinite() || s.is_infinite() || tolerance == 0.0 {
        return f64::INFINITY;
    }
    // A tolerance past the largest number would make NaN of a difference past it.
    if tolerance.is_infinite() { 0.0 } else { difference / tolerance }
}

/// 2|S − P| / (|S| + |P|), halved throughout so that no sum overflows.
fn symmetric_relative(p: f64, s: f64, difference: f64, floor: f64) -> f64 {
    if (p.abs() < floor && s.abs() < floor) || difference == 0.0 {
        return 0.0;
    }
    let sum = p.abs() / 2.0 + s.abs() / 2.0;
    let difference = if difference.is_finite() { difference / 2.0 } else { (s / 2.0 - p / 2.0).abs() };
    2.0 * (difference / sum).min(1.0)
}

/// |log10(|S| / |P|)|, magnitudes below the floor taken as the floor; `None` when both are below.
fn log10_ratio(p: f64, s: f64, floor: f64) -> Option<f64> {
    if p.abs() <= floor && s.abs() <= floor {
        return None;
    }
    // A floor of 0 leaves the smallest magnitude there is.
    let magnitude = |value: f64| value.abs().max(floor).max(f64::from_bits(1)).log10();
    Some((magnitude(s) - magnitude(p)).abs())
}

/// Both sides as exact integers, when one of them needs it.
fn exact(primary: &Output, shadow: &Output) -> Option<(Vec<i128>, Vec<i128>)> {
    if primary.exact.is_none() && shadow.exact.is_none() {
        return None;
    }
    // A null has no integer: the pair is compared as floats then.
    if primary.nulls + shadow.nulls > 0 || primary.dtype.is_float() || shadow.dtype.is_float() {
        return None;
    }
    let whole = |output: &Output| match &output.exact {
        Some(exact) => exact.clone(),
        None => output.values.iter().map(|value| *value as i128).collect(),
    };
    let (primary, shadow) = (whole(primary), whole(shadow));
    (primary.len() == shadow.len()).then_some((primary, shadow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_units_of_the_edges() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let units = |p: f64, s: f64| tolerance_units(p, s, (s - p).abs(), 0.5);
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
    fn symmetric_relative_is_2_against_zero_and_never_more() {
        let of = |p: f64, s: f64| symmetric_relative(p, s, (s - p).abs(), 1e-9);
        assert_eq!(of(0.0, 0.3), 2.0);
        assert_eq!(of(0.3, 0.0), 2.0);
        assert_eq!(of(1.0, 3.0), 1.0);
        assert_eq!(of(1e-12, 1e-10), 0.0);
        assert_eq!(of(f64::MAX, -f64::MAX), 2.0);
        assert_eq!(of(f64::MAX, f64::MAX), 0.0);
    }

    #[test]
    fn ten_times_is_a_log_ratio_of_1_and_nothing_is_measured_below_the_floor() {
        let close = |ratio: Option<f64>, expected: f64| (ratio.unwrap() - expected).abs() < 1e-12;
        assert!(close(log10_ratio(0.02, 0.2, 1e-5), 1.0));
        assert!(close(log10_ratio(0.2, -0.02, 1e-5), 1.0));
        assert!(close(log10_ratio(0.01, 0.0, 1e-5), 3.0));
        assert_eq!(log10_ratio(1e-7, 1e-6, 1e-5), None);
        assert!(log10_ratio(1.0, 0.0, 0.0).unwrap().is_finite());
    }
}
