//! Notices that an HTTP/2 connection carries no request any more. Bytes still move on it, for both ends ask each other whether
//! they are there, so it would keep its place for ever.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};

/// The requests of one connection. Each holds a share of it until the last byte of its answer has gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests(Arc<AtomicU64>);

impl Requests {
    /// Counts a request.
    pub(crate) fn begin(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.clone()
    }

    /// Resolves when none has been under way for about so long; `idle` shares are held by others than requests.
    pub(crate) async fn unused(&self, limit: Duration, idle: usize) {
        let (mut seen, mut quiet) = (0, 0);
        while quiet < 4 {
            tokio::time::sleep(limit / 4).await;
            let begun = self.0.load(Ordering::Relaxed);
            quiet = if begun == seen && Arc::strong_count(&self.0) == idle { quiet + 1 } else { 0 };
            seen = begun;
        }
    }
}

/// A body that counts as a request under way while it is there.
#[derive(Debug)]
pub(crate) struct Counted<B> {
    pub(crate) body: B,
    pub(crate) _request: Requests,
}

impl<B: Body + Unpin> Body for Counted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_unused_once_its_last_request_has_been_over_for_the_limit() {
        let requests = Requests::default();
        let limit = Duration::from_secs(100);
        let begun = tokio::time::Instant::now();
        let request = requests.begin();
        let over = async {
            tokio::time::sleep(Duration::from_secs(1000)).await;
            drop(request);
        };
        tokio::join!(requests.unused(limit, 1), over);
        let took = begun.elapsed().as_secs();
        assert!((1100..1126).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn short_requests_now_and_then_keep_it() {
        let requests = Requests::default();
        let limit = Duration::from_secs(100);
        let begun = tokio::time::Instant::now();
        let now_and_then = async {
            for _ in 0..10 {
                drop(requests.begin());
                tokio::time::sleep(Duration::from_secs(90)).await;
            }
        };
        tokio::join!(requests.unused(limit, 1), now_and_then);
        assert!(begun.elapsed().as_secs() >= 900);
    }
}
