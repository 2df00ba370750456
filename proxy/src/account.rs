//! The proxy's own account, from which the ledger, the metrics and the status page are made: one for each run.

mod answers;
mod counts;
mod runs;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use exchange::ledger::load_bin;
use exchange::{DropReason, Item, Ledger, LedgerItem, Leg, Outcome, SkipReason};

use crate::publish::Tally;

pub(crate) use answers::Answers;
pub(crate) use counts::Counts;
#[cfg(test)]
use counts::Seen;
pub(crate) use runs::{Run, Runs, RunsError};

/// Load bins of a ledger: 0 and the powers of two of a `u32`.
const BINS: usize = 33;

/// gRPC's word for a method that the server does not have (gRPC status codes, 12).
const UNIMPLEMENTED: u32 = 12;

type Bins = [AtomicU64; BINS];

/// Counts since the run began. Counting takes no lock.
#[derive(Debug)]
pub(crate) struct Account {
    shadows: Vec<PerShadow>,
    tally: Arc<Tally>,
    skipped: [AtomicU64; SkipReason::ALL.len()],
    sequence: AtomicU64,
    snapshot: AtomicU64,
}

#[derive(Debug)]
struct PerShadow {
    name: String,
    mirrored: AtomicU64,
    /// By outcome, in the order of [`Outcome::ALL`], and load.
    outcomes: Box<[Bins]>,
    /// Copies kept away by a bound on their rate, by load.
    capped: Box<Bins>,
    /// Answers by hundreds of the status (index 1 to 5); 0 for none.
    answers: [AtomicU64; 6],
    /// Answers of 400 to 499 to requests that the primary answered below 400.
    only_here: AtomicU64,
}

impl PerShadow {
    fn new(name: String) -> Self {
        Self {
            name,
            mirrored: AtomicU64::new(0),
            outcomes: Outcome::ALL.iter().map(|_| bins()).collect(),
            capped: Box::new(bins()),
            answers: Default::default(),
            only_here: AtomicU64::new(0),
        }
    }
}

fn bins() -> Bins {
    std::array::from_fn(|_| AtomicU64::new(0))
}

fn bin(inflight: u32) -> usize {
    inflight.checked_ilog2().map_or(0, |log| log as usize + 1)
}

/// Lower bound of the in-flight counts in a bin.
fn from(bin: usize) -> u32 {
    u32::try_from(bin).ok().and_then(|bin| bin.checked_sub(1)).map_or(0, |log| load_bin(1 << log))
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Hundreds of the status of an answer; 4 for a gRPC method that is not there, which HTTP calls 200; 0 where there is no status.
fn class(leg: &Leg) -> usize {
    match leg.status {
        _ if leg.grpc_status == Some(UNIMPLEMENTED) => 4,
        Some(status) => usize::from(status / 100).min(5),
        None => 0,
    }
}

impl Account {
    pub(crate) fn new(shadows: &[String]) -> Self {
        Self {
            shadows: shadows.iter().cloned().map(PerShadow::new).collect(),
            tally: Arc::default(),
            skipped: Default::default(),
            sequence: AtomicU64::new(0),
            snapshot: AtomicU64::new(0),
        }
    }

    /// Counts copies that are to be made; each is to end, in any way.
    pub(crate) fn mirrored(&self, shadow: usize, copies: u32) {
        add(&self.shadows[shadow].mirrored, u64::from(copies));
    }

    /// Counts an exchange as ended.
    pub(crate) fn ended(&self, shadow: usize, primary: &Leg, leg: &Leg) {
        let per = &self.shadows[shadow];
        let class = class(leg);
        add(&per.answers[class], 1);
        if class == 4 && matches!(self::class(primary), 1..=3) {
            add(&per.only_here, 1);
        }
        // After the answer: who sees the ending sees its answer.
        add(&per.outcomes[leg.outcome as usize][bin(leg.inflight)], 1);
    }

    /// Counts a request that a rule kept from being mirrored.
    pub(crate) fn skipped(&self, reason: SkipReason) {
        add(&self.skipped[reason as usize], 1);
    }

    /// Counts copies that a bound on their rate kept away, while so many requests were under way at the shadow.
    pub(crate) fn capped(&self, shadow: usize, copies: u32, inflight: u32) {
        add(&self.shadows[shadow].capped[bin(inflight)], u64::from(copies));
    }

    /// What became of the exchanges of this run, counted by the publisher.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        self.tally.clone()
    }

    /// Counts an exchange that the publisher did not take.
    pub(crate) fn not_taken(&self, reason: DropReason) {
        self.tally.add_dropped(reason, 1);
    }

    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// The counts. Those that come later in a request's life are read first, so that what is read under load never shows more endings
    /// than beginnings.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::new(self.shadows.len());
        counts.add(Item::Delivered, None, 0, self.tally.delivered());
        counts.add(Item::Spooled, None, 0, self.tally.spooled());
        for reason in DropReason::ALL {
            counts.add(Item::Dropped(reason), None, 0, self.tally.dropped(reason));
        }
        for (number, per) in self.shadows.iter().enumerate() {
            for (outcome, bins) in Outcome::ALL.into_iter().zip(&per.outcomes) {
                for (bin, count) in bins.iter().enumerate() {
                    counts.add(Item::Outcome(outcome), Some(number), from(bin), read(count));
                }
            }
            counts.see(number, &per.answers.each_ref().map(read), read(&per.only_here));
        }
        for (number, per) in self.shadows.iter().enumerate() {
            counts.add(Item::Mirrored, Some(number), 0, read(&per.mirrored));
            for (bin, count) in per.capped.iter().enumerate() {
                counts.add(Item::Skipped(SkipReason::RateCap), Some(number), from(bin), read(count));
            }
        }
        for (reason, count) in SkipReason::ALL.into_iter().zip(&self.skipped) {
            counts.add(Item::Skipped(reason), None, 0, read(count));
        }
        counts
    }

    /// The counts as items of a ledger.
    pub(crate) fn items(&self) -> Vec<LedgerItem> {
        let names: Vec<String> = self.shadows.iter().map(|per| per.name.clone()).collect();
        self.counts().items(&names)
    }

    /// The next ledger record.
    pub(crate) fn ledger(&self, proxy: &str, run: &str, closing: bool) -> Ledger {
        Ledger {
            proxy: proxy.to_owned(),
            run: run.to_owned(),
            at_us: crate::now_us(),
            snapshot: self.snapshot.fetch_add(1, Ordering::Relaxed),
            closing,
            items: self.items(),
        }
    }
}

#[cfg(test)]
mod tests;
