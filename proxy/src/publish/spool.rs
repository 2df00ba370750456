//! A disk spool before Kafka: what Kafka does not take now waits in a folder.
//!
//! A message goes to Kafka, unless Kafka is away or its queue in memory is full; then, and when a delivery fails after all, it goes
//! into the spool. A thread of its own writes the spool's files and feeds them back, oldest first, once Kafka takes messages
//! again; a file goes when all its messages are acknowledged. Only a full spool, or a disk that fails, drops.
//!
//! What is durable when: written messages survive the death of the process at once, and that of the machine from the moment
//! on that their segment is closed or the proxy stops in order (fsync). How far a segment is acknowledged is
//! written into it as acknowledgements come, without fsync: a proxy that is killed may send the last few a second time
//! when it starts again. What may be a second copy is marked so ([`exchange::wire::AGAIN`]), for the recorder to look.

mod frame;
mod log;
mod segment;
mod sink;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use exchange::DropReason;

use super::{Kafka, Kind, Message, Publish, Published};
use log::Log;
pub(super) use sink::{Inbox, Refusal, Sink};
use sink::{Order, Spooled};

/// Bytes that may wait for the spool's thread: more come only when the disk is slower than the traffic.
const QUEUE_BYTES: u64 = 64 << 20;

/// Largest segment; a small spool has smaller ones, as space comes back by whole segments.
const SEGMENT_BYTES: u64 = 16 << 20;

/// Share of a flush that is kept for writing down what Kafka did not take.
const KEPT: u32 = 4;

/// How long one wait for Kafka is, when there may be more to send to it.
const STEP: Duration = Duration::from_millis(50);

/// Where a spool is and how large it may become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolSettings {
    /// Its folder, of one proxy alone.
    pub dir: PathBuf,
    /// Bytes that its files may take.
    pub bytes: u64,
}

impl SpoolSettings {
    /// The default of `bytes`.
    pub const BYTES: u64 = 1 << 30;
}

/// Why a spool could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The file system refused, or a file is none of ours.
    #[error("cannot {action} {path}: {source}; give --spool (kafka.spool) a folder of its own")]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Another process has it.
    #[error("the spool {0} is used by another proxy: give each its own folder (--spool, kafka.spool)")]
    Busy(PathBuf),
    /// No thread could be had.
    #[error("the spool's thread cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Kafka with a spool.
pub struct Spool {
    sink: Arc<dyn Sink>,
    inbox: Inbox,
    settings: SpoolSettings,
    thread: Option<JoinHandle<()>>,
}

/// Numbers that the thread and its users share.
#[derive(Debug, Default)]
struct Shared {
    /// Messages, and their bytes, that wait for the thread.
    queued: AtomicU64,
    queued_bytes: AtomicU64,
    /// Bytes of the files, and messages in them that are not acknowledged.
    stored_bytes: AtomicU64,
    stored: AtomicU64,
    /// Exchanges that were ever put in.
    taken: AtomicU64,
    /// Nothing is fed back any more.
    paused: AtomicBool,
}

impl Shared {
    fn unqueue(&self, messages: u64, bytes: u64) {
        self.queued.fetch_sub(messages, Ordering::Relaxed);
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn messages(&self) -> u64 {
        // In this order: a message on its way from the queue to the disk is counted twice rather than not at all.
        let stored = self.stored.load(Ordering::Acquire);
        stored + self.queued.load(Ordering::Acquire)
    }
}

impl Spool {
    /// Opens the folder, finds what an earlier process left in it, and starts the thread.
    ///
    /// # Errors
    /// When the folder cannot be used, or another proxy uses it.
    pub fn open(settings: SpoolSettings, kafka: Kafka) -> Result<Self, SpoolError> {
        Self::over(settings, Arc::new(kafka))
    }

