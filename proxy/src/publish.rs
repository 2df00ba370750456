//! Where finished exchanges go.
//!
//! A publisher never blocks: it takes a message into a bounded queue or says why not.

mod kafka;
mod spool;
mod tally;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use exchange::DropReason;

pub use kafka::{Kafka, KafkaError, KafkaSettings};
pub use spool::{Spool, SpoolError, SpoolSettings};
pub use tally::Tally;

/// What a message holds, for the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An exchange: counted as delivered or lost.
    Exchange,
    /// A ledger: not counted.
    Ledger,
}

/// One encoded record on its way.
#[derive(Debug, Clone)]
pub struct Message {
    /// What it holds.
    pub kind: Kind,
    /// Key of the record: the 16 bytes of an exchange's id, or the name of the proxy whose ledger it is.
    pub key: Bytes,
    /// The record in its wire form.
    pub payload: Bytes,
    /// The count of the run it belongs to; a ledger leaves it as it is.
    pub tally: Arc<Tally>,
}

/// How a publisher fares, whatever the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Published {
    /// Messages taken and not yet acknowledged, lost or in the spool.
    pub waiting: u64,
    /// Whether the far end can be reached, as far as is known.
    pub connected: bool,
    /// Messages in the spool.
    pub spool_messages: u64,
    /// Bytes that they take.
    pub spool_bytes: u64,
    /// Exchanges that were ever put into it by this process.
    pub spooled: u64,
}

/// Takes encoded records.
pub trait Publish: Send + Sync + 'static {
    /// Takes a message without blocking. What becomes of an exchange that was taken is counted in its tally.
    ///
    /// # Errors
    /// Why it was not taken; the message is lost then, and counting it is the caller's part.
    fn publish(&self, message: Message) -> Result<(), DropReason>;

    /// The state of the publisher.
    fn published(&self) -> Published;

    /// Waits until all that was taken is acknowledged or lost, at most so long. May block the thread.
    fn flush(&self, within: Duration);

    /// Where messages go, for people.
    fn describe(&self) -> String;
}
