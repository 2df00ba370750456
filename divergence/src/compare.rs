//! From two answers to one divergence. One family of metrics per file under `compare/`.

mod cosine;
mod degenerate;
mod elements;
mod printed;
mod rows;
mod structure;
mod verdict;

#[cfg(test)]
mod tests;

use crate::{Class, Decoded, Rules};

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub enum Side<'a> {
    /// A decoded answer.
    Outputs(&'a Decoded),
    /// No outputs: the leg's failure or the reason for which its answer could not be decoded.
    Absent(&'a str),
}

/// How two answers differ. Metrics are over all numeric elements of all outputs, finite on both sides unless stated, in 64-bit
/// floats; they are `None` where nothing defines them. P is an element of the primary, S the shadow's.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// The class.
    pub class: Class,
    /// What within the class; empty when the class says all.
    ///
    /// - `INCOMPARABLE`: `primary: REASON`, `shadow: REASON`, `both: REASON` or `both: REASON / REASON`
    /// - `STRUCTURE`: `missing:NAME`, `extra:NAME`, `dtype:NAME FP32/FP16`, `shape:NAME 2x3/2x4`
    /// - `DEGENERATE`: `shadow_only:SIGN`, or `primary_only:SIGN` where the rest of the answer is neither gross nor really flipped
    /// - `GROSS`: `ratio`, `tolerance`, `cosine` or `sign`
    /// - `FLIP`: `real` (largest element), `real:threshold`, `real:label` (integers, booleans), `real:text`; `near_tie`,
    ///   `near_tie:threshold`
    /// - `RANK`, `NUMERIC`: `text` when text differs too
    pub detail: String,
    /// Whether it counts against the shadow.
    pub serious: bool,
    /// Whether all values are the same, bit for bit.
    pub bit_equal: Option<bool>,
    /// Largest |S − P| / (atol + rtol·|P|), as the next three of the floating outputs where there are any, else of all. NaN on both sides and equal infinities count 0; any other pair that is not finite, or
    /// differs where nothing is tolerated, is infinite.
    pub tolerance_units: Option<f64>,
    /// Largest |S − P|.
    pub max_absolute: Option<f64>,
    /// Largest |S − P| / |P|, P ≠ 0.
    pub max_relative: Option<f64>,
    /// Largest 2|S − P| / (|S| + |P|); 0 where both are below the floor.
    pub symmetric_relative: Option<f64>,
    /// Largest |log10(|S| / |P|)| of floating outputs, where one side is above the floor; the other is taken as at least the floor.
    pub log10_ratio: Option<f64>,
    /// Share of elements beyond tolerance, not finite ones included.
    pub fraction_beyond: Option<f64>,
    /// Smallest cosine over the floating outputs of two or more elements.
    pub cosine: Option<f64>,
    /// Whether an element of a floating output, above the floor on both sides, changed its sign beyond tolerance.
    pub sign_change: Option<bool>,
    /// Whether the largest element of a row moved.
    pub argmax_flip: Option<bool>,
    /// Whether every such move is a near tie; `None` without a move.
    pub argmax_near_tie: Option<bool>,
    /// Largest ULP distance at the declared type.
    pub ulp_max: Option<i64>,
    /// Output with the most tolerance units; of those that differ only in text, the first.
    pub worst_output: Option<String>,
    /// Index of that element, row-major.
    pub worst_index: Option<u64>,
    /// Signs of degeneration of the primary's answer, comma-separated, in the order all_zero, constant, nan, inf, null, empty.
    pub primary_degenerate: String,
    /// The same of the shadow's.
    pub shadow_degenerate: String,
}

impl Divergence {
    /// A divergence of which nothing is known but its class.
    fn of(class: Class, detail: String, serious: bool) -> Self {
        Self {
            class,
            detail,
            serious,
            bit_equal: None,
            tolerance_units: None,
            max_absolute: None,
            max_relative: None,
            symmetric_relative: None,
            log10_ratio: None,
            fraction_beyond: None,
            cosine: None,
            sign_change: None,
            argmax_flip: None,
            argmax_near_tie: None,
            ulp_max: None,
            worst_output: None,
            worst_index: None,
            primary_degenerate: String::new(),
            shadow_degenerate: String::new(),
        }
    }
}

/// Compares two answers. Never fails: what cannot be compared is [`Class::Incomparable`] with a reason.
#[must_use]
pub fn compare(primary: Side<'_>, shadow: Side<'_>, rules: &Rules) -> Divergence {
    let (primary, shadow) = match (primary, shadow) {
        (Side::Outputs(primary), Side::Outputs(shadow)) => (primary, shadow),
        (Side::Absent(reason), Side::Outputs(shadow)) => {
            let shadow_degenerate = degenerate::listed_alone(shadow, rules);
            return Divergence { shadow_degenerate, ..incomparable(format!("primary: {reason}")) };
        }
        (Side::Outputs(primary), Side::Absent(reason)) => {
            let primary_degenerate = degenerate::listed_alone(primary, rules);
            return Divergence { primary_degenerate, ..incomparable(format!("shadow: {reason}")) };
        }
        (Side::Absent(one), Side::Absent(other)) if one == other => {
            return incomparable(format!("both: {one}"));
        }
        (Side::Absent(one), Side::Absent(other)) => return incomparable(format!("both: {one} / {other}")),
    };
    match structure::pair(primary, shadow, rules) {
        Ok(pairs) if pairs.is_empty() => incomparable("both: the rules leave no output to compare".into()),
        Ok(pairs) => verdict::judge(&pairs, rules),
        Err(detail) => Divergence {
            bit_equal: Some(false),
            primary_degenerate: degenerate::listed_alone(primary, rules),
            shadow_degenerate: degenerate::listed_alone(shadow, rules),
            ..Divergence::of(Class::Structure, detail, true)
        },
    }
}

fn incomparable(detail: String) -> Divergence {
    Divergence::of(Class::Incomparable, detail, false)
}
