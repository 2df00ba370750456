//! What the numbers of two trees show together: metrics, and signs of degeneration.

use std::collections::BTreeSet;

use super::super::degenerate::{OneSided, Sign};
use super::super::elements::raise;
use crate::metric::relative;
use crate::{DType, Json, Rules, Tolerance};

/// Scores of one tree below which it says nothing that all are the same: a tree has numbers of many kinds.
const LEAST_CONSTANT: usize = 3;

/// Metrics over the numbers that both trees have; a `null` beside a number is one that is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Numbers {
    pub(super) count: usize,
    pub(super) beyond: usize,
    pub(super) scores: usize,
    sides: [Own; 2],
    /// What is not finite on one side alone.
    not_finite: OneSided,
    pub(super) tolerance_units: Option<f64>,
    /// The same over pairs that are finite on both sides or on none.
    pub(super) judged_units: f64,
    pub(super) max_absolute: Option<f64>,
    pub(super) max_relative: Option<f64>,
    pub(super) symmetric_relative: Option<f64>,
    pub(super) log10_ratio: Option<f64>,
    pub(super) ratio_beyond: f64,
    pub(super) sign_change: bool,
    pub(super) worst: Option<String>,
}

/// The scores of one tree.
#[derive(Debug, Clone, PartialEq, Default)]
struct Own {
    count: usize,
    zero: usize,
    nan: usize,
    infinite: usize,
    null: usize,
    range: Option<(f64, f64)>,
}

impl Own {
    fn add(&mut self, value: f64, is_null: bool) {
        self.count += 1;
        self.zero += usize::from(value == 0.0);
        self.null += usize::from(is_null);
        self.nan += usize::from(value.is_nan() && !is_null);
        self.infinite += usize::from(value.is_infinite());
        if value.is_finite() {
            let (low, high) = self.range.unwrap_or((value, value));
            self.range = Some((low.min(value), high.max(value)));
        }
    }

    fn is_zero(&self) -> bool {
        self.count > 0 && self.zero == self.count
    }

    fn is_constant(&self) -> bool {
        let finite = self.nan + self.infinite + self.null == 0;
        finite
            && self.count >= LEAST_CONSTANT
            && self.range.is_some_and(|(low, high)| low == high && low != 0.0)
    }

    fn signs(&self) -> BTreeSet<Sign> {
        let found = [
            (self.is_zero(), Sign::AllZero),
            (self.is_constant(), Sign::Constant),
            (self.nan > 0, Sign::Nan),
            (self.infinite > 0, Sign::Infinite),
            (self.null > 0, Sign::Null),
        ];
        found.into_iter().filter(|(is, _)| *is).map(|(_, sign)| sign).collect()
    }
}

/// The number that a value is, a `null` as NaN.
fn number(value: &Json<'_>) -> Option<f64> {
    match value {
        Json::Number(number) => Some(number.as_f64()),
        Json::Null => Some(f64::NAN),
        _ => None,
    }
}

fn fault(value: f64, is_null: bool) -> Option<Sign> {
    match value {
        _ if is_null => Some(Sign::Null),
        value if value.is_nan() => Some(Sign::Nan),
        value if value.is_infinite() => Some(Sign::Infinite),
        _ => None,
    }
}

impl Numbers {
    /// Adds a pair of numbers or `null`s; its tolerance units.
    pub(super) fn add(
        &mut self,
        (one, other): (&Json<'_>, &Json<'_>),
        tolerance: Tolerance,
        floor: f64,
        is_score: bool,
        path: &str,
    ) -> f64 {
        let (Some(p), Some(s)) = (number(one), number(other)) else { return 0.0 };
        let nulls = [one, other].map(|value| matches!(value, Json::Null));
        let difference = (s - p).abs();
        let units = relative::tolerance_units(p, s, difference, tolerance.around(p));
        self.count += 1;
        self.beyond += usize::from(units > 1.0);
        if !is_score {
            return units;
        }
        self.scores += 1;
        self.sides[0].add(p, nulls[0]);
        self.sides[1].add(s, nulls[1]);
        if units > self.tolerance_units.unwrap_or(0.0) {
            self.worst = Some(path.to_owned());
        }
        raise(&mut self.tolerance_units, units);
        let first =
            |slot: &mut Option<Sign>, sign: Sign| *slot = Some(slot.map_or(sign, |known| known.min(sign)));
        match (fault(p, nulls[0]), fault(s, nulls[1])) {
            (Some(sign), None) => first(&mut self.not_finite.primary, sign),
            (None, Some(sign)) => first(&mut self.not_finite.shadow, sign),
            (Some(_), Some(_)) => self.judged_units = self.judged_units.max(units),
            (None, None) => {
                self.judged_units = self.judged_units.max(units);
                self.finite((p, s), units, tolerance, floor);
            }
        }
        units
    }

    fn finite(&mut self, (p, s): (f64, f64), units: f64, tolerance: Tolerance, floor: f64) {
        let difference = (s - p).abs();
        let floor = floor.max(tolerance.atol);
        raise(&mut self.max_absolute, difference);
        if p != 0.0 {
            raise(&mut self.max_relative, difference / p.abs());
        }
        raise(&mut self.symmetric_relative, relative::symmetric(p, s, difference, floor));
        if let Some(ratio) = relative::log10_ratio(p, s, floor) {
            raise(&mut self.log10_ratio, ratio);
            if units > 1.0 && p.abs() > floor {
                self.ratio_beyond = self.ratio_beyond.max(ratio);
            }
        }
        let above = p.abs() > floor && s.abs() > floor;
        self.sign_change |= units > 1.0 && above && p.is_sign_negative() != s.is_sign_negative();
    }

    /// The signs of both sides.
    pub(super) fn signs(&self) -> [BTreeSet<Sign>; 2] {
        [self.sides[0].signs(), self.sides[1].signs()]
    }

    /// The first sign that only one side shows; all zero and constant where something is beyond tolerance, and constant where the other
    /// side varies by more than noise.
    pub(super) fn one_sided(&self, rules: &Rules) -> OneSided {
        let tolerance = rules.tolerance("", DType::Fp64, false);
        let of = |own: &Own, other: &Own, not_finite: Option<Sign>| {
            let varies = other
                .range
                .is_some_and(|(low, high)| high - low > tolerance.around(low.abs().max(high.abs())));
            let zero = own.is_zero() && !other.is_zero();
            let constant = own.is_constant() && !other.is_constant() && !other.is_zero() && varies;
            match self.beyond > 0 {
                true if zero => Some(Sign::AllZero),
                true if constant => Some(Sign::Constant),
                _ => not_finite,
            }
        };
        let [p, s] = &self.sides;
        OneSided { primary: of(p, s, self.not_finite.primary), shadow: of(s, p, self.not_finite.shadow) }
    }
}
