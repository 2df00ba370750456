//! A proxy's own account: cumulative counts, published beside the exchanges so that a reader of the
//! set can tell what is missing.
//!
//! The ledger balances: `mirrored = Σ outcome.*` once nothing is in flight, and
//! `Σ outcome.* = delivered + spooled + Σ dropped.*` once the publisher is flushed. `skipped.*` stands beside
//! it: requests that were never part of `mirrored`.

use crate::Outcome;

/// Why a finished exchange did not reach the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The publisher's bounded queue was full.
    QueueFull,
    /// Kafka did not take the message in time, or refused it.
    DeliveryFailed,
    /// The disk spool had no room left, or could not be written.
    SpoolFull,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::QueueFull, Self::DeliveryFailed, Self::SpoolFull];

    /// The name used in columns, metrics and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::DeliveryFailed => "delivery_failed",
            Self::SpoolFull => "spool_full",
        }
    }
}

/// Why a request that the sampled fraction takes in was not mirrored all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// More requests than the cap on shadow requests per second.
    RateCap,
    /// Before the start or after the end of the run's schedule.
    OutsideSchedule,
    /// Looks like inference, and no configured route takes it.
    Route,
    /// A protocol upgrade.
    Upgrade,
}

impl SkipReason {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::RateCap, Self::OutsideSchedule, Self::Route, Self::Upgrade];

    /// The name used in columns, metrics and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateCap => "rate_cap",
            Self::OutsideSchedule => "outside_schedule",
            Self::Route => "route",
            Self::Upgrade => "upgrade",
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// Requests chosen for a shadow.
    Mirrored,
    /// Exchanges whose shadow leg ended so.
    Outcome(Outcome),
    /// Exchanges acknowledged by Kafka, or taken by the recorder in the same process.
    Delivered,
    /// Exchanges that lay in the proxy's disk spool when the counts were read, to be delivered later.
    Spooled,
    /// Exchanges lost between the proxy and Kafka.
    Dropped(DropReason),
    /// Requests that would have been mirrored, had a rule not kept them from it; no part of `mirrored`.
    Skipped(SkipReason),
}

impl Item {
    /// `mirrored`, `outcome.NAME`, `delivered`, `spooled`, `dropped.REASON` or `skipped.REASON`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Mirrored => "mirrored".into(),
            Self::Outcome(outcome) => format!("outcome.{outcome}"),
            Self::Delivered => "delivered".into(),
            Self::Spooled => "spooled".into(),
            Self::Dropped(reason) => format!("dropped.{}", reason.as_str()),
            Self::Skipped(reason) => format!("skipped.{}", reason.as_str()),
        }
    }

    /// The item of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.split_once('.') {
            None if name == "mirrored" => Some(Self::Mirrored),
            None if name == "delivered" => Some(Self::Delivered),
            None if name == "spooled" => Some(Self::Spooled),
            Some(("outcome", outcome)) => Outcome::from_name(outcome).map(Self::Outcome),
            Some(("dropped", reason)) => {
                DropReason::ALL.into_iter().find(|r| r.as_str() == reason).map(Self::Dropped)
            }
            Some(("skipped", reason)) => {
                SkipReason::ALL.into_iter().find(|r| r.as_str() == reason).map(Self::Skipped)
            }
            _ => None,
        }
    }
}

/// One count of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerItem {
    /// What is counted.
    pub item: Item,
    /// Name of the shadow target; empty for counts over all targets.
    pub target: String,
    /// Lower bound of the load bin (0, 1, 2, 4, 8 …: shadow in-flight at dispatch); 0 where no load applies.
    pub inflight_from: u32,
    /// The count since the run began; of [`Item::Spooled`], the count at that moment.
    pub count: u64,
}

/// Cumulative counts of one proxy's run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Name of the proxy.
    pub proxy: String,
    /// Name of the run.
    pub run: String,
    /// When the counts were read, microseconds since the Unix epoch.
    pub at_us: i64,
    /// Number of this snapshot within the run, from 0.
    pub snapshot: u64,
    /// Whether this is the last one of an orderly stop.
    pub closing: bool,
    /// The counts; zero counts may be left out.
    pub items: Vec<LedgerItem>,
}

impl Ledger {
    /// Sum of the counts for which `keep` holds.
    pub fn total(&self, keep: impl Fn(Item) -> bool) -> u64 {
        self.items.iter().filter(|entry| keep(entry.item)).map(|entry| entry.count).sum()
    }
}

/// Lower bound of the power-of-two load bin that holds `inflight`: 0, 1, 2, 4, 8 …
#[must_use]
pub fn load_bin(inflight: u32) -> u32 {
    inflight.checked_ilog2().map_or(0, |log| 1 << log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_names_lead_back_to_their_item() {
        let items = [Item::Mirrored, Item::Delivered, Item::Spooled]
            .into_iter()
            .chain(Outcome::ALL.map(Item::Outcome))
            .chain(DropReason::ALL.map(Item::Dropped))
            .chain(SkipReason::ALL.map(Item::Skipped));
        for item in items {
            assert_eq!(Item::from_name(&item.name()), Some(item));
        }
        assert_eq!(Item::from_name("outcome.lost"), None);
        assert_eq!(Item::from_name("Mirrored"), None);
    }

    #[test]
    fn load_bins_are_powers_of_two() {
        let bins: Vec<u32> = [0, 1, 2, 3, 4, 7, 8, 1000].into_iter().map(load_bin).collect();
        assert_eq!(bins, [0, 1, 2, 2, 4, 4, 8, 512]);
    }
}
