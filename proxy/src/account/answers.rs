//! Answers given to clients.

use std::sync::atomic::{AtomicU64, Ordering};

/// Answers by hundreds of the status (index 1 to 5) and 0 for none, whatever the run.
#[derive(Debug, Default)]
pub(crate) struct Answers([AtomicU64; 6]);

impl Answers {
    pub(crate) fn count(&self, status: u16) {
        self.0[usize::from(status / 100).min(5)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> [u64; 6] {
        self.0.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}
