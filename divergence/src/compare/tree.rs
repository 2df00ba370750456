//! JSON of no known shape: two trees compared field by field.
//!
//! Arrays are paired by position unless a rule says that their order means nothing, or which field names their objects. Numbers written
//! with a fraction or exponent on either side are scores and have a tolerance; whole numbers, booleans and text are exact. A `null` beside
//! a number is a number that is missing.

mod flat;
mod marks;
mod numbers;
mod walk;

use std::collections::BTreeMap;

use serde::Serialize;

use super::Divergence;
use super::degenerate::{self, Sign};
use crate::decode::shortened;
use crate::{Class, Json, Rules};
pub(crate) use flat::compared_outputs;
use marks::Marks;
use numbers::Numbers;

/// Most changes that are listed; all are counted.
pub const MAX_CHANGES: usize = 1000;

/// What is different at one place of two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Only the candidate has it.
    Added,
    /// Only the primary has it.
    Removed,
    /// The kinds of value differ.
    Type,
    /// One side has `null` for a number.
    Null,
    /// Text or a boolean differs, or a whole number beyond its tolerance.
    Value,
    /// A score differs beyond tolerance.
    Number,
    /// A number differs within tolerance.
    Within,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// Where, as a JSON Pointer (RFC 6901) into the primary's tree; of what was added, into the candidate's.
    pub path: String,
    /// What.
    pub change: Change,
    /// The primary's value as JSON, shortened; empty where it has none.
    pub primary: String,
    /// The candidate's.
    pub candidate: String,
    /// |C − P| in units of its tolerance, of numbers.
    pub tolerance_units: Option<f64>,
}

/// All that is different between two trees.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Changes {
    /// The changes in the order of the primary's tree, at most [`MAX_CHANGES`].
    pub list: Vec<Changed>,
    /// How many there are of each kind.
    pub counts: BTreeMap<Change, u64>,
    /// Paths of the rules that selected nothing on either side.
    pub unused: Vec<String>,
    #[serde(skip)]
    numbers: Numbers,
    /// Values that were compared, the same ones included.
    #[serde(skip)]
    compared: u64,
}

impl Changes {
    /// Number of differences, those within tolerance included.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    fn first(&self, wanted: impl Fn(Change) -> bool) -> Option<&Changed> {
        self.list.iter().find(|changed| wanted(changed.change))
    }

    fn count(&self, change: Change) -> u64 {
        self.counts.get(&change).copied().unwrap_or(0)
    }

    fn put(&mut self, changed: impl FnOnce() -> Changed, change: Change) {
        *self.counts.entry(change).or_insert(0) += 1;
        // What noise explains leaves the room to what it does not.
        if self.list.len() < MAX_CHANGES && (change != Change::Within || self.list.len() < MAX_CHANGES / 2) {
            self.list.push(changed());
        }
    }
}

/// Compares two trees by the rules for JSON.
#[must_use]
pub fn changes(primary: &Json<'_>, candidate: &Json<'_>, rules: &Rules) -> Changes {
    let marks = Marks::of(&[primary, candidate], &rules.json);
    let mut changes = Changes { unused: marks.unused(&rules.json), ..Changes::default() };
    walk::Walk { marks: &marks, rules, changes: &mut changes }.whole(primary, candidate);
    changes
}

/// Paths of the rules that select nothing in either tree.
pub(super) fn unused(primary: &Json<'_>, candidate: &Json<'_>, rules: &Rules) -> Vec<String> {
    Marks::of(&[primary, candidate], &rules.json).unused(&rules.json)
}

