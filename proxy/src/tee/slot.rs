//! Where a finished capture appears: set once, seen by all that wait. A channel that can change its value costs each
//! request several times as much.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

use super::Capture;

#[derive(Debug, Default)]
struct Slot {
    /// `None` in it: whoever was to set it has gone away.
    capture: OnceLock<Option<Arc<Capture>>>,
    set: Notify,
}

impl Slot {
    fn set(&self, capture: Option<Arc<Capture>>) {
        if self.capture.set(capture).is_ok() {
            self.set.notify_waiters();
        }
    }
}

/// Sets the capture; dropped before, it tells that none comes.
#[derive(Debug)]
pub(crate) struct Done(Arc<Slot>);

impl Done {
    pub(crate) fn set(self, capture: Capture) {
        self.0.set(Some(Arc::new(capture)));
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// Where a finished [`Capture`] appears.
#[derive(Debug, Clone)]
pub(crate) struct Captured(Arc<Slot>);

impl Captured {
    /// The capture, if it is there already.
    pub(crate) fn now(&self) -> Option<&Arc<Capture>> {
        self.0.capture.get()?.as_ref()
    }
}

/// Both ends.
pub(crate) fn slot() -> (Done, Captured) {
    let slot = Arc::<Slot>::default();
    (Done(slot.clone()), Captured(slot))
}

/// Waits for the capture; `None` when the tee went away without one.
pub(crate) async fn captured(captured: &mut Captured) -> Option<Arc<Capture>> {
    let slot = &captured.0;
    if slot.capture.get().is_none() {
        let mut set = std::pin::pin!(slot.set.notified());
        // From here on nothing is missed, so the second look decides.
        set.as_mut().enable();
        if slot.capture.get().is_none() {
            set.await;
        }
    }
    slot.capture.get().cloned().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[tokio::test]
    async fn all_who_wait_see_the_capture_and_so_does_who_comes_later() {
        let (done, seen) = slot();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let mut seen = seen.clone();
                tokio::spawn(async move { captured(&mut seen).await })
            })
            .collect();
        tokio::task::yield_now().await;
        done.set(Capture::of(Bytes::from_static(b"ab")));
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap().unwrap().length, 2);
        }
        assert!(captured(&mut seen.clone()).await.is_some());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_capture_that_never_comes() {
        let (done, mut seen) = slot();
        let waiting = tokio::spawn(async move { captured(&mut seen).await.is_none() });
        tokio::task::yield_now().await;
        drop(done);
        assert!(waiting.await.unwrap());
    }
}
