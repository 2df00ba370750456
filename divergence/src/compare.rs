//! From two answers to one divergence. One family of metrics per file under `compare/`.

mod degenerate;
mod detections;
mod elements;
mod generation;
mod grouped;
mod kernel;
mod measures;
mod printed;
mod ranking;
mod report;
mod rows;
mod structure;
mod totals;
mod tree;
mod vectors;
mod verdict;

#[cfg(test)]
mod tests;

use crate::{Class, Decoded, Kind, Rules};
use detections::Detections;
pub use measures::Measures;
pub use report::{Image, Needed, Numbers, Order, OutputReport, RowFlip, Worst, report, unused};
use structure::Pair;
pub(crate) use tree::compared_outputs;
pub use tree::{Change, Changed, Changes, MAX_CHANGES, changes};

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
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Divergence {
    /// The class.
    pub class: Class,
    /// What within the class; empty when the class says all.
    ///
    /// - `INCOMPARABLE`: `primary: REASON`, `shadow: REASON`, `both: REASON` or `both: REASON / REASON`
    /// - `STRUCTURE`: `missing:NAME`, `extra:NAME`, `kind:NAME ranking/tensor`, `dtype:NAME FP32/FP16`, `shape:NAME 2x3/2x4`,
    ///   `truncated:NAME at TOKEN`; of JSON trees `missing:PATH`, `extra:PATH`, `type:PATH number/text`
    /// - `DEGENERATE`: `shadow_only:SIGN`, or `primary_only:SIGN` where the rest of the answer is neither gross nor really flipped
    /// - `GROSS`: `ratio`, `tolerance`, `cosine` or `sign`
    /// - `FLIP`: `real` (largest element, best item), `real:threshold`, `real:token`, `real:label` (integers, booleans),
    ///   `real:detections`, `real:reason` (why a generation ended), `real:text`; `near_tie`, `near_tie:threshold`, `near_tie:token`,
    ///   `near_tie:detections`
    /// - `RANK`: `members` when only one side has an item
    /// - `RANK`, `NUMERIC`: `text` when text differs too; `NUMERIC`: `count` when only a count differs
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
    /// Smallest cosine of a row (first dimension) of a floating output; of all of it where a row is one element.
    pub cosine: Option<f64>,
    /// Whether an element of a floating output, above the floor on both sides, changed its sign beyond tolerance.
    pub sign_change: Option<bool>,
    /// Whether the largest element of a row moved.
    pub argmax_flip: Option<bool>,
    /// Whether every such move is a near tie; `None` without a move.
    pub argmax_near_tie: Option<bool>,
    /// Largest ULP distance at the declared type.
    pub ulp_max: Option<i64>,
    /// Output of the element that names the class: what moved, or else what has the most tolerance units. A path in a JSON tree.
    pub worst_output: Option<String>,
    /// Index of that element, row-major; of a token in generated text, of an image of detections, of an item that only one
    /// side lists in that list.
    pub worst_index: Option<u64>,
    /// Row of the first dimension that it is in; `None` for outputs of one dimension, where the index says it.
    pub worst_row: Option<u64>,
    /// Signs of degeneration of the primary's answer, comma-separated, in the order all_zero, tiny, zeroed, constant, nan, inf, null,
    /// range, simplex, saturated, repeated, empty.
    pub primary_degenerate: String,
    /// The same of the shadow's.
    pub shadow_degenerate: String,
    /// Measures that only some kinds of outputs define.
    #[serde(flatten)]
    pub measures: Measures,
}

impl Divergence {
    /// The same of two answers to a request that draws its text by chance ([`samples`](crate::samples)): another text, where it ends and why
    /// are no fault. A text that is empty or stuck still is.
    #[must_use]
    pub fn of_sampled(mut self) -> Self {
        let drawn = match self.class {
            Class::Flip => ["real:text", "real:token", "real:reason"].contains(&self.detail.as_str()),
            Class::Structure => self.detail.starts_with("truncated:"),
            _ => false,
        };
        if drawn {
            (self.class, self.detail, self.serious) = (Class::Flip, "sampled:text".to_owned(), false);
        }
        self
    }

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
            worst_row: None,
            primary_degenerate: String::new(),
            shadow_degenerate: String::new(),
            measures: Measures::default(),
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
    match (&primary.tree, &shadow.tree) {
        (Some(one), Some(other)) => return tree::judge(one, other, rules),
        (None, None) => {}
        _ => {
            let detail = format!("protocol:{}/{}", primary.protocol.as_str(), shadow.protocol.as_str());
            return structural(primary, shadow, rules, detail);
        }
    }
    match paired(primary, shadow, rules) {
        Ok((pairs, detections)) if pairs.is_empty() && detections.is_empty() => {
            incomparable("both: the rules leave no output to compare".into())
        }
        Ok((pairs, detections)) => verdict::judge(&pairs, &detections, rules),
        Err(detail) => structural(primary, shadow, rules, detail),
    }
}

/// All outputs that the rules compare, as both answers have them.
fn paired<'a>(
    primary: &'a Decoded,
    shadow: &'a Decoded,
    rules: &'a Rules,
) -> Result<(Vec<Pair<'a>>, Vec<Detections<'a>>), String> {
    let mut pairs = structure::pair(primary, shadow, rules, &grouped::taken(rules))?;
    pairs.extend(grouped::rankings(primary, shadow, rules)?);
    let detections = rules.detections.iter();
    let detections = detections.map(|rule| Detections::take(rule, primary, shadow, rules));
    let detections = detections.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    Ok((pairs, detections))
}

/// The tolerance units of every element of the floating outputs that both answers have, by output; nothing where their structure differs.
/// Rankings are paired by key, the scores of boxes as the boxes match; embeddings, whose tolerance is another, are left out.
pub(crate) fn tolerance_units_of(
    primary: &Decoded,
    shadow: &Decoded,
    rules: &Rules,
) -> Vec<(String, Vec<f64>)> {
    let Ok((mut pairs, detections)) = paired(primary, shadow, rules) else { return Vec::new() };
    pairs.extend(detections.iter().filter_map(|found| found.all_scores()));
    let scores = pairs.iter().filter(|pair| pair.dtype.is_float() && pair.kind != Kind::Embedding);
    scores.map(|pair| (pair.primary.name.clone(), report::all_units(pair, rules))).collect()
}

fn structural(primary: &Decoded, shadow: &Decoded, rules: &Rules, detail: String) -> Divergence {
    Divergence {
        bit_equal: Some(false),
        primary_degenerate: degenerate::listed_alone(primary, rules),
        shadow_degenerate: degenerate::listed_alone(shadow, rules),
        ..Divergence::of(Class::Structure, detail, true)
    }
}

fn incomparable(detail: String) -> Divergence {
    Divergence::of(Class::Incomparable, detail, false)
}
