//! Which rules hold at a place of a JSON document, followed while the document is walked.

use crate::config::redaction::{Action, Segment};

/// A rule as far as it has matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    rule: usize,
    next: usize,
}

/// One step down.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'s> {
    /// To the member of that name.
    Name(&'s [u8]),
    /// To the element of that index.
    Index(usize),
    /// To an element of any index.
    AnyIndex,
}

/// The rules of one document and the way down to the present place.
#[derive(Debug, Clone)]
pub(crate) struct Places<'r> {
    rules: Vec<(&'r [Segment], Action)>,
    /// Rules that are still alive, level after level.
    states: Vec<State>,
    /// Where the levels above begin in `states`.
    starts: Vec<usize>,
    /// Where the present level begins.
    start: usize,
}

impl<'r> Places<'r> {
    /// Stands at the top of a document; says what becomes of the whole of it.
    pub(crate) fn new(rules: Vec<(&'r [Segment], Action)>) -> (Self, Option<Action>) {
        let mut places = Self { rules, states: Vec::new(), starts: Vec::new(), start: 0 };
        let mut whole = None;
        for rule in 0..places.rules.len() {
            places.add(State { rule, next: 0 }, &mut whole);
        }
        (places, whole)
    }

    /// Whether any rule can hold below the present place.
    pub(crate) fn any(&self) -> bool {
        self.states.len() > self.start
    }

    /// Goes one step down; says what becomes of the value there. [`up`](Self::up) goes back.
    pub(crate) fn down(&mut self, step: Step<'_>) -> Option<Action> {
        let (from, to) = (self.start, self.states.len());
        self.starts.push(from);
        self.start = to;
        let mut action = None;
        for at in from..to {
            let state = self.states[at];
            let after = State { next: state.next + 1, ..state };
            match &self.rules[state.rule].0[state.next] {
                Segment::Deep => self.add(state, &mut action),
                Segment::Any => self.add(after, &mut action),
                Segment::Name(name) if is(name, step) => self.add(after, &mut action),
                Segment::Name(_) => {}
            }
        }
        action
    }

    /// Goes back one step.
    pub(crate) fn up(&mut self) {
        self.states.truncate(self.start);
        self.start = self.starts.pop().unwrap_or_default();
    }

    /// Whether a rule holds for an array at the present place, or for anything in it, whatever its indexes.
    pub(crate) fn any_in_array(&mut self, levels: usize) -> bool {
        if levels == 0 || !self.any() {
            return false;
        }
        let found = self.down(Step::AnyIndex).is_some() || self.any_in_array(levels - 1);
        self.up();
        found
    }

    fn add(&mut self, mut state: State, action: &mut Option<Action>) {
        let (segments, own) = self.rules[state.rule];
        loop {
            if state.next == segments.len() {
                *action = (*action).max(Some(own));
                return;
            }
            if self.states[self.start..].contains(&state) {
                return;
            }
            self.states.push(state);
            if segments[state.next] != Segment::Deep {
                return;
            }
            // Any number of levels may be none.
            state.next += 1;
        }
    }
}

fn is(name: &str, step: Step<'_>) -> bool {
    match step {
        Step::Name(member) => name.as_bytes().eq_ignore_ascii_case(member),
        Step::Index(index) => name.parse() == Ok(index),
        Step::AnyIndex => name.parse::<usize>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::redaction::Pattern;

    fn at(pattern: &str, way: &[&str]) -> Option<Action> {
        let pattern: Pattern = pattern.parse().unwrap();
        let (mut places, whole) = Places::new(vec![(pattern.segments(), Action::Mask)]);
        way.iter().fold(whole, |_, name| match name.parse() {
            Ok(index) => places.down(Step::Index(index)),
            Err(_) => places.down(Step::Name(name.as_bytes())),
        })
    }

    #[test]
    fn a_pattern_matches_its_places_only() {
        for (pattern, way, matches) in [
            ("/inputs/*/data", &["inputs", "3", "data"][..], true),
            ("/inputs/*/data", &["inputs", "3", "name"], false),
            ("/inputs/*/data", &["inputs", "data"], false),
            ("/inputs/0/data", &["inputs", "0", "data"], true),
            ("/inputs/0/data", &["inputs", "1", "data"], false),
            ("/Messages/*/CONTENT", &["messages", "0", "content"], true),
            ("..ssn", &["ssn"], true),
            ("..ssn", &["a", "0", "b", "ssn"], true),
            ("..ssn", &["a", "ssn", "x"], false),
            ("/a/**/b/*", &["a", "b", "c"], true),
            ("/a/**/b/*", &["a", "b", "b", "b", "c"], true),
            ("/a/**/b/*", &["x", "b", "c"], false),
            ("/**/**/a", &["a"], true),
            ("/a/**", &["a"], true),
            ("", &[], true),
            ("", &["a"], false),
        ] {
            assert_eq!(at(pattern, way).is_some(), matches, "{pattern} {way:?}");
        }
    }

    #[test]
    fn the_strongest_of_several_rules_is_applied_and_the_way_back_restores_the_place() {
        let patterns: Vec<Pattern> = ["/a", "..a", "/*/b"].iter().map(|text| text.parse().unwrap()).collect();
        let actions = [Action::Hash, Action::Drop, Action::Mask];
        let rules = patterns.iter().map(Pattern::segments).zip(actions).collect();
        let (mut places, _) = Places::new(rules);
        let before = places.states.clone();
        assert_eq!(places.down(Step::Name(b"a")), Some(Action::Drop));
        assert_eq!(places.down(Step::Name(b"b")), Some(Action::Mask));
        places.up();
        places.up();
        assert_eq!((places.states, places.start), (before, 0));
    }

    #[test]
    fn what_lies_in_an_array_is_found_without_its_indexes() {
        let within = |pattern: &str| {
            let pattern: Pattern = pattern.parse().unwrap();
            let (mut places, _) = Places::new(vec![(pattern.segments(), Action::Mask)]);
            places.down(Step::Name(b"data"));
            places.any_in_array(4)
        };
        assert!(within("/data/*") && within("/data/0/1") && within("/**/2"));
        assert!(!within("/data/name") && !within("..ssn") && !within("/other/*"));
    }
}
