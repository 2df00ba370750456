//! The walk through two trees.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::marks::Marks;
use super::{Change, Changed, Changes};
use crate::{DType, Json, Number, Rules, Tolerance};

/// Bytes of a value that a change shows.
const SHOWN: usize = 120;

/// Items of an unordered array, without exact partners, that are compared with one another.
const MOST_COMPARED: usize = 256;

/// A walk, and what it has found.
pub(super) struct Walk<'w, 'r> {
    pub(super) marks: &'w Marks<'r>,
    pub(super) rules: &'w Rules,
    pub(super) changes: &'w mut Changes,
}

impl Walk<'_, '_> {
    /// Walks through both trees.
    pub(super) fn whole(&mut self, p: &Json<'_>, s: &Json<'_>) {
        self.values(p, s, &mut String::new(), None);
    }

    /// `tolerance` is that of a rule for what holds the values.
    fn values(&mut self, p: &Json<'_>, s: &Json<'_>, path: &mut String, tolerance: Option<Tolerance>) {
        if self.marks.is_ignored(p) || self.marks.is_ignored(s) {
            return;
        }
        let tolerance = self.marks.tolerance(p, s).or(tolerance);
        let is_leaf = |value: &Json<'_>| match value {
            Json::Object(fields) => fields.is_empty() && !path.is_empty(),
            Json::Array(items) => items.is_empty(),
            _ => true,
        };
        self.changes.compared += u64::from(is_leaf(p) || is_leaf(s));
        match (p, s) {
            (Json::Null, Json::Null | Json::Number(_)) | (Json::Number(_), Json::Null) => {
                self.null(p, s, path, tolerance);
            }
            (Json::Bool(one), Json::Bool(other)) if one == other => {}
            (Json::Text(one), Json::Text(other)) if one == other => {}
            (Json::Bool(_), Json::Bool(_)) | (Json::Text(_), Json::Text(_)) => {
                self.put(Change::Value, path, Some(p), Some(s), None);
            }
            (Json::Number(one), Json::Number(other)) => self.numbers((p, one), (s, other), path, tolerance),
            (Json::Array(one), Json::Array(other)) => {
                if let Some(key) = self.marks.key(p, s) {
                    self.keyed(one, other, key, path, tolerance);
                } else if self.marks.is_unordered(p, s) {
                    self.unordered(one, other, path, tolerance);
                } else {
                    let pairs = one.len().max(other.len());
                    for index in 0..pairs {
                        self.either(one.get(index), other.get(index), &index.to_string(), path, tolerance);
                    }
                }
            }
            (Json::Object(one), Json::Object(_)) => {
                let mut seen = BTreeSet::new();
                let own = one.iter().map(|(name, _)| name);
                let Json::Object(other) = s else { return };
                for name in own.chain(other.iter().map(|(name, _)| name)) {
                    if seen.insert(name) {
                        self.either(p.field(name), s.field(name), name, path, tolerance);
                    }
                }
            }
            _ => self.put(Change::Type, path, Some(p), Some(s), None),
        }
    }

    /// Compares what both have, or notes what only one has, one step further down.
    fn either(
        &mut self,
        p: Option<&Json<'_>>,
        s: Option<&Json<'_>>,
        step: &str,
        path: &mut String,
        tolerance: Option<Tolerance>,
    ) {
        let length = path.len();
        self::step(path, step);
        match (p, s) {
            (Some(p), Some(s)) => self.values(p, s, path, tolerance),
            (Some(p), None) if !self.marks.is_ignored(p) => {
                self.put(Change::Removed, path, Some(p), None, None)
            }
            (None, Some(s)) if !self.marks.is_ignored(s) => {
                self.put(Change::Added, path, None, Some(s), None)
            }
            _ => {}
        }
        path.truncate(length);
    }

    /// A number that one side lacks, or both.
    fn null(&mut self, p: &Json<'_>, s: &Json<'_>, path: &str, tolerance: Option<Tolerance>) {
        let tolerance = tolerance.unwrap_or(Tolerance::EXACT);
        let units = self.changes.numbers.add((p, s), tolerance, self.rules.floor, true, path);
        if p != s {
            // Servers write NaN as null where JSON has no better.
            let change = if units > 1.0 { Change::Null } else { Change::Within };
            self.put(change, path, Some(p), Some(s), Some(units));
        }
    }

    fn numbers(
        &mut self,
        (p, one): (&Json<'_>, &Number<'_>),
        (s, other): (&Json<'_>, &Number<'_>),
        path: &str,
        tolerance: Option<Tolerance>,
    ) {
        let is_score = !(one.is_integer() && other.is_integer());
        let own = tolerance.unwrap_or_else(|| {
            if is_score { self.rules.tolerance("", DType::Fp64, false) } else { Tolerance::EXACT }
        });
        let values = (one.as_f64(), other.as_f64());
        let mut units = self.changes.numbers.add((p, s), own, self.rules.floor, is_score, path);
        // Whole numbers past 2^53 share a float.
        let same = match (one.as_int(), other.as_int()) {
            (Some(one), Some(other)) => one == other,
            _ if !is_score => one.text() == other.text(),
            _ => values.0.to_bits() == values.1.to_bits() || (values.0.is_nan() && values.1.is_nan()),
        };
        if same {
            return;
        }
        if units == 0.0 && !is_score && own == Tolerance::EXACT {
            units = f64::INFINITY;
        }
        let change = match (units > 1.0, is_score) {
            (false, _) => Change::Within,
            (true, true) => Change::Number,
            (true, false) => Change::Value,
        };
        self.put(change, path, Some(p), Some(s), Some(units));
    }

    /// Objects paired by a field; those with one value of it, and those without it, by their place among such.
    fn keyed(
        &mut self,
        p: &[Json<'_>],
        s: &[Json<'_>],
        key: &str,
        path: &mut String,
        tolerance: Option<Tolerance>,
    ) {
        let named = |items: &[Json<'_>]| -> BTreeMap<(Option<String>, usize), usize> {
            let mut times: BTreeMap<Option<String>, usize> = BTreeMap::new();
            let name = |(index, item): (usize, &Json<'_>)| {
                let name = item.field(key).map(canonical);
                let time = times.entry(name.clone()).or_insert(0);
                *time += 1;
                ((name, *time), index)
            };
            items.iter().enumerate().map(name).collect()
        };
        let (own, other) = (named(p), named(s));
        let mut order: Vec<(&(Option<String>, usize), usize)> =
            own.iter().map(|(name, index)| (name, *index)).collect();
        order.sort_unstable_by_key(|(_, index)| *index);
        for (name, index) in order {
            let partner = other.get(name).map(|index| &s[*index]);
            self.either(Some(&p[index]), partner, &index.to_string(), path, tolerance);
        }
        let mut added: Vec<usize> =
            other.iter().filter(|(name, _)| !own.contains_key(*name)).map(|(_, index)| *index).collect();
        added.sort_unstable();
        added
            .into_iter()
            .for_each(|index| self.either(None, Some(&s[index]), &index.to_string(), path, tolerance));
    }

    /// Items paired whatever their order: first those that are the same, then those that agree within tolerance, then the rest in the
    /// order of their text.
    fn unordered(&mut self, p: &[Json<'_>], s: &[Json<'_>], path: &mut String, tolerance: Option<Tolerance>) {
        let sorted = |items: &[Json<'_>]| -> Vec<(String, usize)> {
            let mut sorted: Vec<_> =
                items.iter().enumerate().map(|(index, item)| (canonical(item), index)).collect();
            sorted.sort_unstable();
            sorted
        };
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let (one, other) = (sorted(p), sorted(s));
        let (mut i, mut j) = (0, 0);
        while i < one.len() || j < other.len() {
            match (one.get(i), other.get(j)) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    (i, j) = (i + 1, j + 1);
                    self.changes.compared += 1;
                }
                (Some(a), Some(b)) if a.0 > b.0 => (right.push(b.1), j += 1).1,
                (None, Some(b)) => (right.push(b.1), j += 1).1,
                (Some(a), _) => (left.push(a.1), i += 1).1,
                (None, None) => break,
            }
        }
        left.retain(|index| {
            let agrees = |other: &usize| self.agree(&p[*index], &s[*other], tolerance);
            let partner = right.iter().take(MOST_COMPARED).position(agrees);
            if let Some(at) = partner {
                let other = right.remove(at);
                self.either(Some(&p[*index]), Some(&s[other]), &index.to_string(), path, tolerance);
            }
            partner.is_none()
        });
        for at in 0..left.len().max(right.len()) {
            let (one, other) = (left.get(at), right.get(at));
            let step = one.or(other).map_or(0, |index| *index).to_string();
            self.either(one.map(|index| &p[*index]), other.map(|index| &s[*index]), &step, path, tolerance);
        }
    }

    /// Whether two values differ in nothing but noise.
    fn agree(&self, p: &Json<'_>, s: &Json<'_>, tolerance: Option<Tolerance>) -> bool {
        let mut changes = Changes::default();
        let mut walk = Walk { marks: self.marks, rules: self.rules, changes: &mut changes };
        walk.values(p, s, &mut String::new(), tolerance);
        changes.counts.keys().all(|change| *change == Change::Within)
    }

    fn put(
        &mut self,
        change: Change,
        path: &str,
        p: Option<&Json<'_>>,
        s: Option<&Json<'_>>,
        tolerance_units: Option<f64>,
    ) {
        let shown = |value: Option<&Json<'_>>| value.map(shown).unwrap_or_default();
        let changed = || Changed {
            path: if path.is_empty() { "/".into() } else { path.to_owned() },
            change,
            primary: shown(p),
            candidate: shown(s),
            tolerance_units,
        };
        self.changes.put(changed, change);
    }
}