/// The divergence of two trees.
pub(super) fn judge(primary: &Json<'_>, shadow: &Json<'_>, rules: &Rules) -> Divergence {
    let changes = changes(primary, shadow, rules);
    let numbers = &changes.numbers;
    if changes.compared + changes.total() == 0 {
        return super::incomparable("both: no value to compare".into());
    }
    let (class, detail, named) = class(&changes, rules);
    let [own, other] = match class {
        Class::Structure => [primary, shadow].map(|tree| flat::signs(tree, rules)),
        _ => numbers.signs(),
    };
    let serious = match class {
        Class::Structure | Class::Gross | Class::Flip => true,
        Class::Degenerate => detail.starts_with("shadow_only"),
        _ => false,
    };
    let mut divergence = Divergence {
        bit_equal: Some(changes.total() == 0),
        tolerance_units: numbers.tolerance_units,
        max_absolute: numbers.max_absolute,
        max_relative: numbers.max_relative,
        symmetric_relative: numbers.symmetric_relative,
        log10_ratio: numbers.log10_ratio,
        fraction_beyond: (numbers.count > 0).then(|| numbers.beyond as f64 / numbers.count as f64),
        sign_change: (numbers.scores > 0).then_some(numbers.sign_change),
        worst_output: named.or_else(|| numbers.worst.clone()),
        primary_degenerate: degenerate::listed(&own),
        shadow_degenerate: degenerate::listed(&other),
        ..Divergence::of(class, detail, serious)
    };
    divergence.measures.json_differences = Some(changes.total());
    divergence
}

/// The class, what within it, and the path that shows it.
fn class(changes: &Changes, rules: &Rules) -> (Class, String, Option<String>) {
    let numbers = &changes.numbers;
    let structural = |change: Change| matches!(change, Change::Added | Change::Removed | Change::Type);
    if let Some(found) = changes.first(structural) {
        let what = match found.change {
            Change::Removed => "missing:",
            Change::Added => "extra:",
            _ => "type:",
        };
        let kinds = match found.change {
            Change::Type => format!(" {}/{}", kind_of_text(&found.primary), kind_of_text(&found.candidate)),
            _ => String::new(),
        };
        return (
            Class::Structure,
            format!("{what}{}{kinds}", shortened(&found.path)),
            Some(found.path.clone()),
        );
    }
    let one_sided = numbers.one_sided(rules);
    if let Some(sign) = one_sided.shadow {
        return (Class::Degenerate, format!("shadow_only:{}", sign.as_str()), None);
    }
    // Against nothing but zeros every number is gross.
    let silent = one_sided.primary == Some(Sign::AllZero);
    let gross = if numbers.ratio_beyond >= rules.gross_log10_ratio {
        Some("ratio")
    } else if numbers.judged_units >= rules.gross_tolerance_units {
        Some("tolerance")
    } else {
        numbers.sign_change.then_some("sign")
    };
    if let Some(gross) = gross.filter(|_| !silent) {
        return (Class::Gross, gross.into(), None);
    }
    if let Some(found) = changes.first(|change| change == Change::Value) {
        let what = if found.primary.starts_with('"') { "real:text" } else { "real:label" };
        // Text follows the numbers it is made from.
        if what == "real:label" || changes.count(Change::Number) + changes.count(Change::Null) == 0 {
            return (Class::Flip, what.into(), Some(found.path.clone()));
        }
    }
    if let Some(sign) = one_sided.primary {
        return (Class::Degenerate, format!("primary_only:{}", sign.as_str()), None);
    }
    if changes.count(Change::Number) > 0 {
        let text = if changes.count(Change::Value) > 0 { "text" } else { "" };
        return (Class::Numeric, text.into(), None);
    }
    let class = if changes.total() > 0 { Class::WithinTol } else { Class::BitEqual };
    (class, String::new(), None)
}

/// The signs of one tree, as a lone answer shows them; comma-separated.
pub(super) fn listed_alone(tree: &Json<'_>, rules: &Rules) -> String {
    degenerate::listed(&flat::signs(tree, rules))
}

/// The kind of a value by how its JSON begins.
fn kind_of_text(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'"') => "text",
        Some(b'[') => "array",
        Some(b'{') => "object",
        Some(b't' | b'f') => "bool",
        Some(b'n') if json == "null" => "null",
        _ => "number",
    }
}

#[cfg(test)]
mod tests;
