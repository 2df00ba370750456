//! Answers of the right shape that say nothing: what a kernel that never ran, an unwritten buffer or an overflow leaves behind.

use std::collections::BTreeSet;

use super::elements::Elements;
use super::structure::Pair;
use crate::metric::{probability, text};
use crate::profile::{Profile, extremes};
use crate::{DType, Decoded, Kind, Output, OutputRule, Rules};

/// A sign of degeneration, in the order they are listed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    /// All elements of a floating output are 0 (either sign).
    AllZero,
    /// All are below the smallest normal number of the type, and not all are 0: what flushing to zero leaves.
    Tiny,
    /// More than half of the elements that are not 0 on the other side are.
    Zeroed,
    /// Two or more elements of a floating output are all the same, and not 0.
    Constant,
    /// NaN that the answer did not write as `null`.
    Nan,
    /// An infinity.
    Infinite,
    /// `null` for an element.
    Null,
    /// An element outside the declared range.
    Range,
    /// A row of declared probabilities that does not sum to 1.
    Simplex,
    /// An element is the largest number of the type: the next step overflows.
    Saturated,
    /// One token makes up more than 95 % of a generation or a loop does, or a long loop half of it; of text without tokens, words.
    Repeated,
    /// No elements, or only empty text.
    Empty,
}

/// Elements below which a share of zeros says nothing.
const LEAST_ZEROED: usize = 4;

/// Tokens below which a repetition says nothing.
const LEAST_TOKENS: usize = 16;

/// Share of a generation from which on it is a repetition.
const REPEATED: f64 = 0.95;

/// Tokens of the longest run looked for that a loop repeats.
const LONGEST_LOOP: usize = 32;

/// Tokens from which on a loop at the end of other text says that it will not end.
const LONG_LOOP: f64 = 32.0;

impl Sign {
    /// The name used in columns and reports.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::AllZero => "all_zero",
            Self::Tiny => "tiny",
            Self::Zeroed => "zeroed",
            Self::Constant => "constant",
            Self::Nan => "nan",
            Self::Infinite => "inf",
            Self::Null => "null",
            Self::Range => "range",
            Self::Simplex => "simplex",
            Self::Saturated => "saturated",
            Self::Repeated => "repeated",
            Self::Empty => "empty",
        }
    }

    /// Whether an output with the signs `other` has this one as well, or one that says as much: servers write NaN and infinity
    /// as `null` where JSON has no better, and all zero is constant too.
    fn shared(self, other: &BTreeSet<Self>) -> bool {
        let like: &[Self] = match self {
            Self::Constant => &[Self::Constant, Self::AllZero, Self::Tiny],
            Self::Tiny | Self::AllZero | Self::Zeroed => &[Self::Tiny, Self::AllZero],
            Self::Nan | Self::Infinite | Self::Null => &[Self::Nan, Self::Infinite, Self::Null],
            _ => &[self],
        };
        like.iter().any(|sign| other.contains(sign))
    }
}

/// The signs of one output, judged as the type `dtype` under its rule. Integers and booleans are labels and counts: all zero or all the
/// same is normal for them.
fn signs(output: &Output, profile: &Profile, dtype: DType, rule: OutputRule) -> BTreeSet<Sign> {
    let mut signs = BTreeSet::new();
    let mut put = |found: bool, sign: Sign| {
        if found {
            signs.insert(sign);
        }
    };
    if let Some((smallest, largest)) = extremes(dtype).filter(|_| output.kind != Kind::Logprobs) {
        let zero = profile.count > 0 && profile.zero == profile.count;
        put(zero, Sign::AllZero);
        let finite = profile.nan + profile.infinite == 0 && profile.count > 0;
        put(finite && !zero && profile.magnitude() < smallest, Sign::Tiny);
        put(profile.count >= 2 && profile.is_constant() && !zero, Sign::Constant);
        put(profile.magnitude() >= largest, Sign::Saturated);
    }
    put(dtype != DType::Bytes && profile.nan > output.nulls, Sign::Nan);
    // The alternatives of a token are filled up with −∞.
    put(profile.infinite > 0 && output.kind != Kind::Logprobs, Sign::Infinite);
    put(output.nulls > 0 && output.kind != Kind::Logprobs, Sign::Null);
    if let Some([low, high]) = rule.range {
        let edge = probability::range_tolerance(dtype);
        let outside = profile.low < low - edge || profile.high > high + edge;
        put(outside && profile.low <= profile.high, Sign::Range);
    }
    if rule.probabilities == Some(true) && dtype.is_float() && profile.nan + profile.infinite == 0 {
        let width = output.shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0);
        let rows = output.values.chunks_exact(width.max(2));
        put(width >= 2 && !rows.into_iter().all(|row| probability::is_simplex(row, dtype)), Sign::Simplex);
    }
    put(is_repetition(output), Sign::Repeated);
    put(output.values.is_empty() && output.text.iter().all(String::is_empty), Sign::Empty);
    signs
}

