//! Finishing what a client no longer waits for: the HTTP library drops the future of a request whose client has gone away, and with
//! it the primary's leg of a pair.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that goes on in the background when it is dropped before its end.
#[derive(Debug)]
pub(crate) struct Finish<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> Finish<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for Finish<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let ended = future.as_mut().poll(cx);
        if ended.is_ready() {
            self.0 = None;
        }
        ended
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Finish<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_is_dropped_before_its_end_goes_on() {
        let (go, going) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let mut future = Finish::new(async move {
            let _ = going.await;
            let _ = tell.send(7);
        });
        assert!(std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut future).poll(cx))).await.is_pending());
        drop(future);
        go.send(()).unwrap();
        assert_eq!(told.await, Ok(7));
    }
}
