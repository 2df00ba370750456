//! Pairing the outputs of two answers by name; names, types and shapes must agree.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::printed;
use crate::decode::{shape_text, shortened};
use crate::{DType, Decoded, Kind, Output, OutputRule, Rules, Tolerance};

/// An output as both answers have it, with what the rules say about it.
#[derive(Debug, Clone)]
pub(super) struct Pair<'a> {
    pub(super) primary: Cow<'a, Output>,
    pub(super) shadow: Cow<'a, Output>,
    /// What the elements are.
    pub(super) kind: Kind,
    /// Type to compare at.
    pub(super) dtype: DType,
    pub(super) tolerance: Tolerance,
    pub(super) threshold: Option<f64>,
    pub(super) rule: OutputRule,
    /// Magnitude below which ratios and signs mean nothing.
    pub(super) floor: f64,
    /// Whether units in the last place mean something: the answers declare the type and give all of its digits.
    pub(super) has_ulp: bool,
    /// Whether rows have a largest element that means something.
    pub(super) ranked: bool,
    /// The row that all of it is, when it is one of several.
    pub(super) at_row: Option<u64>,
}

impl Pair<'_> {
    /// Both values of each element.
    pub(super) fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.primary.values.iter().copied().zip(self.shadow.values.iter().copied())
    }

    /// Elements of one row of the first dimension; 0 for an output of less than two dimensions.
    pub(super) fn stride(&self) -> usize {
        let rows = self.primary.shape.first().and_then(|rows| usize::try_from(*rows).ok()).unwrap_or(0);
        if self.primary.shape.len() < 2 || rows == 0 { 0 } else { self.primary.values.len() / rows }
    }

    /// Row of the first dimension that an element is in; `None` where there are no rows.
    pub(super) fn row(&self, index: usize) -> Option<u64> {
        self.at_row.or_else(|| index.checked_div(self.stride()).map(|row| row as u64))
    }

    /// What the rules say about it, for other elements.
    pub(super) fn with(&self, primary: Output, shadow: Output) -> Pair<'static> {
        let Self { kind, dtype, tolerance, threshold, rule, floor, has_ulp, ranked, at_row, .. } = *self;
        let (primary, shadow) = (Cow::Owned(primary), Cow::Owned(shadow));
        Pair { primary, shadow, kind, dtype, tolerance, threshold, rule, floor, has_ulp, ranked, at_row }
    }
}

/// Pairs the outputs that the rules compare, without those in `taken`, in the order of their names.
///
/// # Errors
/// The first difference of structure, as a detail.
pub(super) fn pair<'a>(
    primary: &'a Decoded,
    shadow: &'a Decoded,
    rules: &Rules,
    taken: &BTreeSet<&str>,
) -> Result<Vec<Pair<'a>>, String> {
    let declared = primary.protocol.declares_types() && shadow.protocol.declares_types();
    let mut left = compared(primary, rules, taken);
    let mut right = compared(shadow, rules, taken);
    let mut pairs = Vec::new();
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return Ok(pairs),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.name.cmp(&right.name),
        };
        match (order, left.peek(), right.peek()) {
            (Ordering::Less, Some(left), _) => return Err(format!("missing:{}", shortened(&left.name))),
            (Ordering::Greater, _, Some(right)) => return Err(format!("extra:{}", shortened(&right.name))),
            _ => {}
        }
        let (Some(one), Some(other)) = (left.next(), right.next()) else { return Ok(pairs) };
        let pair = matched(one, other, declared, rules)?;
        if pair.kind == Kind::Ranking
            && pair.primary.shape.len().max(pair.shadow.shape.len()) > 1
            && keyed(&pair)
        {
            pairs.extend(rows(&pair)?);
        } else {
            pairs.push(pair);
        }
    }
}

fn keyed(pair: &Pair<'_>) -> bool {
    !pair.primary.keys.is_empty() || !pair.shadow.keys.is_empty()
}

/// A ranking for each row: the same items may stand in several.
fn rows(pair: &Pair<'_>) -> Result<Vec<Pair<'static>>, String> {
    let (one, other) = (row_outputs(&pair.primary), row_outputs(&pair.shadow));
    if one.len() != other.len() {
        return Err(format!("shape:{} {}/{} rows", shortened(&pair.primary.name), one.len(), other.len()));
    }
    let rows = one.into_iter().zip(other).enumerate();
    Ok(rows.map(|(row, (one, other))| Pair { at_row: Some(row as u64), ..pair.with(one, other) }).collect())
}

/// The items of each row, without those that fill it up, which have an empty key.
fn row_outputs(output: &Output) -> Vec<Output> {
    let count = output.shape.first().and_then(|rows| usize::try_from(*rows).ok()).unwrap_or(0).max(1);
    let width = (output.keys.len() / count).max(1);
    let row = |(number, keys): (usize, &[String])| {
        let items: Vec<usize> = keys
            .iter()
            .enumerate()
            .filter(|(_, key)| !key.is_empty())
            .map(|(at, _)| number * width + at)
            .collect();
        Output {
            kind: output.kind,
            values: items.iter().filter_map(|at| output.values.get(*at).copied()).collect(),
            keys: items.iter().map(|at| output.keys[*at].clone()).collect(),
            exact: output
                .exact
                .as_ref()
                .map(|exact| items.iter().filter_map(|at| exact.get(*at).copied()).collect()),
            printed: output.printed,
            ..Output::new(output.name.clone(), output.dtype, vec![items.len() as u64])
        }
    };
    output.keys.chunks(width).enumerate().map(row).collect()
}

fn compared<'a>(
    decoded: &'a Decoded,
    rules: &Rules,
    taken: &BTreeSet<&str>,
) -> std::iter::Peekable<impl Iterator<Item = &'a Output>> {
    let wanted = |output: &&Output| rules.compares(&output.name) && !taken.contains(output.name.as_str());
    decoded.outputs.iter().filter(wanted).peekable()
}

