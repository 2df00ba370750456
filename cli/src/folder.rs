//! Recording in the proxy's own process: a bounded queue between the proxy and a recorder thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use exchange::DropReason;
use proxy::publish::{Kind, Publish, Published};
use recorder::{Local, Progress, Settings};

/// Messages that may wait.
const QUEUE_MESSAGES: usize = 16_384;

/// Bytes that may wait.
const QUEUE_BYTES: u64 = 256 << 20;

/// How often files are looked at for their age.
const TICK: Duration = Duration::from_secs(1);

/// The proxy's end.
pub(crate) struct Folder {
    queue: SyncSender<(Kind, Bytes)>,
    shared: Arc<Shared>,
    out: String,
}

/// The recorder's end.
pub(crate) struct Recording(JoinHandle<Result<Progress, recorder::RecordError>>);

#[derive(Default)]
struct Shared {
    taken: AtomicU64,
    bytes: AtomicU64,
    delivered: AtomicU64,
    failed: AtomicU64,
    done: Mutex<u64>,
    progressed: Condvar,
}

/// Opens the folder and starts the recorder.
///
/// # Errors
/// When the folder cannot be used.
pub(crate) fn open(settings: Settings, proxy: &str) -> anyhow::Result<(Arc<Folder>, Recording)> {
    let out = settings.out.display().to_string();
    let local = Local::open(settings, &format!("local-{proxy}"))?;
    let (queue, messages) = sync_channel(QUEUE_MESSAGES);
    let shared = Arc::new(Shared::default());
    let state = shared.clone();
    let thread =
        std::thread::Builder::new().name("recorder".into()).spawn(move || record(local, &messages, &state));
    let thread = thread.context("the recorder thread cannot be started")?;
    Ok((Arc::new(Folder { queue, shared, out }), Recording(thread)))
}

impl Recording {
    /// Waits until the recorder has closed its files; the proxy's end must be gone.
    ///
    /// # Errors
    /// What went wrong while recording.
    pub(crate) fn join(self) -> anyhow::Result<Progress> {
        Ok(self.0.join().map_err(|_| anyhow!("the recorder thread died"))??)
    }
}

fn record(
    mut local: Local,
    messages: &Receiver<(Kind, Bytes)>,
    shared: &Shared,
) -> Result<Progress, recorder::RecordError> {
    let mut broken = None;
    loop {
        let (kind, message) = match messages.recv_timeout(TICK) {
            Ok(message) => message,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if broken.is_none() {
                    broken = failed(local.tick());
                }
                continue;
            }
        };
        let size = message.len() as u64;
        if broken.is_none() {
            broken = failed(local.append(message));
        }
        let counter = if broken.is_some() { &shared.failed } else { &shared.delivered };
        counter.fetch_add(u64::from(kind == Kind::Exchange), Ordering::Relaxed);
        shared.bytes.fetch_sub(size, Ordering::Relaxed);
        // A plain number: whoever died with the lock held left it whole.
        *shared.done.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        shared.progressed.notify_all();
    }
    match broken {
        None => local.close(),
        Some(error) => Err(error),
    }
}

fn failed(result: Result<(), recorder::RecordError>) -> Option<recorder::RecordError> {
    let error = result.err()?;
    tracing::error!(%error, "recording stopped: the proxy serves on, and what it mirrors is counted as lost");
    Some(error)
}

impl Publish for Folder {
    fn publish(&self, kind: Kind, _: &[u8], message: Bytes) -> Result<(), DropReason> {
        let size = message.len() as u64;
        if self.shared.bytes.fetch_add(size, Ordering::Relaxed) + size > QUEUE_BYTES {
            self.shared.bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(DropReason::QueueFull);
        }
        match self.queue.try_send((kind, message)) {
            Ok(()) => {
                self.shared.taken.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                self.shared.bytes.fetch_sub(size, Ordering::Relaxed);
                Err(match error {
                    TrySendError::Full(_) => DropReason::QueueFull,
                    TrySendError::Disconnected(_) => DropReason::DeliveryFailed,
                })
            }
        }
    }

    fn published(&self) -> Published {
        let shared = &self.shared;
        let done = *shared.done.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = shared.failed.load(Ordering::Relaxed);
        Published {
            delivered: shared.delivered.load(Ordering::Relaxed),
            failed,
            waiting: shared.taken.load(Ordering::Relaxed).saturating_sub(done),
            connected: failed == 0,
        }
    }

    fn flush(&self, within: Duration) {
        let deadline = Instant::now() + within;
        let taken = self.shared.taken.load(Ordering::Relaxed);
        let mut done = self.shared.done.lock().unwrap_or_else(PoisonError::into_inner);
        while *done < taken {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return };
            let waited = self.shared.progressed.wait_timeout(done, left);
            done = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn describe(&self) -> String {
        format!("folder {}", self.out)
    }
}
