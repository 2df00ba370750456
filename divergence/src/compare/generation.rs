//! Generated text: its tokens, their log probabilities, and why it ended, taken together.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::structure::Pair;
use crate::metric::logprob::{self, Parting, Tokens};
use crate::metric::text::{Sequences, sequences, words};
use crate::{Kind, Output};

/// The outputs of one generation; all share the beginning of their names.
#[derive(Default)]
pub(super) struct Generation<'p> {
    /// What it says: its reasoning, its text, its calls of tools.
    pub(super) texts: Vec<&'p Pair<'p>>,
    pub(super) tokens: Option<&'p Pair<'p>>,
    /// Of the chosen tokens, and of the best at each place.
    pub(super) logprobs: Option<&'p Pair<'p>>,
    best: Option<&'p Pair<'p>>,
    pub(super) reason: Option<&'p Pair<'p>>,
}

/// The generations among the outputs, by what their names begin with (up to the last `.`) and end with (`[1]` of a second choice).
pub(super) fn generations<'p>(pairs: &'p [Pair<'p>]) -> Vec<Generation<'p>> {
    let mut found: BTreeMap<(&str, &str), Generation<'p>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| is_part(pair) || pair.kind == Kind::Reason) {
        let name = pair.primary.name.as_str();
        let (base, choice) = match name.rfind('[') {
            Some(at) if name.ends_with(']') => name.split_at(at),
            _ => (name, ""),
        };
        let group = base.rsplit_once('.').map_or("", |(group, _)| group);
        let generation = found.entry((group, choice)).or_default();
        let slot = match pair.kind {
            Kind::Text => {
                generation.texts.push(pair);
                continue;
            }
            Kind::Tokens => &mut generation.tokens,
            Kind::Logprobs if pair.primary.shape.len() > 1 => &mut generation.best,
            Kind::Logprobs => &mut generation.logprobs,
            _ => &mut generation.reason,
        };
        // Tokens as text tell more than their ids.
        if slot.is_none_or(|known| known.primary.text.is_empty() && !pair.primary.text.is_empty()) {
            *slot = Some(pair);
        }
    }
    found.into_values().filter(|found| !found.texts.is_empty() || found.tokens.is_some()).collect()
}

/// How two generations differ.
pub(super) struct Difference {
    pub(super) sequences: Sequences,
    /// Whether the sequences are tokens; else they are words.
    pub(super) is_tokens: bool,
    /// What happened at the first token that differs.
    pub(super) parting: Option<Parting>,
    /// Whether the shadow ends in the middle of what the primary says, and not for the same reason.
    pub(super) truncated: bool,
}

impl<'p> Generation<'p> {
    /// The output to name in a finding: the first text that differs.
    pub(super) fn named(&self) -> Option<&'p Pair<'p>> {
        let differs = |pair: &&&Pair<'_>| !same(pair);
        self.texts.iter().find(differs).or(self.texts.first()).copied().or(self.tokens)
    }

    /// Measures the difference; `None` when text and tokens are the same.
    pub(super) fn difference(&self) -> Option<Difference> {
        // Another way to cut the same text into tokens is no difference.
        let all_same = match self.texts[..] {
            [] => self.tokens.is_none_or(same),
            _ => self.texts.iter().all(|pair| same(pair)),
        };
        if all_same {
            return None;
        }
        let tokens = self.tokens.filter(|pair| !same(pair));
        let items = |side: fn(&'p Pair<'p>) -> &'p Output| match tokens {
            Some(tokens) => listed(side(tokens)),
            None => self.texts.iter().flat_map(|pair| worded(side(pair))).collect(),
        };
        let (p, s) = (items(|pair| &pair.primary), items(|pair| &pair.shadow));
        let sequences = sequences(&p, &s);
        let is_tokens = tokens.is_some();
        let one_reason = self.reason.is_some_and(same);
        let ends = sequences.first_difference == Some(s.len()) && !s.is_empty() && s.len() < p.len();
        let parting = is_tokens.then(|| self.parting(&p, &s)).flatten();
        Some(Difference { sequences, is_tokens, parting, truncated: ends && !one_reason })
    }

    fn parting(&self, p: &[Cow<'p, str>], s: &[Cow<'p, str>]) -> Option<Parting> {
        let best = self.best?;
        let p = Tokens { tokens: p.iter().map(AsRef::as_ref).collect(), best: alternatives(&best.primary) };
        let s = Tokens { tokens: s.iter().map(AsRef::as_ref).collect(), best: alternatives(&best.shadow) };
        logprob::parting(&p, &s)
    }

    /// Places up to the first token that differs: behind it, log probabilities are of other texts.
    pub(super) fn common(&self, difference: Option<&Difference>) -> usize {
        difference
            .filter(|found| found.is_tokens)
            .and_then(|found| found.sequences.first_difference)
            .unwrap_or(usize::MAX)
    }
}

fn same(pair: &Pair<'_>) -> bool {
    pair.primary.text == pair.shadow.text && pair.primary.values == pair.shadow.values
}

/// Tokens, as text or by their ids.
fn listed(output: &Output) -> Vec<Cow<'_, str>> {
    let ids = output.values.iter().map(|id| Cow::Owned(id.to_string()));
    output.text.iter().map(|token| Cow::Borrowed(token.as_str())).chain(ids).collect()
}

/// The words of a text.
fn worded(output: &Output) -> Vec<Cow<'_, str>> {
    output.text.iter().flat_map(|text| words(text)).map(Cow::Borrowed).collect()
}

/// The best tokens at each place, from an output of shape `[n, k]`.
fn alternatives(output: &Output) -> Vec<BTreeMap<&str, f64>> {
    let width = output.shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0).max(1);
    let places = output.keys.chunks(width).zip(output.values.chunks(width));
    places
        .map(|(keys, values)| {
            keys.iter()
                .map(String::as_str)
                .zip(values.iter().copied())
                .filter(|(key, _)| !key.is_empty())
                .collect()
        })
        .collect()
}

/// Whether an output is compared as a part of a generation.
pub(super) fn is_part(pair: &Pair<'_>) -> bool {
    matches!(pair.kind, Kind::Text | Kind::Tokens | Kind::Logprobs)
}

/// A part of a generation that is compared one by one: its log probabilities up to `common`.
pub(super) fn beginning(pair: &Pair<'_>, common: usize) -> Pair<'static> {
    let cut = |output: &Output| {
        let end = common.min(pair.primary.values.len()).min(pair.shadow.values.len());
        let values = output.values[..end].to_vec();
        Output {
            values,
            kind: output.kind,
            ..Output::new(output.name.clone(), output.dtype, vec![end as u64])
        }
    };
    let mut cut = pair.with(cut(&pair.primary), cut(&pair.shadow));
    (cut.ranked, cut.has_ulp) = (false, false);
    cut
}
