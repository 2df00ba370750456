//! A number by its text.

use std::borrow::Cow;

/// 10^0 to 10^22: the powers of ten that a 64-bit float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// A number as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number<'a> {
    text: Cow<'a, str>,
}

/// How finely numbers were printed: the finest of all numbers of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Printed {
    /// Most digits after the decimal point, the exponent taken into account (`1.5e-7` has 8).
    pub decimals: u32,
    /// Most significant digits.
    pub digits: u32,
}

impl Printed {
    /// The finer of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { decimals: self.decimals.max(other.decimals), digits: self.digits.max(other.digits) }
    }
}

impl<'a> Number<'a> {
    /// A number from text that the parser has seen to be one.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text) }
    }

    /// The shortest text that reads as this float.
    #[must_use]
    pub fn from_f64(value: f64) -> Number<'static> {
        Number { text: Cow::Owned(value.to_string()) }
    }

    /// The text, as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The nearest 64-bit float; infinite past its range.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.read().0
    }

    /// The nearest 64-bit float, and how finely it was printed (`None` where it is not finite by its text).
    #[must_use]
    pub fn read(&self) -> (f64, Option<Printed>) {
        read(&self.text)
    }

    /// Whether it is written without a fraction and without an exponent.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        is_integer(&self.text)
    }

    /// The exact integer, when it is written as one and 128 bits hold it.
    #[must_use]
    pub fn as_int(&self) -> Option<i128> {
        if !self.is_integer() {
            return None;
        }
        // Of up to 18 digits 64 bits are enough, and much quicker.
        match self.text.len() {
            ..=18 => self.text.parse::<i64>().ok().map(i128::from),
            _ => self.text.parse().ok(),
        }
    }

    /// The same number, holding its own text.
    #[must_use]
    pub fn into_owned(self) -> Number<'static> {
        Number { text: Cow::Owned(self.text.into_owned()) }
    }
}

fn is_integer(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// One pass over the digits. Up to 2^53 in digits and 10^22 in scale, one exact multiplication or division gives the nearest float
/// (Clinger, "How to read floating point numbers accurately", 1990); beyond, the standard library reads the text.
fn read(text: &str) -> (f64, Option<Printed>) {
    let bytes = text.as_bytes();
    let (negative, bytes) = match bytes.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, bytes),
    };
    if !bytes.first().is_some_and(u8::is_ascii_digit) {
        return (text.parse().unwrap_or(f64::NAN), None);
    }
    let (mut mantissa, mut digits, mut fraction, mut exponent) = (0_u64, 0_u32, 0_u32, 0_i64);
    let mut point = false;
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'0'..=b'9' => {
                fraction += u32::from(point);
                // Leading zeros are no significant digits.
                if digits > 0 || *byte != b'0' {
                    digits += 1;
                }
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            }
            b'.' => point = true,
            _ => {
                let written = rest.as_slice();
                let unsigned = written.strip_prefix(b"+").unwrap_or(written);
                let parsed = std::str::from_utf8(unsigned).ok().and_then(|text| text.parse().ok());
                let past = if unsigned.starts_with(b"-") { -1_000_000 } else { 1_000_000 };
                exponent = parsed.unwrap_or(past);
                break;
            }
        }
    }
    let scale = exponent.saturating_sub(i64::from(fraction));
    let decimals = u32::try_from(scale.saturating_neg().clamp(0, 1 << 20)).unwrap_or(0);
    let printed = Printed { decimals, digits };
    let exact = usize::try_from(scale.unsigned_abs()).ok().and_then(|power| POWERS.get(power));
    let value = match exact {
        Some(power) if digits <= 19 && mantissa <= 1 << 53 => {
            let value = mantissa as f64;
            let value = if scale < 0 { value / power } else { value * power };
            if negative { -value } else { value }
        }
        _ => text.parse().unwrap_or(f64::NAN),
    };
    (value, Some(printed))
}
