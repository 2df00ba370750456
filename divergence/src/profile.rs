//! What one output holds, in one pass: extremes, zeros, elements that are not finite.

use half::{bf16, f16};

use crate::{DType, Output};

/// Counts and extremes of the numeric elements of an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Profile {
    pub(crate) count: usize,
    pub(crate) nan: usize,
    pub(crate) infinite: usize,
    /// Elements that are 0, of either sign.
    pub(crate) zero: usize,
    /// Smallest and largest finite element; +∞ and −∞ without any.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Profile {
    /// Looks at all elements.
    pub(crate) fn of(output: &Output) -> Self {
        let mut profile = Self {
            count: output.values.len(),
            nan: 0,
            infinite: 0,
            zero: 0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        };
        output.values.chunks(STRETCH).for_each(|stretch| profile.add(stretch));
        profile
    }

    fn add(&mut self, stretch: &[f64]) {
        let found = Finite::of(stretch);
        if found.is_finite {
            self.zero += found.zero;
            (self.low, self.high) = (self.low.min(found.low), self.high.max(found.high));
            return;
        }
        for value in stretch.iter().copied() {
            self.nan += usize::from(value.is_nan());
            self.infinite += usize::from(value.is_infinite());
            self.zero += usize::from(value == 0.0);
            if value.is_finite() {
                (self.low, self.high) = (self.low.min(value), self.high.max(value));
            }
        }
    }

    /// Largest finite magnitude; 0 without any.
    pub(crate) fn magnitude(&self) -> f64 {
        if self.low > self.high { 0.0 } else { self.low.abs().max(self.high.abs()) }
    }

    /// Whether all elements are finite and the same.
    pub(crate) fn is_constant(&self) -> bool {
        self.count > 0 && self.nan + self.infinite == 0 && self.low == self.high
    }
}

/// Elements looked at together.
const STRETCH: usize = 256;

/// A stretch whose elements are all finite; without branches, so that the compiler makes vector code of the loop.
struct Finite {
    is_finite: bool,
    zero: usize,
    low: f64,
    high: f64,
}

impl Finite {
    /// Meaningless but for `is_finite` where that is false.
    fn of(stretch: &[f64]) -> Self {
        const LANES: usize = 4;
        let (parts, rest) = stretch.as_chunks::<LANES>();
        let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        let (mut zero, mut off) = ([0_u64; LANES], [0.0; LANES]);
        let mut look = |lane: usize, value: f64| {
            low[lane] = if value < low[lane] { value } else { low[lane] };
            high[lane] = if value > high[lane] { value } else { high[lane] };
            zero[lane] += u64::from(value == 0.0);
            // 0 of a finite number, NaN of any other.
            off[lane] += 0.0 * value;
        };
        for part in parts {
            for (lane, value) in part.iter().enumerate() {
                look(lane, *value);
            }
        }
        rest.iter().for_each(|value| look(0, *value));
        Self {
            is_finite: off.iter().all(|lane| *lane == 0.0),
            zero: zero.iter().sum::<u64>() as usize,
            low: low.into_iter().fold(f64::INFINITY, f64::min),
            high: high.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Smallest normal and largest number of a floating type.
pub(crate) fn extremes(dtype: DType) -> Option<(f64, f64)> {
    Some(match dtype {
        DType::Fp16 => (f16::MIN_POSITIVE.to_f64(), f16::MAX.to_f64()),
        DType::Bf16 => (bf16::MIN_POSITIVE.to_f64(), bf16::MAX.to_f64()),
        DType::Fp32 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
        DType::Fp64 => (f64::MIN_POSITIVE, f64::MAX),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Profile {
        Profile::of(&Output { values: values.to_vec(), ..Output::new("x", DType::Fp32, vec![]) })
    }

    #[test]
    fn what_is_not_finite_is_counted_and_no_extreme() {
        let found = of(&[1.0, f64::NAN, -2.0, f64::INFINITY, 0.0, -0.0, f64::NEG_INFINITY]);
        assert_eq!((found.count, found.nan, found.infinite, found.zero), (7, 1, 2, 2));
        assert_eq!((found.low, found.high, found.magnitude()), (-2.0, 1.0, 2.0));
        assert!(!found.is_constant());
    }

    #[test]
    fn nothing_has_no_extremes_and_is_not_constant() {
        assert_eq!(of(&[]).magnitude(), 0.0);
        assert!(!of(&[]).is_constant() && !of(&[f64::NAN]).is_constant());
        assert!(of(&[0.5; 9]).is_constant() && of(&[0.0, -0.0]).is_constant());
    }

    #[test]
    fn extremes_are_those_of_the_types() {
        assert_eq!(extremes(DType::Fp16), Some((6.103_515_625e-5, 65504.0)));
        assert_eq!(extremes(DType::Int8), None);
    }
}
