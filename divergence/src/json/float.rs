//! From the digits of a number to the nearest 64-bit float, in one pass over them.

/// 10^0 to 10^22: the powers of ten that a 64-bit float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Most decimals that [`quotient`] divides by.
const MOST: usize = 27;

/// What a number is written with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scan {
    pub(super) negative: bool,
    /// The digits as an integer; meaningless when there are more than 19.
    pub(super) mantissa: u64,
    /// Digits without leading zeros.
    pub(super) digits: u32,
    /// Digits after the point.
    pub(super) fraction: u32,
    /// The exponent; clamped far outside the range of a float.
    pub(super) exponent: i32,
    /// Whether there is neither point nor exponent.
    pub(super) integer: bool,
}

impl Scan {
    /// Takes the digits at the front of `bytes`, and says how many there are.
    #[inline]
    pub(super) fn digits(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        if self.digits == 0 {
            // Leading zeros do not count.
            taken = bytes.iter().position(|byte| *byte != b'0').unwrap_or(bytes.len());
        }
        while let Some(chunk) = bytes[taken..].first_chunk::<8>()
            && let Some(eight) = eight_digits(u64::from_le_bytes(*chunk))
        {
            self.mantissa = self.mantissa.wrapping_mul(100_000_000).wrapping_add(eight);
            self.digits += 8;
            taken += 8;
        }
        for byte in &bytes[taken..] {
            if !byte.is_ascii_digit() {
                break;
            }
            self.digits += 1;
            self.mantissa = self.mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            taken += 1;
        }
        taken
    }

    /// Digits after the point, the exponent taken into account.
    #[inline]
    pub(super) fn decimals(&self) -> u32 {
        u32::try_from(self.scale().saturating_neg().clamp(0, 1 << 20)).unwrap_or(0)
    }

    /// The power of ten that the digits, as an integer, are multiplied by.
    #[inline]
    fn scale(&self) -> i32 {
        self.exponent.saturating_sub(i32::try_from(self.fraction).unwrap_or(i32::MAX))
    }

    /// The nearest float; `text` is the whole number.
    #[inline(always)]
    pub(super) fn value(&self, text: &[u8]) -> f64 {
        let scale = self.scale();
        let power = scale.unsigned_abs() as usize;
        let magnitude = if self.digits > 19 {
            None
        } else if self.mantissa <= 1 << 53 && power < POWERS.len() {
            // Both are exact, so one operation rounds once (Clinger, "How to read floating point numbers accurately", 1990).
            let mantissa = self.mantissa as f64;
            Some(if scale < 0 { mantissa / POWERS[power] } else { mantissa * POWERS[power] })
        } else if scale < 0 && power <= MOST && self.mantissa > 0 {
            quotient(self.mantissa, power)
        } else {
            None
        };
        match magnitude {
            Some(magnitude) if self.negative => -magnitude,
            Some(magnitude) => magnitude,
            None => std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN),
        }
    }
}

/// The number that eight ASCII digits stand for, the first in the lowest byte; `None` where one is no digit.
#[inline]
fn eight_digits(bytes: u64) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let values = bytes.wrapping_sub(ZEROS);
    // The lowest byte below `0` borrows, one above `9` passes 0x7f when 0x46 is added: both set a top bit.
    if (values | bytes.wrapping_add(0x4646_4646_4646_4646)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    // Neighbours join to pairs, pairs to fours, fours to eight.
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// Of 10^k: 2^`shift` / 10^k rounded down, which has its top bit set.
#[derive(Clone, Copy)]
struct Reciprocal {
    high: u64,
    low: u64,
    shift: u32,
}

const RECIPROCALS: [Reciprocal; MOST + 1] = {
    let mut all = [Reciprocal { high: 0, low: 0, shift: 0 }; MOST + 1];
    let (mut power, mut divisor) = (1, 10_u128);
    while power <= MOST {
        let shift = 127 + (128 - divisor.leading_zeros());
        let (mut quotient, mut rest, mut bit) = (0_u128, 1_u128, 0);
        while bit < shift {
            rest <<= 1;
            quotient <<= 1;
            if rest >= divisor {
                rest -= divisor;
                quotient |= 1;
            }
            bit += 1;
        }
        all[power] = Reciprocal { high: (quotient >> 64) as u64, low: quotient as u64, shift };
        power += 1;
        divisor *= 10;
    }
    all
};

/// The float nearest to `mantissa` / 10^`power`, both above 0; `None` where 128 bits of the product do not decide it. The idea is that of
/// Lemire, "Number parsing at a gigabyte per second" (2021): multiply by the reciprocal, and see whether what was cut off could matter.
#[inline]
fn quotient(mantissa: u64, power: usize) -> Option<f64> {
    let reciprocal = RECIPROCALS[power];
    let zeros = mantissa.leading_zeros();
    let normal = u128::from(mantissa << zeros);
    // The true product is less than 2 above this one: the reciprocal was rounded down, and so is the sum.
    let product = normal * u128::from(reciprocal.high) + ((normal * u128::from(reciprocal.low)) >> 64);
    let lead = product.leading_zeros();
    let product = product << lead;
    let (bits, rest) = ((product >> 75) as u64, product & ((1 << 75) - 1));
    let half = 1_u128 << 74;
    if rest <= half && rest + (2 << lead) > half {
        return None;
    }
    let rounded = bits + u64::from(rest > half);
    // `bits` stands for 2^52 and more times this power of two; a carry into the exponent is right.
    let exponent = 139_i64 - i64::from(reciprocal.shift) - i64::from(zeros) - i64::from(lead);
    let biased = u64::try_from(exponent + 1075).ok().filter(|biased| (1..2046).contains(biased))?;
    Some(f64::from_bits((biased << 52) + (rounded - (1 << 52))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn eight_digits_are_told_from_anything_else() {
        let of = |text: &[u8; 8]| eight_digits(u64::from_le_bytes(*text));
        assert_eq!(
            (of(b"12345678"), of(b"00000000"), of(b"99999999")),
            (Some(12_345_678), Some(0), Some(99_999_999))
        );
        for place in 0..8 {
            for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                let mut text = *b"90909090";
                text[place] = byte;
                assert_eq!(of(&text), None, "{text:?}");
            }
        }
    }

    #[test]
    fn most_quotients_are_decided() {
        let decided =
            (1..=1000_u64).filter(|number| quotient(number * 9_007_199_254_740_997, 17).is_some()).count();
        assert!(decided > 990, "{decided}");
        // Exactly between two floats: 2^53 + 1, which the product cannot tell from just above or below.
        assert_eq!(quotient(90_071_992_547_409_930, 1), None);
    }

    proptest! {
        #[test]
        fn a_quotient_is_the_nearest_float(mantissa in 1..=u64::MAX, zeros in 0..64_u32, power in 1..=MOST) {
            let mantissa = (mantissa >> zeros).max(1);
            if let Some(found) = quotient(mantissa, power) {
                let expected: f64 = format!("{mantissa}e-{power}").parse().unwrap();
                prop_assert_eq!(found.to_bits(), expected.to_bits(), "{}e-{}", mantissa, power);
            }
        }
    }
}
