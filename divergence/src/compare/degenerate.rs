//! Answers of the right shape that say nothing: what a kernel that never ran, an unwritten buffer or an overflow leaves behind.

use super::structure::Pair;
use crate::{DType, Decoded, Output, Rules};

/// A sign of degeneration, in the order they are listed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    /// All elements of a floating output are 0 (either sign).
    AllZero,
    /// Two or more elements of a floating output are all the same, and not 0.
    Constant,
    /// NaN that the answer did not write as `null`.
    Nan,
    /// An infinity.
    Infinite,
    /// `null` for an element.
    Null,
    /// No elements, or only empty text.
    Empty,
}

impl Sign {
    /// The name used in columns and reports.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::AllZero => "all_zero",
            Self::Constant => "constant",
            Self::Nan => "nan",
            Self::Infinite => "inf",
            Self::Null => "null",
            Self::Empty => "empty",
        }
    }

    /// Whether an output with the signs `other` has this one as well, or one that says as much: servers write NaN and infinity
    /// as `null` where JSON has no better, and all zero is constant too.
    fn shared(self, other: &[Self]) -> bool {
        let like: &[Self] = match self {
            Self::Constant => &[Self::Constant, Self::AllZero],
            Self::Nan | Self::Infinite | Self::Null => &[Self::Nan, Self::Infinite, Self::Null],
            Self::AllZero | Self::Empty => &[self],
        };
        like.iter().any(|sign| other.contains(sign))
    }
}

/// The signs of one output. Integers and booleans are labels and counts: all zero or all the same is normal for them.
fn signs(output: &Output, dtype: DType) -> Vec<Sign> {
    let mut signs = Vec::new();
    if let (true, Some(first)) = (dtype.is_float(), output.values.first()) {
        let constant = output.values.iter().all(|value| value == first);
        if constant && *first == 0.0 {
            signs.push(Sign::AllZero);
        } else if constant && output.values.len() >= 2 {
            signs.push(Sign::Constant);
        }
    }
    let nan = output.values.iter().filter(|value| value.is_nan()).count();
    if dtype != DType::Bytes && nan > output.nulls {
        signs.push(Sign::Nan);
    }
    if output.values.iter().any(|value| value.is_infinite()) {
        signs.push(Sign::Infinite);
    }
    if output.nulls > 0 {
        signs.push(Sign::Null);
    }
    if output.values.is_empty() && output.text.iter().all(String::is_empty) {
        signs.push(Sign::Empty);
    }
    signs
}

/// All signs of some outputs, each judged as the type beside it; comma-separated.
pub(super) fn listed<'a>(outputs: impl Iterator<Item = (&'a Output, DType)>) -> String {
    let mut all: Vec<Sign> = outputs.flat_map(|(output, dtype)| signs(output, dtype)).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(Sign::as_str).collect::<Vec<_>>().join(",")
}

/// All signs of an answer's compared outputs, each judged as its own type.
pub(super) fn listed_alone(decoded: &Decoded, rules: &Rules) -> String {
    let compared = decoded.outputs.iter().filter(|output| rules.compares(&output.name));
    listed(compared.map(|output| (output, output.dtype)))
}

/// Whether the finite elements differ among themselves beyond tolerance.
fn varies(output: &Output, pair: &Pair<'_>) -> bool {
    let finite = || output.values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    high - low > pair.tolerance.around(low.abs().max(high.abs()))
}

/// Signs that only one side of one output shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OneSided {
    pub(super) primary: Option<Sign>,
    pub(super) shadow: Option<Sign>,
}

impl OneSided {
    /// Compares the signs of both sides. `beyond` says whether an element is beyond tolerance: all zero against almost zero, or
    /// constant against almost the same constant, is agreement. Constant also needs another side that varies by more than noise:
    /// a batch of one row twice is constant on both sides, though a kernel may give each row its own last bits.
    pub(super) fn of(pair: &Pair<'_>, beyond: bool) -> Self {
        let primary = signs(&pair.primary, pair.dtype);
        let shadow = signs(&pair.shadow, pair.dtype);
        let only = |own: &[Sign], other: &[Sign], output: &Output| {
            let counts = |sign: &Sign| match sign {
                Sign::AllZero => beyond,
                Sign::Constant => beyond && varies(output, pair),
                _ => true,
            };
            own.iter().copied().filter(counts).find(|sign| !sign.shared(other))
        };
        Self {
            primary: only(&primary, &shadow, &pair.shadow),
            shadow: only(&shadow, &primary, &pair.primary),
        }
    }

    /// The first of both.
    pub(super) fn or(self, other: Self) -> Self {
        Self { primary: self.primary.or(other.primary), shadow: self.shadow.or(other.shadow) }
    }
}