    fn over(settings: SpoolSettings, sink: Arc<dyn Sink>) -> Result<Self, SpoolError> {
        let log = Log::open(&settings.dir, SEGMENT_BYTES.min(settings.bytes / 8))?;
        if log.messages() > 0 {
            let (messages, bytes) = (log.messages(), log.bytes());
            tracing::info!(
                messages,
                bytes,
                "the spool holds what an earlier proxy could not deliver: it is sent now"
            );
        }
        #[allow(
            clippy::disallowed_methods,
            reason = "bounded in bytes by `put`; what comes back is bounded by Kafka's queue, and would be lost if it were refused"
        )]
        let (orders, received) = channel();
        let inbox = Inbox { orders, shared: Arc::default() };
        sink.return_to(inbox.clone());
        let worker = worker::Worker::new(log, sink.clone(), received, inbox.shared.clone(), settings.bytes);
        let thread = std::thread::Builder::new().name("spool".into()).spawn(move || worker.run());
        let thread = thread.map_err(SpoolError::Thread)?;
        Ok(Self { sink, inbox, settings, thread: Some(thread) })
    }

    fn put(&self, message: Message) -> Result<(), DropReason> {
        let shared = &self.inbox.shared;
        let queued = shared.queued_bytes.load(Ordering::Relaxed) + message.payload.len() as u64;
        let stored = shared.stored_bytes.load(Ordering::Relaxed);
        if queued > QUEUE_BYTES || stored + queued > self.settings.bytes {
            return Err(DropReason::SpoolFull);
        }
        let Message { kind, key, payload, tally: run } = message;
        let exchanges = u64::from(kind == Kind::Exchange);
        run.add_spooled(exchanges);
        shared.taken.fetch_add(exchanges, Ordering::Relaxed);
        if self.inbox.put(Spooled { kind, key, payload, run: run.clone(), again: false, returned: false }) {
            return Ok(());
        }
        run.take_back_spooled(exchanges);
        Err(DropReason::DeliveryFailed)
    }

    /// Waits until all that the thread was given is on the disk for good.
    fn sync(&self, deadline: Instant) {
        let (done, synced) = sync_channel(1);
        let asked = self.inbox.orders.send(Order::Sync(done)).is_ok();
        let left = deadline.saturating_duration_since(Instant::now());
        if !asked || synced.recv_timeout(left).is_err() {
            let messages = self.inbox.shared.queued.load(Ordering::Relaxed);
            tracing::error!(messages, "the spool was not written before the deadline");
        }
    }
}

impl Publish for Spool {
    fn publish(&self, message: Message) -> Result<(), DropReason> {
        if !self.sink.published().connected {
            return self.put(message);
        }
        match self.sink.offer(&message) {
            Ok(()) => Ok(()),
            Err(Refusal::NotNow | Refusal::Fails) => self.put(message),
            Err(Refusal::Unfit) => Err(DropReason::DeliveryFailed),
        }
    }

    fn published(&self) -> Published {
        let shared = &self.inbox.shared;
        Published {
            spool_messages: shared.messages(),
            spool_bytes: shared.stored_bytes.load(Ordering::Relaxed)
                + shared.queued_bytes.load(Ordering::Relaxed),
            spooled: shared.taken.load(Ordering::Relaxed),
            ..self.sink.published()
        }
    }

    /// Waits for Kafka while it takes messages; what it has not acknowledged some time before the end is put into the
    /// spool, and that is made durable. From then on the spool is not fed back any more: this is for a stop.
    fn flush(&self, within: Duration) {
        let begun = Instant::now();
        let (until, deadline) = (begun + (within - within / KEPT), begun + within);
        let shared = &self.inbox.shared;
        let all = loop {
            let none_waits = self.sink.wait(STEP.min(until.saturating_duration_since(Instant::now())));
            if none_waits && (shared.messages() == 0 || shared.paused.load(Ordering::Relaxed)) {
                break true;
            }
            if !self.sink.published().connected || Instant::now() >= until {
                break false;
            }
            // Acknowledged, and the rest is about to come from the spool.
            if none_waits {
                std::thread::sleep(STEP / 5);
            }
        };
        if !all {
            shared.paused.store(true, Ordering::Relaxed);
            self.sink.recall();
            self.sink.wait(deadline.saturating_duration_since(Instant::now()) / 2);
        }
        self.sync(deadline);
    }

    fn describe(&self) -> String {
        format!("{}, spool {}", self.sink.describe(), self.settings.dir.display())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = self.inbox.orders.send(Order::End);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the spool's thread died");
        }
    }
}

#[cfg(test)]
mod tests;
