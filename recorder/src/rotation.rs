//! When a file is full: a pure policy. The clock is the caller's.

use std::time::Duration;

/// Bounds of a file; the first one reached closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Messages of any kind (exchanges, ledgers, dead letters).
    pub rows: u64,
    /// Bytes of all files of the range, those still in memory estimated.
    pub bytes: u64,
    /// Time since the first message of the file.
    pub age: Duration,
}

impl Default for Rotation {
    /// 100,000 rows, 128 MiB, 60 s.
    fn default() -> Self {
        Self { rows: 100_000, bytes: 128 << 20, age: Duration::from_secs(60) }
    }
}

/// How full a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fill {
    /// Messages in it.
    pub rows: u64,
    /// Bytes in it, written or not.
    pub bytes: u64,
    /// Time since its first message.
    pub age: Duration,
}

impl Rotation {
    /// Whether a file so full is to be closed. An empty one never is; a bound of 0 closes after each message.
    #[must_use]
    pub fn is_due(&self, fill: Fill) -> bool {
        fill.rows > 0 && (fill.rows >= self.rows || fill.bytes >= self.bytes || fill.age >= self.age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bound_reached_closes_the_file() {
        let rotation = Rotation { rows: 10, bytes: 1000, age: Duration::from_secs(5) };
        let table = [
            ((0, 0, 0), false),
            ((0, 5000, 99), false),
            ((1, 0, 0), false),
            ((9, 999, 4), false),
            ((10, 0, 0), true),
            ((11, 0, 0), true),
            ((1, 1000, 0), true),
            ((1, 0, 5), true),
            ((1, 0, 6), true),
        ];
        for ((rows, bytes, seconds), due) in table {
            let fill = Fill { rows, bytes, age: Duration::from_secs(seconds) };
            assert_eq!(rotation.is_due(fill), due, "{fill:?}");
        }
    }

    #[test]
    fn a_bound_of_zero_closes_after_each_message() {
        let rotation = Rotation { rows: 0, bytes: u64::MAX, age: Duration::MAX };
        assert!(!rotation.is_due(Fill::default()));
        assert!(rotation.is_due(Fill { rows: 1, ..Fill::default() }));
    }
}
