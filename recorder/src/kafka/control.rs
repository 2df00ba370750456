//! How a recording is told to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A handle on a recording in another thread; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Control {
    wish: Arc<AtomicU8>,
}

/// What the holder of a [`Control`] wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Record,
    Finish,
    Stop,
}

impl Control {
    /// A handle on nothing yet: give it to [`record`](crate::record).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the recording now: files are closed and put into the set.
    pub fn stop(&self) {
        self.wish.fetch_max(2, Ordering::Relaxed);
    }

    /// Ends the recording once every partition that this recorder holds is read to the end it has when this is seen.
    pub fn finish(&self) {
        self.wish.fetch_max(1, Ordering::Relaxed);
    }

    pub(super) fn wish(&self) -> Wish {
        match self.wish.load(Ordering::Relaxed) {
            0 => Wish::Record,
            1 => Wish::Finish,
            _ => Wish::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_stop_is_not_taken_back() {
        let control = Control::new();
        assert_eq!(control.wish(), Wish::Record);
        control.clone().finish();
        assert_eq!(control.wish(), Wish::Finish);
        control.stop();
        control.finish();
        assert_eq!(control.wish(), Wish::Stop);
    }
}
