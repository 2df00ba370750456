//! Which values of two trees the rules speak of.

use std::collections::{BTreeMap, BTreeSet};

use crate::decode::to_serde;
use crate::{Json, JsonRules, Path, Tolerance};

/// A value, by where it is in memory: the trees stay where they are while they are compared.
type Place = usize;

fn place(value: &Json<'_>) -> Place {
    std::ptr::from_ref(value) as usize
}

/// The values that the rules select.
#[derive(Default)]
pub(super) struct Marks<'r> {
    ignored: BTreeSet<Place>,
    unordered: BTreeSet<Place>,
    keyed: BTreeMap<Place, &'r str>,
    tolerances: BTreeMap<Place, Tolerance>,
    used: BTreeSet<&'r str>,
}

impl<'r> Marks<'r> {
    /// Evaluates every path on all trees.
    pub(super) fn of(trees: &[&Json<'_>], rules: &'r JsonRules) -> Self {
        let mut marks = Self::default();
        if *rules == JsonRules::default() {
            return marks;
        }
        for tree in trees.iter().copied() {
            let plain = to_serde(tree);
            let mut select = |path: &'r Path| {
                let found = path.select(tree, &plain);
                if !found.is_empty() {
                    marks.used.insert(path.as_str());
                }
                found.into_iter().map(place).collect::<Vec<_>>()
            };
            let ignored: Vec<_> = rules.ignore.iter().flat_map(&mut select).collect();
            let unordered: Vec<_> = rules.unordered.iter().flat_map(&mut select).collect();
            let keyed: Vec<_> = rules
                .keyed
                .iter()
                .flat_map(|rule| select(&rule.path).into_iter().map(|place| (place, rule.key.as_str())))
                .collect();
            let tolerances: Vec<_> = rules
                .tolerances
                .iter()
                .flat_map(|rule| select(&rule.path).into_iter().map(|place| (place, rule.tolerance())))
                .collect();
            marks.ignored.extend(ignored);
            marks.unordered.extend(unordered);
            marks.keyed.extend(keyed);
            marks.tolerances.extend(tolerances);
        }
        marks
    }

    pub(super) fn is_ignored(&self, value: &Json<'_>) -> bool {
        self.ignored.contains(&place(value))
    }

    pub(super) fn is_unordered(&self, p: &Json<'_>, s: &Json<'_>) -> bool {
        self.unordered.contains(&place(p)) || self.unordered.contains(&place(s))
    }

    pub(super) fn key(&self, p: &Json<'_>, s: &Json<'_>) -> Option<&'r str> {
        self.keyed.get(&place(p)).or_else(|| self.keyed.get(&place(s))).copied()
    }

    pub(super) fn tolerance(&self, p: &Json<'_>, s: &Json<'_>) -> Option<Tolerance> {
        self.tolerances.get(&place(p)).or_else(|| self.tolerances.get(&place(s))).copied()
    }

    /// The paths that selected nothing, in the order of the rules.
    pub(super) fn unused(&self, rules: &JsonRules) -> Vec<String> {
        let keyed = rules.keyed.iter().map(|rule| &rule.path);
        let tolerances = rules.tolerances.iter().map(|rule| &rule.path);
        let all = rules.ignore.iter().chain(&rules.unordered).chain(keyed).chain(tolerances);
        all.map(Path::as_str).filter(|path| !self.used.contains(path)).map(str::to_owned).collect()
    }
}
