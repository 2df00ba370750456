//! A number by its text.

use std::borrow::Cow;

use super::float;

/// A number as it is written, read once.
#[derive(Debug, Clone)]
pub struct Number<'a> {
    /// ASCII.
    text: Cow<'a, [u8]>,
    value: f64,
    decimals: u16,
    digits: u16,
    integer: bool,
    finite: bool,
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
    #[inline]
    pub fn or(self, other: Self) -> Self {
        Self { decimals: self.decimals.max(other.decimals), digits: self.digits.max(other.digits) }
    }
}

/// Numbers are equal when their texts are.
impl PartialEq for Number<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Number<'_> {}

impl<'a> Number<'a> {
    /// A number from what the parser has seen of it; of a word, nothing.
    #[inline(always)]
    pub(super) fn of(text: &'a [u8], scan: Option<float::Scan>) -> Self {
        match scan {
            Some(scan) => Self::scanned(text, &scan),
            None => Self::word(text),
        }
    }

    #[inline(always)]
    fn scanned(text: &'a [u8], scan: &float::Scan) -> Self {
        Self {
            text: Cow::Borrowed(text),
            value: scan.value(text),
            decimals: small(scan.decimals()),
            digits: small(scan.digits),
            integer: scan.integer,
            finite: true,
        }
    }

    /// A number whose text is a word for one that is not finite.
    #[cold]
    fn word(text: &'a [u8]) -> Self {
        let value = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
        Self { text: Cow::Borrowed(text), value, decimals: 0, digits: 0, integer: false, finite: false }
    }

    /// The shortest text that reads as this float.
    #[must_use]
    pub fn from_f64(value: f64) -> Number<'static> {
        let text = value.to_string().into_bytes();
        let decimals = text.iter().position(|byte| *byte == b'.').map_or(0, |point| text.len() - point - 1);
        let digits =
            text.iter().filter(|byte| byte.is_ascii_digit()).skip_while(|digit| **digit == b'0').count();
        let integer = value.is_finite() && decimals == 0;
        Number {
            text: Cow::Owned(text),
            value,
            decimals: small(decimals as u32),
            digits: small(digits as u32),
            integer,
            finite: value.is_finite(),
        }
    }

    /// The text, as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).expect("signs, digits and letters are ASCII")
    }

    /// The nearest 64-bit float; infinite past its range.
    #[must_use]
    #[inline]
    pub fn as_f64(&self) -> f64 {
        self.value
    }

    /// How finely it was printed; `None` where it is not finite by its text.
    #[must_use]
    #[inline]
    pub fn printed(&self) -> Option<Printed> {
        let printed = Printed { decimals: self.decimals.into(), digits: self.digits.into() };
        self.finite.then_some(printed)
    }

    /// Whether it is written without a fraction and without an exponent.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.integer
    }

    /// The exact integer, when it is written as one and 128 bits hold it.
    #[must_use]
    pub fn as_int(&self) -> Option<i128> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        if !self.integer {
            None
        } else if self.value.abs() < EXACT {
            Some(self.value as i128)
        } else {
            self.text().parse().ok()
        }
    }

    /// The same number, holding its own text.
    #[must_use]
    pub fn into_owned(self) -> Number<'static> {
        Number { text: Cow::Owned(self.text.into_owned()), ..self }
    }
}

/// More than 65,535 digits are as good as that many.
#[inline]
fn small(count: u32) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}
