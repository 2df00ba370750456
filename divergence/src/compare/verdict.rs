//! Joining the metrics of all outputs and naming the class: the first rule that matches.

use super::Divergence;
use super::cosine::cosine;
use super::degenerate::{self, OneSided, Sign};
use super::elements::{Elements, raise};
use super::rows::Moves;
use super::structure::Pair;
use crate::metric::ulp;
use crate::{Class, Rules};

/// What the outputs show together.
#[derive(Debug, Default)]
struct Totals {
    count: usize,
    beyond: usize,
    differs: bool,
    one_sided: OneSided,
    gross: Option<Gross>,
    moves: Moves,
    label: bool,
    text: bool,
}

/// Why a pair is gross, first match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gross {
    Ratio,
    Tolerance,
    Cosine,
    Sign,
}

impl Gross {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Tolerance => "tolerance",
            Self::Cosine => "cosine",
            Self::Sign => "sign",
        }
    }
}

/// Measures all pairs of outputs and names the class.
pub(super) fn judge(pairs: &[Pair<'_>], rules: &Rules) -> Divergence {
    let mut divergence = Divergence::of(Class::BitEqual, String::new(), false);
    let mut totals = Totals::default();
    // Beside scores, a changed label would drown them: it differs infinitely, and has its own class.
    let floating = pairs.iter().any(|pair| pair.dtype.is_float());
    for pair in pairs {
        let elements = Elements::of(pair);
        if pair.dtype.is_float() || !floating {
            record(pair, &elements, &mut divergence);
        }
        measure(pair, &elements, rules, &mut divergence, &mut totals);
    }
    divergence.primary_degenerate = degenerate::listed(pairs.iter().map(|pair| (&*pair.primary, pair.dtype)));
    divergence.shadow_degenerate = degenerate::listed(pairs.iter().map(|pair| (&*pair.shadow, pair.dtype)));
    divergence.bit_equal = Some(!totals.differs);
    divergence.fraction_beyond = (totals.count > 0).then(|| totals.beyond as f64 / totals.count as f64);
    let moves = totals.moves;
    divergence.argmax_flip = moves.ranked.then_some(moves.real || moves.near_tie);
    divergence.argmax_near_tie = (moves.real || moves.near_tie).then_some(!moves.real);
    let (class, detail) = class(&totals);
    divergence.serious = match class {
        Class::Structure | Class::Gross => true,
        Class::Degenerate => totals.one_sided.shadow.is_some(),
        Class::Flip => detail.starts_with("real"),
        _ => false,
    };
    divergence.class = class;
    divergence.detail = detail;
    divergence
}

/// Raises the metrics to those of one output.
fn record(pair: &Pair<'_>, elements: &Elements, divergence: &mut Divergence) {
    if let Some((units, index)) = elements.worst {
        if units > divergence.tolerance_units.unwrap_or(0.0) {
            divergence.worst_output = Some(pair.primary.name.clone());
            divergence.worst_index = Some(index as u64);
        }
        raise(&mut divergence.tolerance_units, units);
    }
    for (slot, value) in [
        (&mut divergence.max_absolute, elements.max_absolute),
        (&mut divergence.max_relative, elements.max_relative),
        (&mut divergence.symmetric_relative, elements.symmetric_relative),
        (&mut divergence.log10_ratio, elements.log10_ratio),
    ] {
        if let Some(value) = value {
            raise(slot, value);
        }
    }
}

fn measure(
    pair: &Pair<'_>,
    elements: &Elements,
    rules: &Rules,
    divergence: &mut Divergence,
    totals: &mut Totals,
) {
    totals.count += elements.count;
    totals.beyond += elements.beyond;
    totals.differs |= !same_bits(pair);
    let one_sided = OneSided::of(pair, elements.beyond > 0);
    totals.one_sided = totals.one_sided.or(one_sided);
    if let Some(changed) = elements.sign_change {
        divergence.sign_change = Some(divergence.sign_change.unwrap_or(false) || changed);
    }
    divergence.ulp_max = divergence.ulp_max.max(ulp_max(pair));
    let cosine = cosine(pair);
    divergence.cosine = match (divergence.cosine, cosine) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };

    // A primary that says nothing is nothing to judge by; one that is not finite in places is, in the others.
    let silent = matches!(one_sided.primary, Some(Sign::AllZero | Sign::Empty));
    let (beyond, units) = match one_sided.primary {
        Some(Sign::Nan | Sign::Infinite | Sign::Null) => (elements.finite_beyond, elements.finite_worst),
        _ => (elements.beyond, elements.worst.map_or(0.0, |(units, _)| units)),
    };
    if pair.dtype.is_float() {
        let gross = gross(elements, beyond > 0, units, cosine, rules).filter(|_| !silent);
        totals.gross = [totals.gross, gross].into_iter().flatten().min();
        let moves = Moves::of(pair);
        totals.moves = totals.moves.or(Moves { crossed: moves.crossed && !silent, ..moves });
    } else if beyond > 0 {
        totals.label = true;
    } else if let Some(index) = first_difference(&pair.primary.text, &pair.shadow.text).filter(|_| !silent) {
        totals.text = true;
        if divergence.worst_output.is_none() {
            divergence.worst_output = Some(pair.primary.name.clone());
            divergence.worst_index = Some(index as u64);
        }
    }
}

