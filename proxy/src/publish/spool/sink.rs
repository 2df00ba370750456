//! What a spool feeds, and how it gets messages back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, SyncSender};
use std::time::Duration;

use bytes::Bytes;

use super::Shared;
use crate::publish::{Kind, Message, Publish, Tally};

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::publish) enum Refusal {
    /// Not now: there is no room for it.
    NotNow,
    /// Nothing is taken: the producer itself has failed.
    Fails,
    /// Not this one, ever: it is too large, say.
    Unfit,
}

/// Kafka, or a stand-in for it in tests.
pub(in crate::publish) trait Sink: Publish {
    /// Takes a message without blocking, its payload copied.
    ///
    /// # Errors
    /// Why it was not taken.
    fn offer(&self, message: &Message) -> Result<(), Refusal>;

    /// Says where messages go that were taken and then not delivered.
    fn return_to(&self, inbox: Inbox);

    /// Waits until all that was taken is delivered, lost or given back, at most so long; says whether it is. May block the thread.
    fn wait(&self, within: Duration) -> bool;

    /// Gives up all that was taken and is not yet delivered: it is given back.
    fn recall(&self);
}

/// A message for the spool, counted as spooled in its run.
#[derive(Debug)]
pub(super) struct Spooled {
    pub(super) kind: Kind,
    pub(super) key: Bytes,
    pub(super) payload: Bytes,
    pub(super) run: Arc<Tally>,
    /// It may have been delivered before.
    pub(super) again: bool,
    /// It was in Kafka's hands, or in the spool: the bound of the spool does not count for it.
    pub(super) returned: bool,
}

impl Spooled {
    fn size(&self) -> u64 {
        super::frame::size(&self.key, &self.payload) as u64
    }
}

/// What the spool's thread is told.
#[derive(Debug)]
pub(super) enum Order {
    Put(Spooled),
    /// Make all that came before durable, and say so.
    Sync(SyncSender<()>),
    End,
}

/// The way into the spool: never blocks.
#[derive(Debug, Clone)]
pub(in crate::publish) struct Inbox {
    pub(super) orders: Sender<Order>,
    pub(super) shared: Arc<Shared>,
}

impl Inbox {
    /// Takes back a message that was not delivered; says whether it did. The kind is what the sink knows of a message that did not
    /// come from the spool; with it, whether the message may have been delivered all the same.
    pub(in crate::publish) fn take_back(
        &self,
        (kind, again): (Kind, bool),
        key: &[u8],
        payload: &[u8],
        tally: &Arc<Tally>,
    ) -> bool {
        let part = tally.part();
        let (kind, run) = match part {
            // Of an earlier process: its run is counted nowhere any more.
            Some(part) => (part.kind, part.run.clone().unwrap_or_default()),
            None => (kind, tally.clone()),
        };
        let (key, payload) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(payload));
        if part.is_none() {
            run.add_spooled(u64::from(kind == Kind::Exchange));
            self.shared.taken.fetch_add(u64::from(kind == Kind::Exchange), Ordering::Relaxed);
        }
        let again = again || part.is_some_and(|part| part.again);
        let taken = self.put(Spooled { kind, key, payload, run: run.clone(), again, returned: true });
        match (taken, part.is_some()) {
            (true, true) => tally.add_returned(),
            (false, false) => run.take_back_spooled(u64::from(kind == Kind::Exchange)),
            _ => {}
        }
        taken
    }

    pub(super) fn put(&self, spooled: Spooled) -> bool {
        let size = spooled.size();
        self.shared.queued_bytes.fetch_add(size, Ordering::Relaxed);
        self.shared.queued.fetch_add(1, Ordering::Relaxed);
        let taken = self.orders.send(Order::Put(spooled)).is_ok();
        if !taken {
            self.shared.unqueue(1, size);
        }
        taken
    }
}