/// Pairs two outputs of one name.
pub(super) fn matched<'a>(
    primary: &'a Output,
    shadow: &'a Output,
    declared: bool,
    rules: &Rules,
) -> Result<Pair<'a>, String> {
    let name = shortened(&primary.name);
    let rule = rules.output(&primary.name);
    let kind = match rule.kind {
        Some(kind) => kind,
        None if primary.kind == shadow.kind => primary.kind,
        None => return Err(format!("kind:{name} {}/{}", primary.kind.as_str(), shadow.kind.as_str())),
    };
    // Lists of their own length on each side.
    let lists = match kind {
        Kind::Ranking => !primary.keys.is_empty() || !shadow.keys.is_empty(),
        Kind::Tokens | Kind::Logprobs => true,
        _ => false,
    };
    if !lists && primary.shape != shadow.shape {
        let (one, other) = (shape_text(&primary.shape), shape_text(&shadow.shape));
        return Err(format!("shape:{name} {one}/{other}"));
    }
    if !lists && primary.nesting != shadow.nesting {
        return Err(format!("shape:{name} rows of other lengths, or other rows"));
    }
    let Some(dtype) = common(primary.dtype, shadow.dtype, declared) else {
        return Err(format!("dtype:{name} {}/{}", primary.dtype.as_str(), shadow.dtype.as_str()));
    };
    if !lists && (primary.values.len(), primary.text.len()) != (shadow.values.len(), shadow.text.len()) {
        // Only an output built by hand can hold another number of elements than its shape.
        return Err(format!("shape:{name} {}/{}", primary.values.len(), shadow.values.len()));
    }
    let printed = printed::scores(primary, shadow).filter(|_| kind == Kind::Tensor);
    let kind = printed.as_ref().map_or(kind, |(primary, _)| primary.kind);
    // Printed scores have few digits: no distance in units of the last place.
    let (dtype, declared) = if printed.is_some() { (DType::Fp32, false) } else { (dtype, declared) };
    // A number of steps is a score, where another integer is a label or a count.
    let number = !dtype.is_float() && !matches!(dtype, DType::Bool | DType::Bytes);
    let (dtype, declared) =
        if rule.step.is_some() && number { (DType::Fp64, false) } else { (dtype, declared) };
    let mut tolerance = rules.tolerance(&primary.name, dtype, declared);
    if dtype.is_float() && rule.atol.is_none() {
        tolerance.atol = tolerance.atol.max(rounding(primary, shadow));
    }
    if kind == Kind::Logprobs && rule.atol.is_none() && rule.rtol.is_none() {
        tolerance = Tolerance { rtol: 0.0, atol: rules.near_tie_nats };
    }
    let has_ulp = declared && dtype.is_float() && has_digits(primary, dtype) && has_digits(shadow, dtype);
    let ranked = dtype.is_float() && primary.shape.last().is_some_and(|last| *last >= 2);
    let (primary, shadow) = match printed {
        Some((primary, shadow)) => (Cow::Owned(primary), Cow::Owned(shadow)),
        None => (Cow::Borrowed(primary), Cow::Borrowed(shadow)),
    };
    let floor = rules.floor.max(tolerance.atol);
    let threshold = rule.threshold;
    Ok(Pair {
        primary,
        shadow,
        kind,
        dtype,
        tolerance,
        threshold,
        rule,
        floor,
        has_ulp,
        ranked,
        at_row: None,
    })
}

/// Fewest decimals that tell a server that rounds from one whose scores happen to be short.
const LEAST_DECIMALS: u32 = 3;

/// Half a unit of the last decimal that the coarser side printed: what its rounding took away.
fn rounding(primary: &Output, shadow: &Output) -> f64 {
    let decimals =
        [primary, shadow].into_iter().filter_map(|output| output.printed).map(|printed| printed.decimals);
    match decimals.min() {
        Some(decimals) if decimals >= LEAST_DECIMALS => 0.5 * 10_f64.powi(-decimals.cast_signed()),
        _ => 0.0,
    }
}

/// Whether numbers came in binary, or with as many digits as it takes to give every bit of the type.
fn has_digits(output: &Output, dtype: DType) -> bool {
    let needed = match dtype {
        DType::Bf16 => 4,
        DType::Fp16 => 5,
        DType::Fp32 => 9,
        _ => 17,
    };
    output.printed.is_none_or(|printed| printed.digits >= needed)
}

/// The type to compare at. Where an answer declares none, a score may be printed `1` or `0.5`: numbers of both kinds are floats.
fn common(one: DType, other: DType, declared: bool) -> Option<DType> {
    let number = |dtype| !matches!(dtype, DType::Bool | DType::Bytes);
    match (one, other) {
        (one, other) if one == other => Some(one),
        (one, other) if declared || !number(one) || !number(other) => None,
        (one, other) => Some(if one.is_float() || other.is_float() { DType::Fp64 } else { DType::Int64 }),
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A pair as an answer of declared types gives it.
    pub(in crate::compare) fn pair_of(
        dtype: DType,
        shape: &[u64],
        primary: &[f64],
        shadow: &[f64],
        rules: &Rules,
    ) -> Pair<'static> {
        let output =
            |values: &[f64]| Output { values: values.to_vec(), ..Output::new("x", dtype, shape.to_vec()) };
        let (primary, shadow) = (output(primary), output(shadow));
        let pair = matched(&primary, &shadow, true, rules).expect("one shape and type");
        pair.with(primary.clone(), shadow.clone())
    }
}
