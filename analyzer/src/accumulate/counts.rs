//! Pairs by class.

use divergence::Class;
use serde::{Deserialize, Serialize};

use crate::row::Row;
use crate::stats::Share;

/// Counts of pairs whose request was sent to the shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// By class, in the order of [`Class::ALL`].
    pub(crate) classes: [u64; Class::ALL.len()],
    /// Counting against the shadow.
    pub(crate) serious: u64,
    /// Degenerate on the shadow's side only.
    pub(crate) shadow_degenerate: u64,
    /// Degenerate on the primary's side only.
    pub(crate) primary_degenerate: u64,
    /// The primary answered with success, the shadow did not.
    pub(crate) shadow_failed: u64,
    /// The shadow answered with success, the primary did not.
    pub(crate) primary_failed: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, row: &Row<'_>) {
        self.classes[row.class as usize] += 1;
        self.serious += u64::from(row.serious);
        if row.class == Class::Degenerate {
            self.shadow_degenerate += u64::from(row.detail.starts_with("shadow_only"));
            self.primary_degenerate += u64::from(row.detail.starts_with("primary_only"));
        }
        let (primary, shadow) = (row.primary.succeeded(), row.shadow.succeeded());
        self.shadow_failed += u64::from(primary && !shadow);
        self.primary_failed += u64::from(shadow && !primary);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.classes.iter_mut().zip(other.classes) {
            *mine += theirs;
        }
        self.serious += other.serious;
        self.shadow_degenerate += other.shadow_degenerate;
        self.primary_degenerate += other.primary_degenerate;
        self.shadow_failed += other.shadow_failed;
        self.primary_failed += other.primary_failed;
    }

    pub(crate) fn of(&self, class: Class) -> u64 {
        self.classes[class as usize]
    }

    pub(crate) fn sent(&self) -> u64 {
        self.classes.iter().sum()
    }

    pub(crate) fn comparable(&self) -> u64 {
        self.sent() - self.of(Class::Incomparable)
    }

    /// Serious pairs among comparable ones.
    pub(crate) fn serious_share(&self) -> Share {
        Share { events: self.serious.min(self.comparable()), trials: self.comparable() }
    }

    /// Degenerate on the shadow's side only, among comparable ones.
    pub(crate) fn degenerate_share(&self) -> Share {
        Share { events: self.shadow_degenerate, trials: self.comparable() }
    }

    /// Beyond tolerance but not serious, among comparable ones.
    pub(crate) fn minor_share(&self) -> Share {
        let differing: u64 = Class::ALL[1..]
            .iter()
            .filter(|class| !matches!(class, Class::WithinTol | Class::BitEqual))
            .map(|class| self.of(*class))
            .sum();
        let innocent = self.primary_degenerate;
        let events = differing.saturating_sub(self.serious).saturating_sub(innocent);
        Share { events, trials: self.comparable() }
    }
}
