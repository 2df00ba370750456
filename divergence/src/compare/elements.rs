//! Metrics of single elements, row by row: tolerance units, differences, ratios, signs, sums.

use super::kernel::{self, Limits, STRETCH, Sums};
use super::rows::Moves;
use super::structure::Pair;
use crate::Output;
use crate::metric::{direction, relative, ulp};

/// Element metrics of one output.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Elements {
    /// Number of numeric elements.
    pub(super) count: usize,
    /// Number of those beyond tolerance.
    pub(super) beyond: usize,
    /// Most tolerance units, and the first index that has them.
    pub(super) worst: Option<(f64, usize)>,
    /// Number of elements finite on both sides, and of those beyond tolerance among them.
    pub(super) finite: usize,
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
    /// Over the elements finite on both sides.
    pub(super) sums: Sums,
    /// Smallest cosine of a row (first dimension) of two elements or more.
    pub(super) cosine: Option<f64>,
    /// The same of rows with an element beyond tolerance, and where the row begins.
    pub(super) cosine_beyond: Option<(f64, usize)>,
    pub(super) ulp_max: Option<i64>,
    pub(super) moves: Moves,
    /// Largest ratios, of which the logarithms are above.
    pub(super) ratio: f64,
    pub(super) ratio_of_beyond: f64,
}

/// Puts the larger of both into the slot.
pub(super) fn raise(slot: &mut Option<f64>, value: f64) {
    *slot = Some(slot.map_or(value, |known| known.max(value)));
}

/// Puts the smaller of both into the slot.
pub(super) fn lower(slot: &mut Option<f64>, value: f64) {
    *slot = Some(slot.map_or(value, |known| known.min(value)));
}

impl Elements {
    /// Measures one pair of outputs.
    pub(super) fn of(pair: &Pair<'_>) -> Self {
        let mut elements = Self { count: pair.primary.values.len(), ..Self::default() };
        let (p, c) = (&pair.primary.values[..], &pair.shadow.values[..]);
        if let Some((primary, shadow)) = exact(&pair.primary, &pair.shadow) {
            for (index, (one, other)) in primary.iter().zip(&shadow).enumerate() {
                elements.add(pair, index, (p[index], c[index]), one.abs_diff(*other) as f64);
            }
            elements.cosine = None;
            return elements;
        }
        if let Some(threshold) = pair.threshold {
            elements.moves.threshold(pair, threshold);
        }
        let (width, batch) = widths(pair);
        for from in (0..p.len()).step_by(batch) {
            elements.batch_row(pair, from, (from + batch).min(p.len()), width);
        }
        elements
    }

    /// One row of the first dimension: rows of `width` within it.
    fn batch_row(&mut self, pair: &Pair<'_>, from: usize, end: usize, width: usize) {
        let before = (self.sums, self.finite, self.finite_beyond);
        self.sums = Sums::default();
        let (p, c) = (&pair.primary.values[from..end], &pair.shadow.values[from..end]);
        for (row, (p, c)) in p.chunks(width).zip(c.chunks(width)).enumerate() {
            let at = from + row * width;
            let beyond = self.beyond;
            for (stretch, (p, c)) in p.chunks(STRETCH).zip(c.chunks(STRETCH)).enumerate() {
                self.stretch(pair, at + stretch * STRETCH, p, c);
            }
            if pair.ranked {
                self.moves.row(pair, at, (p, c), self.beyond > beyond);
            }
        }
        let own = std::mem::replace(&mut self.sums, before.0);
        self.sums.join(&own);
        let (finite, beyond) = (self.finite - before.1, self.finite_beyond > before.2);
        if pair.dtype.is_float() && finite >= 2 {
            self.cosine(&own, (p, c), (from, beyond));
        }
    }

    fn cosine(&mut self, sums: &Sums, (p, c): (&[f64], &[f64]), (from, beyond): (usize, bool)) {
        let cosine = if sums.is_finite() && sums.pp > 1e-200 && sums.cc > 1e-200 {
            Some((sums.pc / (sums.pp.sqrt() * sums.cc.sqrt())).clamp(-1.0, 1.0))
        } else {
            // Squares that overflow or vanish.
            direction::direction(p, c).cosine
        };
        let Some(cosine) = cosine else { return };
        lower(&mut self.cosine, cosine);
        if beyond && self.cosine_beyond.is_none_or(|(known, _)| cosine < known) {
            self.cosine_beyond = Some((cosine, from));
        }
    }

