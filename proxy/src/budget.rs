//! Bounds of the mirror: exchanges under way and bytes of captured bodies held.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A bound that is taken from in portions and given back when they are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    used: AtomicUsize,
}

/// A portion of a [`Budget`]; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Portion {
    budget: Budget,
    size: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(Shared { limit, used: AtomicUsize::new(0) }))
    }

    pub(crate) fn limit(&self) -> usize {
        self.0.limit
    }

    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// An empty portion, which can grow.
    pub(crate) fn portion(&self) -> Portion {
        Portion { budget: self.clone(), size: 0 }
    }

    /// A portion of that size, unless it would pass the bound.
    pub(crate) fn take(&self, size: usize) -> Option<Portion> {
        let mut portion = self.portion();
        portion.grow(size).then_some(portion)
    }
}

impl Portion {
    /// Makes the portion larger; says whether the bound allowed it.
    pub(crate) fn grow(&mut self, by: usize) -> bool {
        let shared = &self.budget.0;
        let within = |used: usize| used.checked_add(by).filter(|sum| *sum <= shared.limit);
        let taken = shared.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok();
        if taken {
            self.size += by;
        }
        taken
    }

    /// Gives all of it back.
    pub(crate) fn release(&mut self) {
        self.budget.0.used.fetch_sub(self.size, Ordering::Relaxed);
        self.size = 0;
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_passed_and_what_is_dropped_comes_back() {
        let budget = Budget::new(10);
        let mut first = budget.take(6).unwrap();
        assert!(budget.take(5).is_none());
        assert!(first.grow(4) && !first.grow(1));
        assert_eq!(budget.used(), 10);
        drop(first);
        assert_eq!(budget.used(), 0);
        assert!(budget.take(usize::MAX).is_none());
    }
}
