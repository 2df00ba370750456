//! The spool's thread: writes what comes, and feeds it back to Kafka.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use exchange::DropReason;

use super::frame;
use super::log::Log;
use super::segment::Chunk;
use super::sink::{Order, Refusal, Sink, Spooled};
use super::{Kind, Message, Shared};
use crate::publish::Tally;

/// Parts on their way to Kafka at once: with about 1 MiB for each, what feeding back may hold in memory.
const PARTS: usize = 16;

/// Messages of a part.
const PART_MESSAGES: usize = 512;

/// Bytes written at once; no more than a segment.
const WRITE_BYTES: u64 = 1 << 20;

/// How often acknowledgements are looked for.
const SOON: Duration = Duration::from_millis(10);

/// How often it is looked whether Kafka is back.
const LATER: Duration = Duration::from_millis(200);

/// How long nothing is sent after messages came back, and nothing read after the disk failed.
const REST: Duration = Duration::from_secs(1);

/// How long nothing more is said of a disk that fails.
const QUIET: Duration = Duration::from_secs(10);

/// Messages of one segment, kind and run that were handed to Kafka.
struct Sent {
    segment: u64,
    end: u64,
    messages: u64,
    tally: Arc<Tally>,
}

impl Sent {
    fn is_settled(&self) -> bool {
        self.tally.settled() >= self.messages
    }
}

pub(super) struct Worker {
    log: Log,
    sink: Arc<dyn Sink>,
    orders: Receiver<Order>,
    shared: Arc<Shared>,
    limit: u64,
    /// Oldest first.
    sent: VecDeque<Sent>,
    rest_until: Option<Instant>,
    quiet_until: Option<Instant>,
    buffer: Vec<u8>,
}

impl Worker {
    pub(super) fn new(
        log: Log,
        sink: Arc<dyn Sink>,
        orders: Receiver<Order>,
        shared: Arc<Shared>,
        limit: u64,
    ) -> Self {
        let (sent, buffer) = (VecDeque::new(), Vec::new());
        let worker =
            Self { log, sink, orders, shared, limit, sent, rest_until: None, quiet_until: None, buffer };
        worker.tell();
        worker
    }

