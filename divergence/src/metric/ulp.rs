//! Distance in units in the last place, at the declared type.
//!
//! The bits of two finite floats, taken as sign and magnitude, are integers in the order of the floats; their difference counts the
//! representable values between them. Near zero that count says nothing, so elements below the smallest normal number of the type
//! on the primary's side are left out, as are NaN and infinities.

use half::{bf16, f16};

use crate::DType;

/// The distances of all elements that define one, in their order.
#[must_use]
pub fn distances(p: &[f64], c: &[f64], dtype: DType) -> Vec<i64> {
    p.iter().zip(c).filter_map(|(p, c)| distance(*p, *c, dtype)).collect()
}

/// Distance of two values in representable values of the type; `None` for types that are no floats, NaN, infinities, and where P is
/// below the smallest normal number. Largest against infinity would be 1, and 0 against the smallest normal 8,388,608 (FP32).
#[must_use]
pub fn distance(p: f64, s: f64, dtype: DType) -> Option<i64> {
    let smallest = match dtype {
        DType::Fp16 => f16::MIN_POSITIVE.to_f64(),
        DType::Bf16 => bf16::MIN_POSITIVE.to_f64(),
        DType::Fp32 => f64::from(f32::MIN_POSITIVE),
        DType::Fp64 => f64::MIN_POSITIVE,
        _ => return None,
    };
    if !p.is_finite() || !s.is_finite() || p.abs() < smallest {
        return None;
    }
    let distance = ordered(s, dtype)?.saturating_sub(ordered(p, dtype)?);
    Some(distance.saturating_abs())
}

/// The value as an integer in the order of the floats of the type; both zeros are 0.
fn ordered(value: f64, dtype: DType) -> Option<i64> {
    let (negative, magnitude) = match dtype {
        DType::Fp16 => split(f16::from_f64(value).to_bits().into(), 15),
        DType::Bf16 => split(bf16::from_f64(value).to_bits().into(), 15),
        DType::Fp32 => split((value as f32).to_bits().into(), 31),
        DType::Fp64 => split(value.to_bits(), 63),
        _ => return None,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn split(bits: u64, sign: u32) -> (bool, i64) {
    let negative = bits >> sign & 1 == 1;
    let magnitude = bits & !(1 << sign);
    (negative, magnitude.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the bits of each type, as integers in the order of the floats.
    #[test]
    fn zeros_are_one_value_and_the_least_of_both_signs_are_2_apart() {
        let least = [
            (DType::Fp16, f16::from_bits(1).to_f64(), f16::MAX.to_f64()),
            (DType::Bf16, bf16::from_bits(1).to_f64(), bf16::MAX.to_f64()),
            (DType::Fp32, f32::from_bits(1).into(), f32::MAX.into()),
            (DType::Fp64, f64::from_bits(1), f64::MAX),
        ];
        for (dtype, least, largest) in least {
            let apart = |p: f64, s: f64| ordered(s, dtype).zip(ordered(p, dtype)).map(|(s, p)| (s - p).abs());
            assert_eq!(apart(0.0, -0.0), Some(0), "{dtype:?}");
            assert_eq!(apart(-least, least), Some(2), "{dtype:?}");
            assert_eq!(apart(0.0, least), Some(1), "{dtype:?}");
            assert_eq!(apart(largest, f64::INFINITY), Some(1), "{dtype:?}");
            assert_eq!(distance(largest, f64::INFINITY, dtype), None, "{dtype:?}");
        }
    }

    #[test]
    fn neighbours_are_1_apart_in_every_type() {
        let next = f64::from(1.0_f32.next_up());
        assert_eq!(distance(1.0, next, DType::Fp32), Some(1));
        assert_eq!(distance(1.0, 1.0_f64.next_down(), DType::Fp64), Some(1));
        // eps of the types: 2^-10, 2^-7, 2^-23, 2^-52.
        assert_eq!(distance(1.0, 1.0 + 9.765625e-4, DType::Fp16), Some(1));
        assert_eq!(distance(1.0, 1.0 + 7.8125e-3, DType::Bf16), Some(1));
        assert_eq!(distance(1.0, 1.0 + 1.1920928955078125e-7, DType::Fp32), Some(1));
    }

    #[test]
    fn one_against_ten_has_the_known_counts() {
        assert_eq!(distance(1.0, 10.0, DType::Fp16), Some(3328));
        assert_eq!(distance(1.0, 10.0, DType::Fp32), Some(27_262_976));
        assert_eq!(distance(1.0, 10.0, DType::Bf16), Some(416));
        assert_eq!(distance(-1.0, 1.0, DType::Fp16), Some(30_720));
        assert_eq!(distance(-1.0, 1.0, DType::Bf16), Some(32_512));
        // Where a 16-bit difference would wrap.
        assert_eq!(distance(-65504.0, 65504.0, DType::Fp16), Some(63_486));
    }

    #[test]
    fn the_count_crosses_powers_of_two_and_zero() {
        assert_eq!(distance(1.0, 2.0, DType::Fp32), Some(1 << 23));
        assert_eq!(distance(1.0, 2.0, DType::Fp16), Some(1 << 10));
        assert_eq!(distance(1.0, 2.0, DType::Bf16), Some(1 << 7));
        assert_eq!(distance(1.0, 2.0, DType::Fp64), Some(1 << 52));
        assert_eq!(distance(1.0, -1.0, DType::Fp32), Some(2 * 0x3f80_0000));
        assert_eq!(distance(f64::MAX, -f64::MAX, DType::Fp64), Some(i64::MAX));
    }

    #[test]
    fn subnormal_zero_and_not_finite_values_have_none() {
        assert_eq!(distance(0.0, 1.0, DType::Fp32), None);
        assert_eq!(distance(1e-310, 1.0, DType::Fp64), None);
        assert_eq!(distance(5e-5, 1.0, DType::Fp16), None);
        assert_eq!(distance(f64::NAN, 1.0, DType::Fp32), None);
        assert_eq!(distance(1.0, f64::INFINITY, DType::Fp32), None);
        assert_eq!(distance(1.0, 2.0, DType::Int32), None);
    }
}
