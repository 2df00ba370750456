//! A body that streams on as it comes while a copy is kept up to a cap.
//!
//! The live stream never depends on the copy: over the cap, or over the budget of bytes held, the copy is
//! given up and the stream goes on. When the stream's reader goes away before the end, what is left of a
//! watched body is still read in the background, so that the record does not depend on the reader's patience.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::sync::watch;

use crate::budget::Portion;
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
    /// Bytes that came by, kept or not.
    pub(crate) length: u64,
    pub(crate) end: End,
    pub(crate) over: Option<Over>,
    pub(crate) ended: Instant,
    /// Most requests under way meanwhile, where the body was [counting](Tee::counting).
    pub(crate) inflight_peak: Option<u32>,
    /// Keeps the bytes counted while the capture lives.
    _held: Portion,
}

impl Capture {
    /// Whether `chunks` are the whole body.
    pub(crate) fn whole(&self) -> bool {
        self.end == End::Complete && self.over.is_none()
    }

    pub(crate) fn to_body(&self) -> exchange::Body {
        exchange::Body::from_chunks(self.chunks.clone(), self.length, self.whole())
    }
}

/// Where a finished [`Capture`] appears.
pub(crate) type Captured = watch::Receiver<Option<Arc<Capture>>>;

/// Waits for the capture; `None` when the tee went away without one.
pub(crate) async fn captured(receiver: &mut Captured) -> Option<Arc<Capture>> {
    receiver.wait_for(Option::is_some).await.ok().and_then(|capture| capture.clone())
}

/// The body wrapper.
#[derive(Debug)]
pub(crate) struct Tee<B: Body<Data = Bytes> + Unpin + Send + 'static>
where
    B::Error: std::fmt::Display,
{
    inner: Option<B>,
    copy: Copy,
    /// How long to read on when the reader went away; zero to let go at once.
    grace: Duration,
    under_way: Option<UnderWay>,
}

#[derive(Debug, Default)]
struct Copy {
    chunks: Vec<Bytes>,
    /// Small chunks that follow on `chunks`.
    joined: BytesMut,
    length: u64,
    cap: usize,
    kept: usize,
    over: Option<Over>,
    held: Option<Portion>,
    done: Option<watch::Sender<Option<Arc<Capture>>>>,
}

impl Copy {
    fn take(&mut self, data: &Bytes) {
        self.length += data.len() as u64;
        if self.over.is_some() || data.is_empty() {
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
                self.keep(data);
            }
            Some(_) => {
                self.over = over;
                self.chunks = Vec::new();
                self.joined = BytesMut::new();
                if let Some(held) = &mut self.held {
                    held.release();
                }
            }
        }
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

    fn finish(&mut self, end: End, under_way: Option<&UnderWay>) {
        self.end_joined();
        if let (Some(done), Some(held)) = (self.done.take(), self.held.take()) {
            let capture = Capture {
                chunks: std::mem::take(&mut self.chunks),
                length: self.length,
                end,
                over: self.over,
                ended: Instant::now(),
                inflight_peak: under_way.map(UnderWay::peak),
                _held: held,
            };
            done.send_replace(Some(Arc::new(capture)));
        }
    }
}

impl<B> Tee<B>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: std::fmt::Display,
{
    /// Wraps a body; the capture appears in the returned receiver when the body has ended in any way.
    pub(crate) fn new(inner: B, cap: usize, held: Portion, grace: Duration) -> (Self, Captured) {
        Self::counting(inner, cap, held, grace, None)
    }

    /// The same; keeps a request counted as under way until the body has ended.
    pub(crate) fn counting(
        inner: B,
        cap: usize,
        held: Portion,
        grace: Duration,
        under_way: Option<UnderWay>,
    ) -> (Self, Captured) {
        let (done, receiver) = watch::channel(None);
        let copy = Copy { cap, held: Some(held), done: Some(done), ..Copy::default() };
        let mut tee = Self { inner: Some(inner), copy, grace, under_way };
        tee.finish_if_ended();
        (tee, receiver)
    }

    fn finish_if_ended(&mut self) {
        if self.inner.as_ref().is_some_and(Body::is_end_stream) {
            self.finish(End::Complete);
        }
    }

    fn finish(&mut self, end: End) {
        self.copy.finish(end, self.under_way.take().as_ref());
    }
}

impl<B> Body for Tee<B>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(inner).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    this.copy.take(data);
                }
                this.finish_if_ended();
            }
            Some(Err(error)) => this.finish(End::Broken(error.to_string())),
            None => this.finish(End::Complete),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B> Drop for Tee<B>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: std::fmt::Display,
{
    fn drop(&mut self) {
        if self.copy.done.is_none() {
            return;
        }
        let (inner, runtime) = (self.inner.take(), tokio::runtime::Handle::try_current());
        let (Some(inner), Ok(runtime), false) = (inner, runtime, self.grace.is_zero()) else {
            self.finish(End::Abandoned);
            return;
        };
        let rest = Self {
            inner: Some(inner),
            copy: std::mem::take(&mut self.copy),
            grace: Duration::ZERO,
            under_way: self.under_way.take(),
        };
        runtime.spawn(read_on(rest, self.grace));
    }
}

async fn read_on<B>(mut rest: Tee<B>, grace: Duration)
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: std::fmt::Display,
{
    // Dropping `rest` at the deadline finishes the capture as abandoned.
    let _ = tokio::time::timeout(grace, async { while let Some(Ok(_)) = rest.frame().await {} }).await;
}

/// A whole capture sent again, with its exact length.
#[derive(Debug, Clone)]
pub(crate) struct Chunks {
    capture: Arc<Capture>,
    next: usize,
    left: u64,
}

impl Chunks {
    pub(crate) fn new(capture: Arc<Capture>) -> Self {
        Self { left: capture.length, capture, next: 0 }
    }

    /// Length in bytes of what is left.
    pub(crate) fn length(&self) -> u64 {
        self.left
    }

    /// The capture, for one more time.
    pub(crate) fn captured(&self) -> Captured {
        watch::channel(Some(self.capture.clone())).1
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let chunk = this.capture.chunks.get(this.next).cloned();
        this.next += 1;
        Poll::Ready(chunk.map(|chunk| {
            this.left -= chunk.len() as u64;
            Ok(Frame::data(chunk))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests;