    fn stretch(&mut self, pair: &Pair<'_>, at: usize, p: &[f64], c: &[f64]) {
        // Where everything is defined already, a stretch that is the same on both sides raises nothing.
        if self.is_defined(pair) && kernel::same_bits(p, c) {
            let square: f64 = kernel::square(p);
            if square.is_finite() {
                self.finite += p.len();
                (self.sums.pp, self.sums.cc, self.sums.pc) =
                    (self.sums.pp + square, self.sums.cc + square, self.sums.pc + square);
                return;
            }
        }
        let sums = kernel::sums(p, c, pair.tolerance);
        if sums.is_finite() && kernel::quiet(p, c, &self.limits(pair)) {
            self.sums.join(&sums);
            self.finite += p.len();
            self.beyond += sums.beyond as usize;
            self.finite_beyond += sums.beyond as usize;
        } else {
            for (index, (p, c)) in p.iter().zip(c).enumerate() {
                self.add(pair, at + index, (*p, *c), (c - p).abs());
            }
        }
        if pair.has_ulp && !kernel::ulp_quiet(p, c, pair.dtype, self.ulp_max.map_or(-1.0, |ulp| ulp as f64)) {
            let distances = p.iter().zip(c).filter_map(|(p, c)| ulp::distance(*p, *c, pair.dtype));
            self.ulp_max = self.ulp_max.max(distances.max());
        }
    }

    fn is_defined(&self, pair: &Pair<'_>) -> bool {
        self.max_absolute.is_some()
            && self.max_relative.is_some()
            && (self.log10_ratio.is_some() || !pair.dtype.is_float())
            && (self.ulp_max.is_some() || !pair.has_ulp)
    }

    fn limits(&self, pair: &Pair<'_>) -> Limits {
        Limits {
            tolerance: pair.tolerance,
            floor: pair.floor,
            units: self.worst.map_or(-1.0, |(units, _)| units),
            absolute: self.max_absolute.unwrap_or(-1.0),
            relative: self.max_relative.unwrap_or(-1.0),
            symmetric: self.symmetric_relative.unwrap_or(-1.0),
            ratio: if pair.dtype.is_float() { self.ratio } else { f64::INFINITY },
            ratio_beyond: if pair.dtype.is_float() { self.ratio_of_beyond } else { f64::INFINITY },
            sign: if pair.dtype.is_float() && self.sign_change != Some(true) {
                pair.floor
            } else {
                f64::INFINITY
            },
        }
    }

    fn add(&mut self, pair: &Pair<'_>, index: usize, (p, s): (f64, f64), difference: f64) {
        let units = relative::tolerance_units(p, s, difference, pair.tolerance.around(p));
        let beyond = if units.is_finite() { difference > pair.tolerance.around(p) } else { true };
        self.beyond += usize::from(beyond);
        if self.worst.is_none_or(|(worst, _)| units > worst) {
            self.worst = Some((units, index));
        }
        if !p.is_finite() || !s.is_finite() {
            return;
        }
        self.finite += 1;
        self.finite_beyond += usize::from(beyond);
        self.finite_worst = self.finite_worst.max(units);
        self.sums.add(p, s, beyond);
        raise(&mut self.max_absolute, difference);
        if p != 0.0 {
            raise(&mut self.max_relative, difference / p.abs());
        }
        raise(&mut self.symmetric_relative, relative::symmetric(p, s, difference, pair.floor));
        if pair.dtype.is_float() {
            self.add_float(pair, (p, s), beyond);
        }
    }

    fn add_float(&mut self, pair: &Pair<'_>, (p, s): (f64, f64), beyond: bool) {
        let (fp, fs) = (p.abs().max(pair.floor), s.abs().max(pair.floor));
        // Of two that pass the largest number, the logarithms tell which is larger.
        let ratio = if fp == 0.0 && fs == 0.0 { 1.0 } else { (fs / fp).max(fp / fs) };
        let (ratio, past) = (ratio.min(f64::MAX), ratio == f64::INFINITY);
        let counts = beyond && p.abs() > pair.floor;
        if past || ratio > self.ratio || (counts && ratio > self.ratio_of_beyond) {
            let log = relative::log10_ratio(p, s, pair.floor);
            if let Some(log) = log {
                self.ratio = self.ratio.max(ratio);
                raise(&mut self.log10_ratio, log);
                if counts {
                    self.ratio_of_beyond = self.ratio_of_beyond.max(ratio);
                    self.ratio_beyond = self.ratio_beyond.max(log);
                }
            }
        }
        let above = p.abs() > pair.floor && s.abs() > pair.floor;
        let changed = beyond && above && p.is_sign_negative() != s.is_sign_negative();
        self.sign_change = Some(self.sign_change.unwrap_or(false) || changed);
    }
}

/// Length of a row of the last dimension, and of one of the first. A list of numbers is one row; so is a column of single scores.
fn widths(pair: &Pair<'_>) -> (usize, usize) {
    let all = pair.primary.values.len().max(1);
    let shape = &pair.primary.shape;
    let last = shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(1);
    let width = if last < 2 || shape.len() < 2 || !all.is_multiple_of(last) { all } else { last };
    let batch = match pair.stride() {
        stride if stride < 2 => all,
        stride => stride,
    };
    (width.min(batch), batch)
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
mod tests;
