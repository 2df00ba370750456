//! Pairing the outputs of two answers by name; names, types and shapes must agree.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::printed;
use crate::decode::{shape_text, shortened};
use crate::{DType, Decoded, Output, Rules, Tolerance};

/// An output as both answers have it, with what the rules say about it.
#[derive(Debug, Clone)]
pub(super) struct Pair<'a> {
    pub(super) primary: Cow<'a, Output>,
    pub(super) shadow: Cow<'a, Output>,
    /// Type to compare at.
    pub(super) dtype: DType,
    /// Whether both answers declare it.
    pub(super) declared: bool,
    pub(super) tolerance: Tolerance,
    pub(super) threshold: Option<f64>,
    /// Magnitude below which ratios and signs mean nothing.
    pub(super) floor: f64,
}

impl Pair<'_> {
    /// Both values of each element.
    pub(super) fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.primary.values.iter().copied().zip(self.shadow.values.iter().copied())
    }
}

/// Pairs the outputs that the rules compare, in the order of their names.
///
/// # Errors
/// The first difference of structure, as a detail.
pub(super) fn pair<'a>(
    primary: &'a Decoded,
    shadow: &'a Decoded,
    rules: &Rules,
) -> Result<Vec<Pair<'a>>, String> {
    let declared = primary.protocol.declares_types() && shadow.protocol.declares_types();
    let mut left = compared(primary, rules);
    let mut right = compared(shadow, rules);
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
        pairs.push(matched(one, other, declared, rules)?);
    }
}

fn compared<'a>(
    decoded: &'a Decoded,
    rules: &Rules,
) -> std::iter::Peekable<impl Iterator<Item = &'a Output>> {
    decoded.outputs.iter().filter(|output| rules.compares(&output.name)).peekable()
}

fn matched<'a>(
    primary: &'a Output,
    shadow: &'a Output,
    declared: bool,
    rules: &Rules,
) -> Result<Pair<'a>, String> {
    let name = shortened(&primary.name);
    if primary.shape != shadow.shape {
        let (one, other) = (shape_text(&primary.shape), shape_text(&shadow.shape));
        return Err(format!("shape:{name} {one}/{other}"));
    }
    let Some(dtype) = common(primary.dtype, shadow.dtype, declared) else {
        return Err(format!("dtype:{name} {}/{}", primary.dtype.as_str(), shadow.dtype.as_str()));
    };
    if (primary.values.len(), primary.text.len()) != (shadow.values.len(), shadow.text.len()) {
        // Only an output built by hand can hold another number of elements than its shape.
        return Err(format!("shape:{name} {}/{}", primary.values.len(), shadow.values.len()));
    }
    let printed = printed::scores(primary, shadow);
    // Printed scores have few digits: no distance in units of the last place.
    let (dtype, declared) = if printed.is_some() { (DType::Fp32, false) } else { (dtype, declared) };
    let tolerance = rules.tolerance(&primary.name, dtype, declared);
    let floor = rules.floor.max(tolerance.atol);
    let threshold = rules.threshold(&primary.name);
    let (primary, shadow) = match printed {
        Some((primary, shadow)) => (Cow::Owned(primary), Cow::Owned(shadow)),
        None => (Cow::Borrowed(primary), Cow::Borrowed(shadow)),
    };
    Ok(Pair { primary, shadow, dtype, declared, tolerance, threshold, floor })
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
