//! The inner loops over plain slices: without branches, so that the compiler makes vector code of them.
//!
//! Maxima are rarely raised. So the loops only ask whether any element of a stretch could raise one, which takes no division; where one could,
//! the caller looks at each element of the stretch ([`Elements`](super::elements::Elements)).

use crate::{DType, Tolerance};

/// Elements looked at together.
pub(super) const STRETCH: usize = 64;

/// Sums over a stretch; NaN or infinite when an element is not finite, or a square overflows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sums {
    /// Σ|c − p|
    pub(super) absolute: f64,
    /// Σ(c − p)²
    pub(super) squares: f64,
    pub(super) pp: f64,
    pub(super) cc: f64,
    pub(super) pc: f64,
    /// Elements beyond tolerance.
    pub(super) beyond: f64,
}

impl Sums {
    /// Adds one pair that is finite on both sides.
    pub(super) fn add(&mut self, p: f64, c: f64, beyond: bool) {
        self.absolute += (c - p).abs();
        self.squares += (c - p) * (c - p);
        self.pp += p * p;
        self.cc += c * c;
        self.pc += p * c;
        self.beyond += f64::from(u8::from(beyond));
    }

    /// Adds another sum.
    pub(super) fn join(&mut self, other: &Self) {
        self.absolute += other.absolute;
        self.squares += other.squares;
        self.pp += other.pp;
        self.cc += other.cc;
        self.pc += other.pc;
        self.beyond += other.beyond;
    }

    /// Whether every element was finite and no square overflowed.
    pub(super) fn is_finite(&self) -> bool {
        (self.pp + self.cc + self.squares).is_finite()
    }
}

/// Sums of a stretch. In four strands, whose order is fixed: the result is the same on every machine. Two loops, so that the sums of each
/// stay in registers.
pub(super) fn sums(p: &[f64], c: &[f64], tolerance: Tolerance) -> Sums {
    const STRANDS: usize = 4;
    let (p_parts, p_rest) = p.as_chunks::<STRANDS>();
    let (c_parts, c_rest) = c.as_chunks::<STRANDS>();
    let (mut absolute, mut squares, mut beyond) = ([0.0; STRANDS], [0.0; STRANDS], [0.0; STRANDS]);
    for (p, c) in p_parts.iter().zip(c_parts) {
        for lane in 0..STRANDS {
            let d = (c[lane] - p[lane]).abs();
            absolute[lane] += d;
            squares[lane] += d * d;
            beyond[lane] += if d > tolerance.atol + tolerance.rtol * p[lane].abs() { 1.0 } else { 0.0 };
        }
    }
    let (mut pp, mut cc, mut pc) = ([0.0; STRANDS], [0.0; STRANDS], [0.0; STRANDS]);
    for (p, c) in p_parts.iter().zip(c_parts) {
        for lane in 0..STRANDS {
            pp[lane] += p[lane] * p[lane];
            cc[lane] += c[lane] * c[lane];
            pc[lane] += p[lane] * c[lane];
        }
    }
    let strand = |s: [f64; STRANDS]| (s[0] + s[1]) + (s[2] + s[3]);
    let mut sums = Sums {
        absolute: strand(absolute),
        squares: strand(squares),
        pp: strand(pp),
        cc: strand(cc),
        pc: strand(pc),
        beyond: strand(beyond),
    };
    for (p, c) in p_rest.iter().zip(c_rest) {
        sums.add(*p, *c, (c - p).abs() > tolerance.around(*p));
    }
    sums
}

/// Whether two slices of one length are the same, bit for bit.
pub(super) fn same_bits(p: &[f64], c: &[f64]) -> bool {
    let differs = |(p, c): (&[f64], &[f64])| {
        p.iter().zip(c).fold(0, |differs, (p, c)| differs | (p.to_bits() ^ c.to_bits())) != 0
    };
    p.len() == c.len() && !p.chunks(STRETCH).zip(c.chunks(STRETCH)).any(differs)
}

/// Σx², in the strands of [`sums`].
pub(super) fn square(values: &[f64]) -> f64 {
    let (parts, rest) = values.as_chunks::<4>();
    let mut strands = [0.0; 4];
    for part in parts {
        for lane in 0..4 {
            strands[lane] += part[lane] * part[lane];
        }
    }
    rest.iter().fold((strands[0] + strands[1]) + (strands[2] + strands[3]), |sum, value| sum + value * value)
}

/// What the maxima stand at; −1 for one that nothing has defined yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) tolerance: Tolerance,
    pub(super) floor: f64,
    pub(super) units: f64,
    pub(super) absolute: f64,
    pub(super) relative: f64,
    pub(super) symmetric: f64,
    /// Largest ratio of magnitudes, and the largest of an element beyond tolerance.
    pub(super) ratio: f64,
    pub(super) ratio_beyond: f64,
    /// Magnitude above which a change of sign matters; infinite once one has been seen.
    pub(super) sign: f64,
}