fn ulp_max(pair: &Pair<'_>) -> Option<i64> {
    let defined = pair.declared && pair.dtype.is_float();
    defined.then(|| pair.values().filter_map(|(p, s)| ulp::distance(p, s, pair.dtype)).max()).flatten()
}

/// Why a floating output is gross. A ratio or direction counts only where something is beyond tolerance: among values that are
/// all noise, both mean nothing.
fn gross(elements: &Elements, beyond: bool, units: f64, cosine: Option<f64>, rules: &Rules) -> Option<Gross> {
    if elements.ratio_beyond >= rules.gross_log10_ratio {
        Some(Gross::Ratio)
    } else if units >= rules.gross_tolerance_units {
        Some(Gross::Tolerance)
    } else if beyond && cosine.is_some_and(|cosine| cosine < rules.gross_cosine) {
        Some(Gross::Cosine)
    } else {
        elements.sign_change.unwrap_or(false).then_some(Gross::Sign)
    }
}

fn class(totals: &Totals) -> (Class, String) {
    let moves = totals.moves;
    let beyond = totals.beyond > 0;
    if let Some(sign) = totals.one_sided.shadow {
        return (Class::Degenerate, format!("shadow_only:{}", sign.as_str()));
    }
    if let Some(gross) = totals.gross {
        return (Class::Gross, gross.as_str().into());
    }
    // Text follows the numbers it is made from: it is a decision of its own only where the numbers agree.
    let real = [
        (moves.real, "real"),
        (moves.crossed, "real:threshold"),
        (totals.label, "real:label"),
        (totals.text && !beyond, "real:text"),
    ];
    let flip =
        |flips: &[(bool, &'static str)]| flips.iter().find(|(flip, _)| *flip).map(|(_, detail)| *detail);
    if let Some(detail) = flip(&real) {
        return (Class::Flip, detail.into());
    }
    // It counts against nobody, so it must not hide what does.
    if let Some(sign) = totals.one_sided.primary {
        return (Class::Degenerate, format!("primary_only:{}", sign.as_str()));
    }
    if let Some(detail) = flip(&[(moves.near_tie, "near_tie"), (moves.crossed_near, "near_tie:threshold")]) {
        return (Class::Flip, detail.into());
    }
    let text = if totals.text { "text" } else { "" };
    if moves.rank {
        (Class::Rank, text.into())
    } else if beyond {
        (Class::Numeric, text.into())
    } else if totals.differs {
        (Class::WithinTol, String::new())
    } else {
        (Class::BitEqual, String::new())
    }
}

/// Whether values, text and nulls are the same, bit for bit. NaN counts by its bits, -0 is not 0.
fn same_bits(pair: &Pair<'_>) -> bool {
    let (p, s) = (&pair.primary, &pair.shadow);
    p.nulls == s.nulls
        && p.text == s.text
        && p.exact == s.exact
        && pair.values().all(|(p, s)| p.to_bits() == s.to_bits())
}

fn first_difference(one: &[String], other: &[String]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one != other)
}
