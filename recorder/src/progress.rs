//! How far a recording is.

/// Counts since the recording began; those of files still open are included until the files are given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Exchanges.
    pub rows: u64,
    /// Ledger messages.
    pub ledgers: u64,
    /// Messages that could not be read.
    pub dead_letters: u64,
    /// Messages delivered again and not written again.
    pub duplicates: u64,
    /// Ranges of offsets put into the set, each one `exchanges` file.
    pub files: u64,
    /// Bytes of the files put into the set.
    pub bytes: u64,
    /// Messages of the assigned partitions that are not yet read; `None` while unknown, or without Kafka.
    pub lag: Option<u64>,
}

/// Counts of one range of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) rows: u64,
    pub(crate) ledgers: u64,
    pub(crate) dead_letters: u64,
}

impl Counts {
    /// All messages.
    pub(crate) fn messages(self) -> u64 {
        self.rows + self.ledgers + self.dead_letters
    }
}

impl Progress {
    /// All messages.
    pub(crate) fn messages(&self) -> u64 {
        self.rows + self.ledgers + self.dead_letters
    }

    /// Adds the counts of a range.
    pub(crate) fn add(&mut self, counts: Counts) {
        self.rows += counts.rows;
        self.ledgers += counts.ledgers;
        self.dead_letters += counts.dead_letters;
    }

    /// Adds what a partition has put into the set or has open, its lag left out.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.ledgers += other.ledgers;
        self.dead_letters += other.dead_letters;
        self.duplicates += other.duplicates;
        self.files += other.files;
        self.bytes += other.bytes;
    }
}
