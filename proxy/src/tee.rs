//! A body that streams on as it comes while a copy is kept up to a cap.
//!
//! The live stream never depends on the copy: over the cap, or over the budget of bytes held, the copy is
//! given up and the stream goes on. When the stream's reader goes away before the end, what is left of a
//! watched body is still read in the background, so that the record does not depend on the reader's patience.

mod again;
mod capture;
mod renamed;
mod slot;

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::{Instant, Sleep};

pub(crate) use again::{Chunks, Follow, UpstreamBody};
pub(crate) use capture::{Capture, End, Over};
pub(crate) use renamed::Renamed;
pub(crate) use slot::{Captured, captured};

use self::capture::Copy;
use crate::budget::Portion;
use crate::load::UnderWay;
use crate::pool::Return;

/// Why a body ended without its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error(transparent)]
    Stream(#[from] hyper::Error),
    #[error("the deadline passed before the end of the body")]
    TimedOut,
    /// Of a copy that follows: what it follows was cut, or passed a bound.
    #[error("the body that was copied ended early or passed a bound")]
    Cut,
    /// Of a test's own body.
    #[cfg(test)]
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl From<std::convert::Infallible> for Broken {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The body wrapper.
#[derive(Debug)]
pub(crate) struct Tee<B: Source> {
    inner: Option<B>,
    copy: Copy,
    /// How long to read on when the reader went away; zero to let go at once.
    grace: Duration,
    under_way: Option<UnderWay>,
    back: Option<Return>,
    deadline: Option<Box<Deadline>>,
}

#[derive(Debug)]
struct Deadline {
    sleep: Pin<Box<Sleep>>,
    /// What ends the stream in an orderly way, where the protocol has such a word.
    word: Option<HeaderMap>,
}

/// A body that can be teed.
pub(crate) trait Source: Body<Data = Bytes, Error: Into<Broken>> + Unpin + Send + 'static {}

impl<B: Body<Data = Bytes, Error: Into<Broken>> + Unpin + Send + 'static> Source for B {}

impl<B: Source> Tee<B> {
    /// Wraps a body; the capture appears in the returned receiver when the body has ended in any way.
    pub(crate) fn new(inner: B, cap: usize, held: Portion, grace: Duration) -> (Self, Captured) {
        Self::counting(inner, cap, held, grace, None, None)
    }

    /// The same; keeps a request counted as under way until the body has ended, and gives its connection back then.
    pub(crate) fn counting(
        inner: B,
        cap: usize,
        held: Portion,
        grace: Duration,
        under_way: Option<UnderWay>,
        back: Option<Return>,
    ) -> (Self, Captured) {
        let (copy, receiver) = Copy::new(cap, held);
        let mut tee = Self { inner: Some(inner), copy, grace, under_way, back, deadline: None };
        tee.finish_if_ended();
        (tee, receiver)
    }

    /// A body of which no copy is kept; the rest as with [`counting`](Self::counting).
    pub(crate) fn passing(inner: B, under_way: UnderWay, back: Option<Return>) -> Self {
        let (inner, under_way) = (Some(inner), Some(under_way));
        let mut tee =
            Self { inner, copy: Copy::none(), grace: Duration::ZERO, under_way, back, deadline: None };
        tee.finish_if_ended();
        tee
    }

    /// Ends the stream at `at` if its end has not come: with those trailers where there are any, else by breaking it off.
    pub(crate) fn until(&mut self, at: Instant, word: Option<HeaderMap>) {
        if !self.is_end_stream() {
            let sleep = Box::pin(tokio::time::sleep_until(at));
            self.deadline = Some(Box::new(Deadline { sleep, word }));
        }
    }

    /// Digests the whole of a body that is too large to keep.
    pub(crate) fn digest_all(&mut self) {
        self.copy.digest_all();
    }

    /// A copy that follows the body as it comes.
    pub(crate) fn follow(&mut self) -> Follow {
        let parts = self.copy.follow();
        if self.copy.finished() {
            self.copy.finish(End::Complete, None);
        }
        Follow::new(parts)
    }

    fn finish_if_ended(&mut self) {
        if self.inner.as_ref().is_some_and(Body::is_end_stream) {
            self.finish(End::Complete);
        }
    }

    fn finish(&mut self, end: End) {
        let back = self.back.take();
        if end == End::Complete
            && let Some(back) = back
        {
            back.back();
        }
        self.copy.finish(end, self.under_way.take().as_ref());
    }

    /// What the deadline makes of the stream, once it has passed.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<Result<Frame<Bytes>, Broken>> {
        let Some(deadline) = &mut self.deadline else { return Poll::Pending };
        ready!(deadline.sleep.as_mut().poll(cx));
        let word = deadline.word.take();
        self.deadline = None;
        self.inner = None;
        self.finish(End::TimedOut);
        Poll::Ready(word.map(Frame::trailers).ok_or(Broken::TimedOut))
    }
}

impl<B: Source> Body for Tee<B> {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let Poll::Ready(frame) = Pin::new(inner).poll_frame(cx) else {
            return this.poll_deadline(cx).map(Some);
        };
        let frame = frame.map(|frame| frame.map_err(Into::into));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    this.copy.take(data);
                    this.finish_if_ended();
                } else if let Some(trailers) = frame.trailers_ref() {
                    this.copy.take_trailers(trailers);
                    // Nothing comes after them, and not every reader asks once more.
                    this.finish(End::Complete);
                }
            }
            Some(Err(error)) => this.finish(End::Broken(told(error))),
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

/// An error with its causes.
fn told(error: &Broken) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}

impl<B: Source> Drop for Tee<B> {
    fn drop(&mut self) {
        if self.copy.finished() {
            return;
        }
        self.copy.reader_left = true;
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
            back: self.back.take(),
            deadline: None,
        };
        runtime.spawn(read_on(rest, self.grace));
    }
}

async fn read_on<B: Source>(mut rest: Tee<B>, grace: Duration) {
    // Dropping `rest` at the deadline finishes the capture as abandoned.
    let _ = tokio::time::timeout(grace, async { while let Some(Ok(_)) = rest.frame().await {} }).await;
}

#[cfg(test)]
mod tests;