/// Whether no element of a stretch of finite pairs can raise a maximum.
pub(super) fn quiet(p: &[f64], c: &[f64], limits: &Limits) -> bool {
    let l = limits;
    // Each term is above 0 where a maximum could be raised: one maximum of terms, without a branch. A term that may be NaN (an infinite
    // limit times 0) comes first, and loses.
    let greater = |a: f64, b: f64| if a > b { a } else { b };
    let only = |condition: bool, value: f64| if condition { value } else { 0.0 };
    let worst = any(p, c, |p, c| {
        let (d, ap, ac) = ((c - p).abs(), p.abs(), c.abs());
        let tolerated = l.tolerance.atol + l.tolerance.rtol * ap;
        let largest = greater(d - l.units * tolerated, greater(d - l.absolute, 0.0));
        let symmetric = only(greater(ap, ac) >= l.floor, 2.0 * d - l.symmetric * (ap + ac));
        greater(symmetric, greater(d - l.relative * ap, largest))
    });
    if worst > 0.0 {
        return false;
    }
    any(p, c, |p, c| {
        let (d, ap, ac) = ((c - p).abs(), p.abs(), c.abs());
        let beyond = d > l.tolerance.atol + l.tolerance.rtol * ap;
        let (fp, fc) = (greater(ap, l.floor), greater(ac, l.floor));
        let ratio = greater(ac - l.ratio * fp, greater(ap - l.ratio * fc, 0.0));
        let ratio_beyond = greater(ac - l.ratio_beyond * fp, greater(ap - l.ratio_beyond * fc, 0.0));
        let counts = only(beyond, only(ap > l.floor, ratio_beyond));
        let sign = only(beyond, only(ap > l.sign, only(ac > l.sign, -(p * c))));
        greater(sign, greater(counts, ratio))
    }) <= 0.0
}

/// The largest of a term over a stretch, or 0 where none is above; NaN counts for nothing.
fn any(p: &[f64], c: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 4;
    let (p_parts, p_rest) = p.as_chunks::<LANES>();
    let (c_parts, c_rest) = c.as_chunks::<LANES>();
    let mut found = [0.0; LANES];
    for (p, c) in p_parts.iter().zip(c_parts) {
        for lane in 0..LANES {
            let value = term(p[lane], c[lane]);
            found[lane] = if value > found[lane] { value } else { found[lane] };
        }
    }
    let mut rest = found.into_iter().fold(0.0, f64::max);
    for (p, c) in p_rest.iter().zip(c_rest) {
        rest = f64::max(rest, term(*p, *c));
    }
    rest
}

/// Whether no pair of a stretch can raise the largest ULP distance above `limit`. Exact for `FP32`; of the other types, only equal
/// stretches are quiet.
pub(super) fn ulp_quiet(p: &[f64], c: &[f64], dtype: DType, limit: f64) -> bool {
    if dtype != DType::Fp32 {
        return limit >= 0.0 && p == c;
    }
    let ordered = |value: f64| {
        let bits = (value as f32).to_bits().cast_signed();
        // The magnitude, negated where the sign is set.
        let sign = bits >> 31;
        f64::from(((bits & i32::MAX) ^ sign) - sign)
    };
    let smallest = f64::from(f32::MIN_POSITIVE);
    any(p, c, |p, c| {
        let distance = (ordered(c) - ordered(p)).abs() - limit;
        if p.abs() >= smallest { distance } else { 0.0 }
    }) <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_same_however_a_stretch_is_cut() {
        let p: Vec<f64> = (0..67).map(|index| f64::from(index) * 0.5).collect();
        let c: Vec<f64> = p.iter().map(|value| if *value == 4.0 { 0.0 } else { value + 0.25 }).collect();
        let whole = sums(&p, &c, Tolerance { rtol: 0.0, atol: 0.25 });
        let mut expected = Sums::default();
        for (p, c) in p.iter().zip(&c) {
            expected.add(*p, *c, (c - p).abs() > 0.25);
        }
        // All terms are binary fractions: sums are exact in any order.
        assert_eq!(whole, expected);
        assert_eq!(whole.beyond, 1.0);
    }

    #[test]
    fn a_stretch_with_anything_not_finite_has_no_finite_sum() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(
                !sums(&[1.0; 9], &[1.0, value, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], Tolerance::EXACT)
                    .is_finite()
            );
            assert!(!sums(&[value; 5], &[value; 5], Tolerance::EXACT).is_finite());
        }
    }

    #[test]
    fn an_fp32_distance_above_the_limit_is_seen_and_one_at_it_is_not() {
        let next = |steps: u32| f64::from(f32::from_bits(1.0_f32.to_bits() + steps));
        assert!(ulp_quiet(&[1.0, -1.0], &[next(3), -next(3)], DType::Fp32, 3.0));
        assert!(!ulp_quiet(&[1.0], &[next(4)], DType::Fp32, 3.0));
        assert!(!ulp_quiet(&[-1.0], &[1.0], DType::Fp32, 2_130_706_431.0));
        assert!(ulp_quiet(&[-1.0], &[1.0], DType::Fp32, 2_130_706_432.0));
        assert!(ulp_quiet(&[0.0], &[1.0], DType::Fp32, 0.0));
        assert!(!ulp_quiet(&[1.0], &[1.0], DType::Fp64, -1.0));
    }
}
