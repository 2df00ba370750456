//! From two answers to one divergence.

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
/// floats; they are `None` where nothing defines them.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// The class.
    pub class: Class,
    /// What within the class: `real`, `near_tie`, `shadow_only:all_zero`, `primary: status 500` …; empty when the class says all.
    pub detail: String,
    /// Whether it counts against the shadow.
    pub serious: bool,
    /// Whether all values are the same, bit for bit.
    pub bit_equal: Option<bool>,
    /// Largest |S − P| / (atol + rtol·|P|).
    pub tolerance_units: Option<f64>,
    /// Largest |S − P|.
    pub max_absolute: Option<f64>,
    /// Largest |S − P| / |P|, P ≠ 0.
    pub max_relative: Option<f64>,
    /// Largest 2|S − P| / (|S| + |P|).
    pub symmetric_relative: Option<f64>,
    /// Largest |log10(|S| / |P|)| above the floor.
    pub log10_ratio: Option<f64>,
    /// Share of elements beyond tolerance.
    pub fraction_beyond: Option<f64>,
    /// Smallest cosine over the outputs of two or more elements.
    pub cosine: Option<f64>,
    /// Whether an element changed its sign beyond tolerance.
    pub sign_change: Option<bool>,
    /// Whether the largest element of a row moved.
    pub argmax_flip: Option<bool>,
    /// Whether every such move is a near tie.
    pub argmax_near_tie: Option<bool>,
    /// Largest ULP distance at the declared type.
    pub ulp_max: Option<i64>,
    /// Output with the most tolerance units.
    pub worst_output: Option<String>,
    /// Index of that element, row-major.
    pub worst_index: Option<u64>,
    /// Signs of degeneration of the primary's answer, comma-separated, in the order all_zero, constant, nan, inf, null, empty.
    pub primary_degenerate: String,
    /// The same of the shadow's.
    pub shadow_degenerate: String,
}

/// Compares two answers. Never fails: what cannot be compared is [`Class::Incomparable`] with a reason.
#[must_use]
pub fn compare(_primary: Side<'_>, _shadow: Side<'_>, _rules: &Rules) -> Divergence {
    unreachable!("filled in by the next commit")
}
