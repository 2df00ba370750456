//! Rules that nothing has used: one that never does is often misspelt, and says so nowhere else.

use std::collections::BTreeSet;

use divergence::Rules;

use crate::rows::Judged;

/// Pairs of a file that are looked at: a rule that none of so many uses is worth a word.
const PAIRS: u32 = 1000;

/// The rules that no pair of answers has used so far.
#[derive(Debug, Default)]
pub(super) struct Unused {
    /// `None` before the first pair.
    left: Option<BTreeSet<String>>,
    pairs: u32,
}

impl Unused {
    /// Looks at a pair, where both answers were decoded.
    pub(super) fn see(&mut self, judged: &Judged, rules: &Rules) {
        let all_used = self.left.as_ref().is_some_and(BTreeSet::is_empty);
        let (false, Some((primary, shadow))) = (all_used || self.pairs == PAIRS, judged.outputs()) else {
            return;
        };
        self.pairs += 1;
        let here: BTreeSet<String> = divergence::unused(primary, shadow, rules).into_iter().collect();
        self.left = Some(match self.left.take() {
            None => here,
            Some(left) => &left & &here,
        });
    }

    /// The rules as a JSON array; `None` where no pair was seen.
    pub(super) fn json(&self) -> Option<String> {
        self.left.as_ref().and_then(|left| serde_json::to_string(left).ok())
    }
}
