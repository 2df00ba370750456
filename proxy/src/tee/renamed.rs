//! A body of gRPC messages on its way to a target where models have other names.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};

use super::{Broken, UpstreamBody};
use crate::rewrite::Messages;

/// The body: its messages are changed as they come.
#[derive(Debug)]
pub(crate) struct Renamed {
    inner: UpstreamBody,
    messages: Messages,
    ready: VecDeque<Bytes>,
    /// What came after the last byte.
    last: Option<Frame<Bytes>>,
    ended: bool,
}

impl Renamed {
    pub(crate) fn new(inner: UpstreamBody, messages: Messages) -> Self {
        Self { inner, messages, ready: VecDeque::new(), last: None, ended: false }
    }

    fn end(&mut self) {
        let mut rest = Vec::new();
        self.messages.finish(&mut rest);
        self.ready.extend(rest);
        self.ended = true;
    }
}

impl Body for Renamed {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        loop {
            if let Some(bytes) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if this.ended {
                return Poll::Ready(this.last.take().map(Ok));
            }
            match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => {
                        let mut out = Vec::new();
                        this.messages.push(bytes, &mut out);
                        this.ready.extend(out);
                    }
                    Err(trailers) => {
                        this.last = Some(trailers);
                        this.end();
                    }
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => this.end(),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && self.last.is_none() && (self.ended || self.inner.is_end_stream())
    }
}
