//! Where finished exchanges go.
//!
//! A publisher never blocks: it takes a message into a bounded queue or says why not.

mod kafka;

use std::time::Duration;

use bytes::Bytes;
use exchange::DropReason;

pub use kafka::{Kafka, KafkaError, KafkaSettings};

/// What a message holds, for the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An exchange: counted as delivered or lost.
    Exchange,
    /// A ledger: not counted.
    Ledger,
}

/// How a publisher fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Published {
    /// Exchanges acknowledged.
    pub delivered: u64,
    /// Exchanges taken and then lost.
    pub failed: u64,
    /// Messages taken and not yet acknowledged.
    pub waiting: u64,
    /// Whether the far end can be reached, as far as is known.
    pub connected: bool,
}

/// Takes encoded records.
pub trait Publish: Send + Sync + 'static {
    /// Takes a message without blocking.
    ///
    /// # Errors
    /// Why it was not taken; the message is lost then.
    fn publish(&self, kind: Kind, key: &[u8], message: Bytes) -> Result<(), DropReason>;

    /// Counts so far.
    fn published(&self) -> Published;

    /// Waits until all that was taken is acknowledged or lost, at most so long. May block the thread.
    fn flush(&self, within: Duration);

    /// Where messages go, for people.
    fn describe(&self) -> String;
}
