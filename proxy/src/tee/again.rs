//! A captured body on its way to a node: whole and once more, or followed while it still comes in.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::capture::{Capture, Part};
use super::{Broken, Renamed, Tee};

/// A whole capture sent again, with its exact length.
#[derive(Debug, Clone)]
pub(crate) struct Chunks {
    capture: Arc<Capture>,
    /// What is sent in place of the chunks of the capture.
    changed: Option<Arc<Vec<Bytes>>>,
    next: usize,
    left: u64,
    trailers: bool,
}

impl Chunks {
    pub(crate) fn new(capture: Arc<Capture>) -> Self {
        let trailers = capture.trailers.is_some();
        Self { left: capture.length, capture, changed: None, next: 0, trailers }
    }

    /// All its bytes.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        self.changed.as_ref().map_or(&self.capture.chunks, |changed| changed)
    }

    /// Sends other bytes, from the first on.
    pub(crate) fn change(&mut self, pieces: Vec<Bytes>) {
        self.left = pieces.iter().map(|piece| piece.len() as u64).sum();
        self.next = 0;
        self.changed = Some(Arc::new(pieces));
    }

    /// A body that was never captured.
    pub(crate) fn of(bytes: Bytes) -> Self {
        Self::new(Arc::new(Capture::of(bytes)))
    }

    /// Length in bytes of what is left.
    pub(crate) fn length(&self) -> u64 {
        self.left
    }

    /// Whether fields come after the body, so that its length cannot be told before.
    pub(crate) fn has_trailers(&self) -> bool {
        self.trailers
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if let Some(chunk) = this.pieces().get(this.next).cloned() {
            this.next += 1;
            this.left -= chunk.len() as u64;
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        let trailers = if this.trailers { this.capture.trailers.clone() } else { None };
        this.trailers = false;
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0 && !self.trailers
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A body that follows one that is still coming in.
#[derive(Debug)]
pub(crate) struct Follow {
    parts: mpsc::UnboundedReceiver<Part>,
    ended: bool,
}

impl Follow {
    pub(crate) fn new(parts: mpsc::UnboundedReceiver<Part>) -> Self {
        Self { parts, ended: false }
    }
}

impl Body for Follow {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(this.parts.poll_recv(cx)) {
            Some(Part::Data(data)) => Some(Ok(Frame::data(data))),
            Some(Part::Trailers(trailers)) => Some(Ok(Frame::trailers(trailers))),
            Some(Part::End) => {
                this.ended = true;
                None
            }
            None => {
                this.ended = true;
                Some(Err(Broken::Cut))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

/// A request body for a node.
#[derive(Debug)]
pub(crate) enum UpstreamBody {
    /// The client's, as it comes. In a box: the HTTP library keeps room for 32 requests on each connection, and moves them a dozen times.
    Live(Box<Tee<Incoming>>),
    /// A captured one.
    Again(Chunks),
    /// A copy of one that still comes.
    Follow(Follow),
    /// One of these whose messages name other models.
    Renamed(Box<Renamed>),
}

impl UpstreamBody {
    pub(crate) fn live(body: Tee<Incoming>) -> Self {
        Self::Live(Box::new(body))
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Live(body) => Pin::new(body.as_mut()).poll_frame(cx),
            Self::Again(body) => Pin::new(body).poll_frame(cx),
            Self::Follow(body) => Pin::new(body).poll_frame(cx),
            Self::Renamed(body) => Pin::new(&mut **body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Live(body) => body.is_end_stream(),
            Self::Again(body) => body.is_end_stream(),
            Self::Follow(body) => body.is_end_stream(),
            Self::Renamed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Live(body) => body.size_hint(),
            Self::Again(body) => body.size_hint(),
            Self::Follow(body) => body.size_hint(),
            Self::Renamed(body) => body.size_hint(),
        }
    }
}
