//! Recording in the proxy's own process: a bounded queue between the proxy and a recorder thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use exchange::DropReason;
use proxy::publish::{Kind, Message, Publish, Published, Tally};
use recorder::{Local, Progress, RecordError, Settings};

/// Messages that may wait.
const QUEUE_MESSAGES: usize = 16_384;

/// Bytes that may wait.
const QUEUE_BYTES: u64 = 256 << 20;

/// How long nothing is tried after the file system refused.
const RETRY: Duration = Duration::from_secs(5);

/// How often files are looked at for their age.
const TICK: Duration = Duration::from_secs(1);

/// The proxy's end.
pub(crate) struct Folder {
    queue: SyncSender<Message>,
    shared: Arc<Shared>,
    out: String,
}

/// The recorder's end.
pub(crate) struct Recording(JoinHandle<Recorded>);

#[derive(Default)]
struct Shared {
    taken: AtomicU64,
    bytes: AtomicU64,
    /// Whether something has been lost.
    lossy: AtomicBool,
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

/// What a recording came to.
pub(crate) struct Recorded {
    pub(crate) progress: Progress,
    /// The last refusal of the file system, when exchanges were lost by one.
    pub(crate) error: Option<RecordError>,
}

impl Recording {
    /// Waits until the recorder has closed its files; the proxy's end must be gone.
    ///
    /// # Errors
    /// When the thread died.
    pub(crate) fn join(self) -> anyhow::Result<Recorded> {
        self.0.join().map_err(|_| anyhow!("the recorder thread died"))
    }
}

/// The thread's own state.
struct Writing<'a> {
    local: Local,
    shared: &'a Shared,
    /// Rows that are counted as delivered: they are in the set or in the open file.
    rows: u64,
    /// Files put into the set.
    files: u64,
    /// Whose rows the open file holds, in their order.
    open: Vec<(Arc<Tally>, u64)>,
    error: Option<RecordError>,
    /// Until when nothing is tried: a full disk would refuse every message.
    pause: Option<Instant>,
}

impl Writing<'_> {
    /// Counts what a step of the recorder did to the exchanges, `taken` among them.
    fn settle(&mut self, result: Result<(), RecordError>, taken: Option<&Arc<Tally>>) {
        if let Err(error) = result {
            tracing::error!(%error, retry_s = RETRY.as_secs(), "recording failed: the proxy serves on, what is mirrored meanwhile is lost and counted");
            self.error = Some(error);
            self.pause = Some(Instant::now() + RETRY);
        }
        let progress = self.local.progress();
        match taken {
            Some(tally) if progress.rows > self.rows => {
                tally.add_delivered(1);
                match self.open.last_mut() {
                    Some((last, rows)) if Arc::ptr_eq(last, tally) => *rows += 1,
                    _ => self.open.push((tally.clone(), 1)),
                }
            }
            Some(tally) => self.lose(tally, 1),
            None => {}
        }
        // Rows of a file that could not be put into the set are gone from the progress.
        let mut gone = self.rows.saturating_sub(progress.rows);
        while let Some((tally, rows)) = self.open.pop_if(|_| gone > 0) {
            tally.take_back_delivered(rows);
            self.lose(&tally, rows);
            gone = gone.saturating_sub(rows);
        }
        if progress.files > self.files {
            self.open.clear();
        }
        (self.rows, self.files) = (progress.rows, progress.files);
    }

    fn lose(&self, tally: &Tally, rows: u64) {
        tally.add_dropped(DropReason::DeliveryFailed, rows);
        self.shared.lossy.store(true, Ordering::Relaxed);
    }

    fn paused(&self) -> bool {
        self.pause.is_some_and(|until| Instant::now() < until)
    }
}

fn record(local: Local, messages: &Receiver<Message>, shared: &Shared) -> Recorded {
    let mut writing = Writing { local, shared, rows: 0, files: 0, open: vec![], error: None, pause: None };
    loop {
        match messages.recv_timeout(TICK) {
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if writing.paused() => {}
            Err(RecvTimeoutError::Timeout) => {
                let result = writing.local.tick();
                writing.settle(result, None);
            }
            Ok(Message { kind, payload, tally, .. }) => {
                let size = payload.len() as u64;
                let result = if writing.paused() { Ok(()) } else { writing.local.append(payload) };
                writing.settle(result, (kind == Kind::Exchange).then_some(&tally));
                shared.bytes.fetch_sub(size, Ordering::Relaxed);
                // A plain number: whoever died with the lock held left it whole.
                *shared.done.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                shared.progressed.notify_all();
            }
        }
    }
    let Writing { local, error, .. } = writing;
    let before = local.progress();
    match local.close() {
        Ok(progress) => Recorded { progress, error },
        Err(error) => {
            let lost = if let RecordError::Lost { messages, .. } = &error { *messages } else { 0 };
            let rows = before.rows.saturating_sub(lost);
            Recorded { progress: Progress { rows, ..before }, error: Some(error) }
        }
    }
}

impl Publish for Folder {
    fn publish(&self, message: Message) -> Result<(), DropReason> {
        let size = message.payload.len() as u64;
        if self.shared.bytes.fetch_add(size, Ordering::Relaxed) + size > QUEUE_BYTES {
            self.shared.bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(DropReason::QueueFull);
        }
        match self.queue.try_send(message) {
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
        Published {
            waiting: shared.taken.load(Ordering::Relaxed).saturating_sub(done),
            connected: !shared.lossy.load(Ordering::Relaxed),
            ..Published::default()
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

#[cfg(test)]
mod tests;
