//! A share of traffic, from 0 to 1, written as `5%`, `0.05` or `1/20`.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A share from 0 to 1. In a file it is a text in any of the three spellings, or a number.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, serde::Serialize)]
#[serde(transparent)]
pub struct Fraction(f64);

/// Why a text is no [`Fraction`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no fraction: write 5%, 0.05 or 1/20, from 0 to all")]
pub struct FractionError(String);

impl Fraction {
    /// Everything.
    pub const ALL: Self = Self(1.0);

    /// Nothing.
    pub const NONE: Self = Self(0.0);

    /// The part of a number that is behind the point; 0 for what is not finite.
    pub(crate) fn of_rest(number: f64) -> Self {
        let rest = number.fract();
        Self(if (0.0..1.0).contains(&rest) { rest } else { 0.0 })
    }

    /// The share as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether a uniformly distributed 64-bit hash falls into the share.
    #[must_use]
    pub fn takes(self, hash: u64) -> bool {
        // 2^53 levels: exact in a float, and fine enough for 0.0001 %.
        ((hash >> 11) as f64) < self.0 * (1u64 << 53) as f64
    }
}

impl FromStr for Fraction {
    type Err = FractionError;

    fn from_str(text: &str) -> Result<Self, FractionError> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let value = if let Some(percent) = text.trim().strip_suffix('%') {
            number(percent).map(|percent| percent / 100.0)
        } else if let Some((part, whole)) = text.split_once('/') {
            number(part).zip(number(whole)).map(|(part, whole)| part / whole)
        } else {
            number(text)
        };
        match value {
            Some(value) if (0.0..=1.0).contains(&value) => Ok(Self(value)),
            _ => Err(FractionError(text.to_owned())),
        }
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spelled;

        impl Visitor<'_> for Spelled {
            type Value = Fraction;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fraction such as \"5%\", 0.05 or \"1/20\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Fraction, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Fraction, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Fraction, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Fraction, E> {
                self.visit_str(&value.to_string())
            }
        }

        deserializer.deserialize_any(Spelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_spellings_of_the_same_share() {
        for text in ["5%", "0.05", "1/20", " 5 % "] {
            assert!((text.parse::<Fraction>().unwrap().get() - 0.05).abs() < 1e-15, "{text}");
        }
        assert!((("0.0001%").parse::<Fraction>().unwrap().get() - 1e-6).abs() < 1e-18);
    }

    #[test]
    fn in_a_file_a_share_is_a_text_or_a_number() {
        let read = serde_json::from_str::<Fraction>;
        for text in ["\"5%\"", "0.05", "\"1/20\""] {
            assert!((read(text).unwrap().get() - 0.05).abs() < 1e-15, "{text}");
        }
        assert_eq!((read("0").unwrap(), read("1").unwrap()), (Fraction::NONE, Fraction::ALL));
        assert!((read("1e-6").unwrap().get() - 1e-6).abs() < 1e-18);
        for (text, wanted) in [("5", "`5` is no fraction"), ("-1", "write 5%"), ("true", "such as")] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["", "5", "-1%", "101%", "1/0", "0/0", "NaN", "half", "%"] {
            assert_eq!(text.parse::<Fraction>(), Err(FractionError(text.into())), "{text}");
        }
    }

    #[test]
    fn all_takes_every_hash_and_none_takes_no_hash() {
        for hash in [0, 1, u64::MAX / 2, u64::MAX] {
            assert!(Fraction::ALL.takes(hash));
            assert!(!Fraction(0.0).takes(hash));
        }
        let tenth = Fraction(0.1);
        let taken = (0..10_000u64).filter(|n| tenth.takes(n.wrapping_mul(u64::MAX / 10_000))).count();
        assert!((999..=1001).contains(&taken), "{taken}");
    }
}
