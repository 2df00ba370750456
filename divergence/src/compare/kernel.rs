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
    /// Elements that are 0 on the shadow alone, and on the primary alone.
    pub(super) zeroed: [f64; 2],
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
        self.zeroed[0] += f64::from(u8::from(c == 0.0 && p != 0.0));
        self.zeroed[1] += f64::from(u8::from(p == 0.0 && c != 0.0));
    }

    /// Adds another sum.
    pub(super) fn join(&mut self, other: &Self) {
        self.absolute += other.absolute;
        self.squares += other.squares;
        self.pp += other.pp;
        self.cc += other.cc;
        self.pc += other.pc;
        self.beyond += other.beyond;
        self.zeroed[0] += other.zeroed[0];
        self.zeroed[1] += other.zeroed[1];
    }

    /// Whether every element was finite and no square overflowed.
    pub(super) fn is_finite(&self) -> bool {
        (self.pp + self.cc + self.squares).is_finite()
    }
}

/// Sums of a stretch. In four strands, whose order is fixed: the result is the same on every machine.
pub(super) fn sums(p: &[f64], c: &[f64], tolerance: Tolerance) -> Sums {
    const STRANDS: usize = 4;
    let one = |condition: bool| if condition { 1.0 } else { 0.0 };
    let mut s = [[0.0_f64; STRANDS]; 8];
    let (p_parts, c_parts) = (p.chunks_exact(STRANDS), c.chunks_exact(STRANDS));
    let rest = p_parts.remainder().iter().zip(c_parts.remainder());
    for (p, c) in p_parts.zip(c_parts) {
        for lane in 0..STRANDS {
            let (p, c) = (p[lane], c[lane]);
            let d = (c - p).abs();
            s[0][lane] += d;
            s[1][lane] += d * d;
            s[2][lane] += p * p;
            s[3][lane] += c * c;
            s[4][lane] += p * c;
            s[5][lane] += one(d > tolerance.atol + tolerance.rtol * p.abs());
            // One bitwise product instead of two branches.
            s[6][lane] += one(c == 0.0) * one(p != 0.0);
            s[7][lane] += one(p == 0.0) * one(c != 0.0);
        }
    }
    let mut sums = Sums::default();
    for (p, c) in rest {
        sums.add(*p, *c, (c - p).abs() > tolerance.around(*p));
    }
    let strand = |s: [f64; STRANDS]| (s[0] + s[1]) + (s[2] + s[3]);
    sums.join(&Sums {
        absolute: strand(s[0]),
        squares: strand(s[1]),
        pp: strand(s[2]),
        cc: strand(s[3]),
        pc: strand(s[4]),
        beyond: strand(s[5]),
        zeroed: [strand(s[6]), strand(s[7])],
    });
    sums
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
    let mut raised = false;
    for (p, c) in p.iter().zip(c) {
        let (d, ap, ac) = ((c - p).abs(), p.abs(), c.abs());
        let tolerated = l.tolerance.atol + l.tolerance.rtol * ap;
        raised |= (d > l.units * tolerated) | (d > l.absolute) | (d > l.relative * ap);
        raised |= (2.0 * d > l.symmetric * (ap + ac)) & ((ap >= l.floor) | (ac >= l.floor));
    }
    let greater = |a: f64, b: f64| if a > b { a } else { b };
    for (p, c) in p.iter().zip(c) {
        let (d, ap, ac) = ((c - p).abs(), p.abs(), c.abs());
        let beyond = d > l.tolerance.atol + l.tolerance.rtol * ap;
        let (fp, fc) = (greater(ap, l.floor), greater(ac, l.floor));
        raised |= (ac > l.ratio * fp) | (ap > l.ratio * fc);
        raised |= beyond & (ap > l.floor) & ((ac > l.ratio_beyond * fp) | (ap > l.ratio_beyond * fc));
        raised |= beyond & (ap > l.sign) & (ac > l.sign) & (p * c < 0.0);
    }
    !raised
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
    let mut raised = false;
    for (p, c) in p.iter().zip(c) {
        raised |= ((ordered(*c) - ordered(*p)).abs() > limit) & (p.abs() >= f64::from(f32::MIN_POSITIVE));
    }
    !raised
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
        assert_eq!((whole.beyond, whole.zeroed), (1.0, [1.0, 1.0]));
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
