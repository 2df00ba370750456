//! A range whose files are durable and on their way into the set.

use std::path::PathBuf;

use crate::RecordError;
use crate::progress::Counts;
use crate::set::{FileName, SetRoot, Table};

/// The points between which a crash can fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// All temporary files are durable.
    Written,
    /// The ledger is in its place.
    Ledger,
    /// The dead letters are in their place.
    DeadLetters,
    /// The exchanges are in their place: the range is in the set.
    Exchanges,
}

/// Finished files of one range: path and length in bytes.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(super) name: FileName,
    /// Gives the folder, microseconds since the Unix epoch.
    pub(super) at_us: i64,
    pub(super) counts: Counts,
    pub(super) ledger: Option<(PathBuf, u64)>,
    pub(super) dead_letters: Option<(PathBuf, u64)>,
    pub(super) exchanges: (PathBuf, u64),
}

/// A range that is in the set.
#[derive(Debug)]
pub(crate) struct Committed {
    /// Offset after the range: what a consumer commits.
    pub(crate) next: i64,
    pub(crate) counts: Counts,
    /// Length of its files.
    pub(crate) bytes: u64,
}

impl Closing {
    /// Moves the files to their places, the exchanges last: they are the commit marker. `reached` is called after each
    /// step and stops the rest when it fails.
    ///
    /// # Errors
    /// When the file system refuses, and what `reached` gives.
    pub(super) fn publish(
        self,
        set: &SetRoot,
        mut reached: impl FnMut(Step) -> Result<(), RecordError>,
    ) -> Result<Committed, RecordError> {
        let mut bytes = 0;
        reached(Step::Written)?;
        for (file, table, step) in [
            (self.ledger, Table::Ledger, Step::Ledger),
            (self.dead_letters, Table::DeadLetters, Step::DeadLetters),
            (Some(self.exchanges), Table::Exchanges, Step::Exchanges),
        ] {
            if let Some((temp, length)) = file {
                set.move_in(&temp, &set.place(table, &self.name, self.at_us))?;
                bytes += length;
                reached(step)?;
            }
        }
        Ok(Committed { next: self.name.last.saturating_add(1), counts: self.counts, bytes })
    }
}