    pub(super) fn run(mut self) {
        loop {
            let wait = match (self.sent.is_empty(), self.log.messages()) {
                (true, 0) => None,
                (true, _) => Some(LATER),
                (false, _) => Some(SOON),
            };
            let first = match wait {
                None => self.orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => self.orders.recv_timeout(wait),
            };
            match first {
                Ok(order) => {
                    if !self.follow(order) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // Looked at first and acted upon after all that came back is written: a message is always in a file, in a frame
            // that is not acknowledged.
            let settled = self.sent.iter().take_while(|sent| sent.is_settled()).count();
            while let Ok(order) = self.orders.try_recv() {
                if !self.follow(order) {
                    return;
                }
            }
            self.acknowledge(settled);
            self.feed();
            self.tell();
        }
    }

    /// Does what is ordered and all else of the kind that already waits; says whether to go on.
    fn follow(&mut self, order: Order) -> bool {
        let mut next = Some(order);
        while let Some(order) = next.take() {
            match order {
                Order::Put(spooled) => next = self.write(spooled),
                Order::Sync(done) => {
                    if let Err(error) = self.log.sync() {
                        self.complain(&error, "the spool is not durable");
                    }
                    self.tell();
                    let _ = done.send(());
                }
                Order::End => {
                    let _ = self.log.sync();
                    return false;
                }
            }
        }
        true
    }

    /// Writes a message and those of the same run that wait behind it, about [`WRITE_BYTES`]; gives the order that is none of
    /// them.
    fn write(&mut self, first: Spooled) -> Option<Order> {
        let run = first.run.clone();
        let (mut messages, mut exchanges, mut queued, mut bytes) = (0, 0, 0, 0);
        let mut next = Some(Order::Put(first));
        self.buffer.clear();
        let room = self.limit.saturating_sub(self.log.bytes());
        let other = loop {
            match next.take().or_else(|| self.orders.try_recv().ok()) {
                Some(Order::Put(spooled)) if Arc::ptr_eq(&spooled.run, &run) => {
                    let size = frame::size(&spooled.key, &spooled.payload);
                    let exchange = u64::from(spooled.kind == Kind::Exchange);
                    (queued, bytes) = (queued + 1, bytes + size as u64);
                    let fits = spooled.returned || (self.buffer.len() + size) as u64 <= room;
                    if fits
                        && frame::put(
                            spooled.kind,
                            spooled.again,
                            &spooled.key,
                            &spooled.payload,
                            &mut self.buffer,
                        )
                    {
                        (messages, exchanges) = (messages + 1, exchanges + exchange);
                    } else {
                        run.take_back_spooled(exchange);
                        run.add_dropped(DropReason::SpoolFull, exchange);
                    }
                    if self.buffer.len() as u64 >= WRITE_BYTES.min(self.log.segment_bytes()) {
                        break None;
                    }
                }
                other => break other,
            }
        };
        if messages > 0
            && let Err(error) = self.log.append(&self.buffer, messages, &run)
        {
            use io::ErrorKind::{QuotaExceeded, StorageFull};
            let full = matches!(error.kind(), StorageFull | QuotaExceeded);
            run.take_back_spooled(exchanges);
            let reason = if full { DropReason::SpoolFull } else { DropReason::DeliveryFailed };
            run.add_dropped(reason, exchanges);
            self.complain(&error, "the spool cannot be written: exchanges are lost and counted");
        }
        self.tell();
        self.shared.unqueue(queued, bytes);
        other
    }

    fn acknowledge(&mut self, settled: usize) {
        for sent in self.sent.drain(..settled) {
            self.log.acknowledge(sent.segment, sent.messages, sent.end);
            if sent.tally.returned() > 0 {
                self.rest_until = Some(Instant::now() + REST);
            }
        }
    }

    /// Hands messages to Kafka: as many as may be under way while it takes them, else one at a time to find out.
    fn feed(&mut self) {
        let rests = self.rest_until.is_some_and(|until| Instant::now() < until);
        if rests || self.shared.paused.load(Ordering::Relaxed) {
            return;
        }
        let state = self.sink.published();
        let (parts, messages) = match state.connected {
            true => (PARTS, PART_MESSAGES),
            false if state.waiting == 0 => (1, 1),
            false => return,
        };
        while self.sent.len() < parts {
            match self.log.next(messages) {
                Ok(Some(chunk)) => {
                    if !self.send(chunk) {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.complain(&error, "the spool cannot be read");
                    self.rest_until = Some(Instant::now() + REST);
                    break;
                }
            }
        }
    }

    /// Hands over a chunk, as far as it is taken; says whether all of it was.
    fn send(&mut self, chunk: Chunk) -> bool {
        let tally = Arc::new(Tally::part_of(chunk.kind, chunk.run, chunk.again));
        let all = chunk.frames.len();
        if let Some((_, end)) = chunk.frames.last()
            && let Err(error) = self.log.will_send(chunk.segment, *end)
        {
            self.complain(
                &error,
                "a mark in the spool was not written: a crash now would send messages twice",
            );
        }
        let (mut messages, mut last) = (0, None);
        for (frame, end) in chunk.frames {
            let message =
                Message { kind: frame.kind, key: frame.key, payload: frame.payload, tally: tally.clone() };
            match self.sink.offer(&message) {
                Ok(()) => {}
                Err(Refusal::Unfit) => tally.add_dropped(DropReason::DeliveryFailed, 1),
                Err(Refusal::NotNow | Refusal::Fails) => break,
            }
            (messages, last) = (messages + 1, Some(end));
        }
        if let Some(end) = last {
            self.log.sent(chunk.segment, messages as u64, end);
            let (segment, messages) = (chunk.segment, messages as u64);
            self.sent.push_back(Sent { segment, end, messages, tally });
        }
        messages == all
    }

    fn tell(&self) {
        self.shared.stored.store(self.log.messages(), Ordering::Release);
        self.shared.stored_bytes.store(self.log.bytes(), Ordering::Relaxed);
    }

    fn complain(&mut self, error: &io::Error, what: &str) {
        let now = Instant::now();
        if self.quiet_until.is_none_or(|until| now >= until) {
            self.quiet_until = Some(now + QUIET);
            tracing::error!(%error, "{what}");
        }
    }
}
