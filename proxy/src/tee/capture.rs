//! What is kept of a body that streams by.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use tokio::sync::mpsc;
use xxhash_rust::xxh3::Xxh3;

use super::slot::{Captured, Done, slot};
use crate::budget::{Budget, Portion};
use crate::load::UnderWay;

/// Chunks of fewer bytes are joined: kept one by one, they would cost more than the bytes that are counted.
const SMALL: usize = 1024;

/// How the captured stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The end came.
    Complete,
    /// The stream broke.
    Broken(String),
    /// Nobody read on, and the rest did not come within the grace time.
    Abandoned,
    /// The deadline of the answer passed.
    TimedOut,
}

/// Why a copy is not whole although the stream was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The cap of one body.
    Cap,
    /// The budget of all bodies held.
    Budget,
}

/// What was kept of a body.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) chunks: Vec<Bytes>,
    /// Fields after the body.
    pub(crate) trailers: Option<HeaderMap>,
    /// Bytes that came by, kept or not.
    pub(crate) length: u64,
    pub(crate) end: End,
    pub(crate) over: Option<Over>,
    /// Of the whole stream, where it was not kept whole and that was asked for.
    digest: Option<u128>,
    pub(crate) ended: Instant,
    /// Whether whoever read the stream went away before its end.
    pub(crate) reader_left: bool,
    /// Most requests under way meanwhile, where the body was counting.
    pub(crate) inflight_peak: Option<u32>,
    /// Keeps the bytes counted while the capture lives.
    _held: Portion,
}

impl Capture {
    /// A whole body that nothing streamed.
    pub(crate) fn of(bytes: Bytes) -> Self {
        Self {
            length: bytes.len() as u64,
            chunks: if bytes.is_empty() { Vec::new() } else { vec![bytes] },
            trailers: None,
            end: End::Complete,
            over: None,
            digest: None,
            ended: Instant::now(),
            reader_left: false,
            inflight_peak: None,
            _held: Budget::new(0).portion(),
        }
    }

    /// Whether `chunks` are the whole body.
    pub(crate) fn whole(&self) -> bool {
        self.end == End::Complete && self.over.is_none()
    }

    pub(crate) fn to_body(&self) -> exchange::Body {
        let body = exchange::Body::from_chunks(self.chunks.clone(), self.length, self.whole());
        exchange::Body { digest: body.digest.or(self.digest), ..body }
    }
}

/// A part of a body on its way to a follower.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Data(Bytes),
    Trailers(HeaderMap),
    End,
}

/// XXH3 of what has gone by.
#[derive(Default)]
struct Digest(Box<Xxh3>);

impl std::fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Digest")
    }
}

/// The copy as it grows.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    chunks: Vec<Bytes>,
    /// Small chunks that follow on `chunks`.
    joined: BytesMut,
    trailers: Option<HeaderMap>,
    length: u64,
    cap: usize,
    kept: usize,
    over: Option<Over>,
    /// Whether a stream that passes a bound is digested to its end; what has gone by of it since.
    digests: bool,
    digest: Option<Digest>,
    pub(crate) reader_left: bool,
    held: Option<Portion>,
    /// Not bounded by their number: what waits in one is in `kept` too, and over the cap all are cut.
    followers: Vec<mpsc::UnboundedSender<Part>>,
    done: Option<Done>,
}

impl Copy {
    pub(crate) fn new(cap: usize, held: Portion) -> (Self, Captured) {
        let (done, captured) = slot();
        (Self { cap, held: Some(held), done: Some(done), ..Self::default() }, captured)
    }

    /// A copy that keeps nothing and tells nobody.
    pub(crate) fn none() -> Self {
        Self { over: Some(Over::Cap), ..Self::default() }
    }

    /// Digests the whole of a stream that passes a bound: by it, two that are not kept can be told equal.
    pub(crate) fn digest_all(&mut self) {
        self.digests = true;
    }

    /// Sends what comes from now on to a follower as well.
    pub(crate) fn follow(&mut self) -> mpsc::UnboundedReceiver<Part> {
        #[allow(
            clippy::disallowed_methods,
            reason = "what waits in it is kept as well, within the cap and the budget"
        )]
        let (sender, receiver) = mpsc::unbounded_channel();
        self.followers.push(sender);
        receiver
    }

    pub(crate) fn finished(&self) -> bool {
        self.done.is_none()
    }

    pub(crate) fn take(&mut self, data: &Bytes) {
        self.length += data.len() as u64;
        if self.over.is_some() || data.is_empty() {
            if let Some(digest) = &mut self.digest {
                digest.0.update(data);
            }
            return;
        }
        let over = if self.kept + data.len() > self.cap {
            Some(Over::Cap)
        } else if !self.held.as_mut().is_some_and(|held| held.grow(data.len())) {
            Some(Over::Budget)
        } else {
            None
        };
        match over {
            None => {
                self.kept += data.len();
                for follower in &self.followers {
                    // One that has gone away asked for nothing more.
                    let _ = follower.send(Part::Data(data.clone()));
                }
                self.keep(data);
            }
            Some(_) => {
                self.over = over;
                if self.digests {
                    self.end_joined();
                    let digest = &mut self.digest.insert(Digest::default()).0;
                    self.chunks.iter().chain([data]).for_each(|chunk| digest.update(chunk));
                }
                self.chunks = Vec::new();
                self.joined = BytesMut::new();
                // Without a word of the end: they know by it that it was cut.
                self.followers = Vec::new();
                if let Some(held) = &mut self.held {
                    held.release();
                }
            }
        }
    }

    pub(crate) fn take_trailers(&mut self, trailers: &HeaderMap) {
        for follower in &self.followers {
            let _ = follower.send(Part::Trailers(trailers.clone()));
        }
        self.trailers = Some(trailers.clone());
    }

    fn keep(&mut self, data: &Bytes) {
        let first = self.chunks.is_empty() && self.joined.is_empty();
        if data.len() < SMALL && !first {
            self.joined.extend_from_slice(data);
        } else {
            self.end_joined();
            self.chunks.push(data.clone());
        }
    }

    fn end_joined(&mut self) {
        if !self.joined.is_empty() {
            self.chunks.push(std::mem::take(&mut self.joined).freeze());
        }
    }

    pub(crate) fn finish(&mut self, end: End, under_way: Option<&UnderWay>) {
        self.end_joined();
        let digest = self.digest.take().filter(|_| end == End::Complete).map(|digest| digest.0.digest128());
        let followers = std::mem::take(&mut self.followers);
        if end == End::Complete {
            for follower in followers {
                let _ = follower.send(Part::End);
            }
        }
        if let (Some(done), Some(held)) = (self.done.take(), self.held.take()) {
            let capture = Capture {
                chunks: std::mem::take(&mut self.chunks),
                trailers: self.trailers.take(),
                length: self.length,
                end,
                over: self.over,
                digest,
                ended: Instant::now(),
                reader_left: self.reader_left,
                inflight_peak: under_way.map(UnderWay::peak),
                _held: held,
            };
            done.set(capture);
        }
    }
}
