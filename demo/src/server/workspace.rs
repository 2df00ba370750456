//! A pool of workspaces that hands out used ones: the planted race.
//!
//! The pool prefers a workspace nobody uses. The bug is what it does when there is none: it takes the next in turn instead
//! of waiting. Two requests then work in the same memory. No dice are rolled: what comes out (another request's scores,
//! scores ten times too large or too small, a blend of two requests where their row counts differ) follows from who
//! writes, scales and reads when. The code is free of undefined behaviour all the same: each step holds a lock, and the
//! fault is that the lock is given back between the steps.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::protocol::MAX_ROWS;

/// Scores are accumulated in units of a tenth, then scaled. Doubles hold ten times a 32-bit float exactly, and scaling back
/// rounds to that float again, so a workspace used alone gives the model's own bits.
const UNSCALED: f64 = 10.0;

/// Workspaces shared by all requests of a server.
#[derive(Debug)]
pub(super) struct Pool {
    users: Mutex<Users>,
    workspaces: Vec<Mutex<[f64; MAX_ROWS]>>,
}

/// How many requests hold each workspace, and which comes next in turn.
#[derive(Debug)]
struct Users {
    holding: Vec<usize>,
    next: usize,
}

/// A request's hold on a workspace, which it may share without knowing. Given back on drop.
#[derive(Debug)]
pub(super) struct Hold<'a> {
    pool: &'a Pool,
    slot: usize,
    rows: usize,
}

impl Pool {
    pub(super) fn new(slots: NonZeroUsize) -> Self {
        Self {
            users: Mutex::new(Users { holding: vec![0; slots.get()], next: 0 }),
            workspaces: (0..slots.get()).map(|_| Mutex::new([0.0; MAX_ROWS])).collect(),
        }
    }

    /// Takes a workspace for a request of so many rows, at most [`MAX_ROWS`] of which fit. Never waits, which is the bug.
    pub(super) fn take(&self, rows: usize) -> Hold<'_> {
        let mut users = lock(&self.users);
        let slots = users.holding.len();
        let start = users.next;
        let slot =
            (0..slots).map(|i| (start + i) % slots).find(|&slot| users.holding[slot] == 0).unwrap_or(start);
        users.holding[slot] += 1;
        users.next = (slot + 1) % slots;
        Hold { pool: self, slot, rows: rows.min(MAX_ROWS) }
    }
}

impl Hold<'_> {
    /// First step: puts the scores into the workspace, not yet scaled.
    pub(super) fn write(&self, scores: &[f32]) {
        let mut workspace = lock(&self.pool.workspaces[self.slot]);
        for (place, &score) in workspace.iter_mut().zip(scores).take(self.rows) {
            *place = f64::from(score) * UNSCALED;
        }
    }

    /// Second step: scales in place whatever the request's rows hold by now.
    pub(super) fn scale(&self) {
        let mut workspace = lock(&self.pool.workspaces[self.slot]);
        for place in workspace.iter_mut().take(self.rows) {
            *place /= UNSCALED;
        }
    }

    /// Last step: the answer is whatever the request's rows hold by now.
    pub(super) fn read(&self) -> Vec<f32> {
        let workspace = lock(&self.pool.workspaces[self.slot]);
        workspace.iter().take(self.rows).map(|&score| score as f32).collect()
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        lock(&self.pool.users).holding[self.slot] -= 1;
    }
}

/// A panic between two plain writes cannot leave anything half done, so a poisoned lock is as good as a clean one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(slots: usize) -> Pool {
        Pool::new(NonZeroUsize::new(slots).unwrap())
    }

    #[test]
    fn a_workspace_used_alone_gives_back_the_same_bits() {
        let pool = pool(1);
        let mut score = 1.0_f32;
        while score > f32::MIN_POSITIVE {
            let hold = pool.take(2);
            hold.write(&[score, 1.0 - score]);
            hold.scale();
            assert_eq!(hold.read(), [score, 1.0 - score]);
            score *= 0.937;
        }
    }

    #[test]
    fn as_many_requests_as_workspaces_never_share_in_whatever_order_they_end() {
        let pool = pool(3);
        let mut held = vec![pool.take(1), pool.take(1), pool.take(1)];
        for turn in 0..50 {
            drop(held.swap_remove(turn * 7 % 3));
            held.push(pool.take(1));
            let mut slots: Vec<usize> = held.iter().map(|hold| hold.slot).collect();
            slots.sort_unstable();
            assert_eq!(slots, [0, 1, 2]);
        }
    }

    #[test]
    fn one_request_more_than_workspaces_gets_a_used_one() {
        let pool = pool(2);
        let (first, second) = (pool.take(1), pool.take(1));
        let third = pool.take(1);
        assert_ne!(first.slot, second.slot);
        assert_eq!(third.slot, first.slot);
        drop(first);
        assert_eq!(pool.take(1).slot, second.slot, "the third still holds the other");
    }

    #[test]
    fn a_write_after_the_scaling_is_read_ten_times_too_large() {
        let pool = pool(1);
        let (early, late) = (pool.take(1), pool.take(1));
        early.write(&[0.25]);
        early.scale();
        late.write(&[0.5]);
        assert_eq!(early.read(), [5.0]);
        late.scale();
        assert_eq!(late.read(), [0.5]);
    }

    #[test]
    fn a_write_before_the_scaling_is_read_as_another_requests_answer_then_ten_times_too_small() {
        let pool = pool(1);
        let (early, late) = (pool.take(1), pool.take(1));
        early.write(&[0.25]);
        late.write(&[0.5]);
        early.scale();
        assert_eq!(early.read(), [0.5]);
        late.scale();
        assert_eq!(late.read(), [0.05]);
    }

    #[test]
    fn requests_of_different_row_counts_blend() {
        let pool = pool(1);
        let (wide, narrow) = (pool.take(3), pool.take(1));
        wide.write(&[0.25, 0.25, 0.25]);
        wide.scale();
        narrow.write(&[0.5]);
        assert_eq!(wide.read(), [5.0, 0.25, 0.25]);
    }
}
