//! Bodies that must be redacted and cannot be read: they are not recorded, and counted by reason.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// It is here in part only.
    #[error("truncated")]
    Truncated,
    /// A content coding that is not known, or damaged.
    #[error("encoding")]
    Encoding,
    /// More than the bound when decompressed.
    #[error("too_large")]
    TooLarge,
    /// Neither JSON nor events of JSON, such as protobuf.
    #[error("not_json")]
    NotJson,
    /// A rule covers tensors whose bytes follow the JSON.
    #[error("binary_tensors")]
    BinaryTensors,
}

impl From<crate::json::NotJson> for Unreadable {
    fn from(_: crate::json::NotJson) -> Self {
        Self::NotJson
    }
}

impl Unreadable {
    const ALL: [Self; 5] =
        [Self::Truncated, Self::Encoding, Self::TooLarge, Self::NotJson, Self::BinaryTensors];
}

/// Bodies not recorded, by reason.
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; Unreadable::ALL.len()]);

impl Counts {
    pub(super) fn add(&self, reason: Unreadable) {
        // The order of the variants is that of `ALL`.
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Each reason with its count.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Unreadable, u64)> {
        Unreadable::ALL.into_iter().zip(self.0.iter().map(|count| count.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_count() {
        let counts = Counts::default();
        for (times, reason) in Unreadable::ALL.into_iter().enumerate() {
            (0..times).for_each(|_| counts.add(reason));
        }
        let counted: Vec<u64> = counts.all().map(|(_, count)| count).collect();
        assert_eq!(counted, [0, 1, 2, 3, 4]);
    }
}
