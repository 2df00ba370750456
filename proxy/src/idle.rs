//! Notices that nothing moves on a client's connection any more: its client has closed its half and is gone, does not read
//! its answer, or waits for a primary that has stopped in the middle of one. Each of these would hold it for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// A stream that notes when bytes move on it.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    stream: S,
    moved: Arc<Moved>,
}

/// When bytes last moved.
#[derive(Debug)]
pub(crate) struct Moved {
    begun: Instant,
    /// Milliseconds since `begun`.
    last: AtomicU64,
}

impl<S> Watched<S> {
    pub(crate) fn new(stream: S) -> (Self, Arc<Moved>) {
        let moved = Arc::new(Moved { begun: Instant::now(), last: AtomicU64::new(0) });
        (Self { stream, moved: moved.clone() }, moved)
    }
}

impl Moved {
    fn note(&self, bytes: usize) {
        if bytes > 0 {
            let since = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.last.store(since, Ordering::Relaxed);
        }
    }

    /// Resolves when nothing has moved for so long.
    pub(crate) async fn idle(&self, limit: Duration) {
        loop {
            let until = self.begun + Duration::from_millis(self.last.load(Ordering::Relaxed)) + limit;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.moved.note(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.moved.note(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bytes))?;
        self.moved.note(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_nothing_has_moved_either_way_for_the_limit() {
        let limit = Duration::from_secs(600);
        let (near, mut far) = tokio::io::duplex(64);
        let (mut watched, moved) = Watched::new(near);
        let begun = Instant::now();
        let (idle_after, ()) = tokio::join!(
            async {
                moved.idle(limit).await;
                begun.elapsed()
            },
            async {
                tokio::time::advance(Duration::from_secs(500)).await;
                watched.write_all(b"answer").await.unwrap();
                tokio::time::advance(Duration::from_secs(500)).await;
                far.write_all(b"x").await.unwrap();
                watched.read_u8().await.unwrap();
            }
        );
        assert_eq!(idle_after.as_secs(), 1600);
    }
}
