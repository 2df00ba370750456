//! Counts of one moment, which can be added up over runs.

use std::collections::BTreeMap;

use exchange::{Item, LedgerItem, Outcome};

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// By item, shadow (`None` for all) and lower bound of the load bin; counts of 0 are left out.
    items: BTreeMap<(Item, Option<usize>, u32), u64>,
    /// What came back, by shadow.
    seen: Vec<Seen>,
}

/// What came back from one shadow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// By hundreds of the status (index 1 to 5); 0 for none.
    pub(crate) answers: [u64; 6],
    /// Answers of 400 to 499 to requests that the primary answered below 400.
    pub(crate) only_here: u64,
}

impl Seen {
    /// Answers of any status.
    pub(crate) fn answered(self) -> u64 {
        self.answers[1..].iter().sum()
    }
}

impl Counts {
    pub(crate) fn new(shadows: usize) -> Self {
        Self { items: BTreeMap::new(), seen: vec![Seen::default(); shadows] }
    }

    pub(crate) fn add(&mut self, item: Item, shadow: Option<usize>, inflight_from: u32, count: u64) {
        if count > 0 {
            *self.items.entry((item, shadow, inflight_from)).or_default() += count;
        }
    }

    pub(crate) fn see(&mut self, shadow: usize, answers: &[u64; 6], only_here: u64) {
        let seen = &mut self.seen[shadow];
        seen.answers.iter_mut().zip(answers).for_each(|(sum, more)| *sum += more);
        seen.only_here += only_here;
    }

    /// Adds those of another run with the same shadows.
    pub(crate) fn merge(&mut self, other: &Self) {
        for ((item, shadow, from), count) in &other.items {
            self.add(*item, *shadow, *from, *count);
        }
        for (shadow, seen) in other.seen.iter().enumerate() {
            self.see(shadow, &seen.answers, seen.only_here);
        }
    }

    /// Sum of the items for which `keep` holds, of one shadow or over all there is.
    pub(crate) fn total(&self, shadow: Option<usize>, keep: impl Fn(Item) -> bool) -> u64 {
        let wanted =
            |(item, of, _): &(Item, Option<usize>, u32)| keep(*item) && (shadow.is_none() || *of == shadow);
        self.items.iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count).sum()
    }

    /// Exchanges ended so, of one shadow.
    pub(crate) fn ended(&self, shadow: usize, outcome: Outcome) -> u64 {
        self.total(Some(shadow), |item| item == Item::Outcome(outcome))
    }

    pub(crate) fn seen(&self, shadow: usize) -> Seen {
        self.seen[shadow]
    }

    /// Whether all that was mirrored has ended, and all that ended has been delivered or lost.
    pub(crate) fn settled(&self) -> bool {
        let ended = self.total(None, |item| matches!(item, Item::Outcome(_)));
        let told = |item| matches!(item, Item::Delivered | Item::Dropped(_));
        self.total(None, |item| item == Item::Mirrored) == ended && self.total(None, told) >= ended
    }

    /// As items of a ledger; `names` are those of the shadows.
    pub(crate) fn items(&self, names: &[String]) -> Vec<LedgerItem> {
        let one = |((item, shadow, inflight_from), count): (&(Item, Option<usize>, u32), &u64)| LedgerItem {
            item: *item,
            target: shadow.map(|shadow| names[shadow].clone()).unwrap_or_default(),
            inflight_from: *inflight_from,
            count: *count,
        };
        self.items.iter().map(one).collect()
    }
}