/// Goes one step further down, as a JSON Pointer writes it.
pub(super) fn step(path: &mut String, name: &str) {
    path.push('/');
    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
}

/// The value as compact JSON, cut.
fn shown(value: &Json<'_>) -> String {
    let mut text = String::new();
    write(value, &mut text, SHOWN);
    if text.len() > SHOWN {
        let end = (0..=SHOWN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The value as JSON in which equal values have equal text: fields sorted, numbers by their value.
pub(super) fn canonical(value: &Json<'_>) -> String {
    let mut text = String::new();
    write(value, &mut text, usize::MAX);
    text
}

fn write(value: &Json<'_>, text: &mut String, limit: usize) {
    if text.len() > limit {
        return;
    }
    let quoted = |part: &str| serde_json::to_string(part).unwrap_or_default();
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => match number.as_int() {
            Some(int) => text.push_str(&int.to_string()),
            None => text.push_str(&number.as_f64().to_string()),
        },
        Json::Text(part) => text.push_str(&quoted(part)),
        Json::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                write(item, text, limit);
            }
            text.push(']');
        }
        Json::Object(fields) => {
            let names: BTreeSet<&Cow<'_, str>> = fields.iter().map(|(name, _)| name).collect();
            text.push('{');
            for (index, name) in names.into_iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                text.push_str(&quoted(name));
                text.push(':');
                if let Some(value) = value.field(name) {
                    write(value, text, limit);
                }
            }
            text.push('}');
        }
    }
}