fn is_repetition(output: &Output) -> bool {
    match output.kind {
        Kind::Tokens if output.text.is_empty() => {
            is_stuck(&output.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
        }
        Kind::Tokens => is_stuck(&output.text),
        Kind::Text => output.text.iter().any(|text| {
            let words = text::words(text);
            // What has no spaces is a run of characters.
            if words.len() < LEAST_TOKENS {
                is_stuck(&text.chars().collect::<Vec<_>>())
            } else {
                is_stuck(&words)
            }
        }),
        _ => false,
    }
}

/// Whether nearly all of a sequence is one item or a loop, or a long loop is at least half of it.
fn is_stuck<T: Ord>(items: &[T]) -> bool {
    let Some(share) = text::repeated(items, LEAST_TOKENS) else { return false };
    let looped = text::looped(items, LONGEST_LOOP);
    let long = looped * items.len() as f64 >= LONG_LOOP;
    share > REPEATED || looped > REPEATED || (looped >= 0.5 && long)
}

/// The names of some signs; comma-separated, in their order.
pub(super) fn listed(signs: &BTreeSet<Sign>) -> String {
    signs.iter().map(|sign| sign.as_str()).collect::<Vec<_>>().join(",")
}

/// All signs of an answer's compared outputs, each judged as its own type.
pub(super) fn listed_alone(decoded: &Decoded, rules: &Rules) -> String {
    if let Some(tree) = &decoded.tree {
        return super::tree::listed_alone(tree, rules);
    }
    let compared = decoded.outputs.iter().filter(|output| rules.compares(&output.name));
    let of = |output: &Output| signs(output, &Profile::of(output), output.dtype, rules.output(&output.name));
    listed(&compared.flat_map(of).collect())
}

/// The signs of both sides of one output, and those that only one side shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Signs {
    pub(super) primary: BTreeSet<Sign>,
    pub(super) shadow: BTreeSet<Sign>,
    pub(super) one_sided: OneSided,
}

/// The first sign that only one side shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OneSided {
    pub(super) primary: Option<Sign>,
    pub(super) shadow: Option<Sign>,
}

impl Signs {
    /// Looks at both sides. Where no element is beyond tolerance, all zero against almost zero, or constant against almost the same
    /// constant, is agreement. Constant also needs another side that varies by more than noise: a batch of one row twice is constant on
    /// both sides, though a kernel may give each row its own last bits.
    pub(super) fn of(pair: &Pair<'_>, elements: &Elements) -> Self {
        let (p, s) = (Profile::of(&pair.primary), Profile::of(&pair.shadow));
        let mut primary = signs(&pair.primary, &p, pair.dtype, pair.rule);
        let mut shadow = signs(&pair.shadow, &s, pair.dtype, pair.rule);
        let beyond = elements.beyond > 0;
        if pair.dtype.is_float() && beyond && elements.count >= LEAST_ZEROED {
            let (one, two) = (&pair.primary.values, &pair.shadow.values);
            for (side, own, other, (zeros, values)) in
                [(&mut shadow, &s, &p, (two, one)), (&mut primary, &p, &s, (one, two))]
            {
                let left = other.count - other.zero;
                if own.zero * 2 <= left || own.zero == own.count {
                    continue;
                }
                let zeroed =
                    zeros.iter().zip(values).filter(|(zero, value)| **zero == 0.0 && **value != 0.0).count();
                if zeroed * 2 > left {
                    side.insert(Sign::Zeroed);
                }
            }
        }
        let varies =
            |profile: &Profile| profile.high - profile.low > pair.tolerance.around(profile.magnitude());
        let only = |own: &BTreeSet<Sign>, other: &BTreeSet<Sign>, profile: &Profile| {
            let counts = |sign: &Sign| match sign {
                Sign::AllZero | Sign::Tiny => beyond,
                Sign::Constant => beyond && varies(profile),
                _ => true,
            };
            own.iter().copied().filter(counts).find(|sign| !sign.shared(other))
        };
        let one_sided =
            OneSided { primary: only(&primary, &shadow, &s), shadow: only(&shadow, &primary, &p) };
        Self { primary, shadow, one_sided }
    }
}

impl OneSided {
    /// The first of both.
    pub(super) fn or(self, other: Self) -> Self {
        Self { primary: self.primary.or(other.primary), shadow: self.shadow.or(other.shadow) }
    }
}
