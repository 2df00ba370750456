//! Decisions and order within the rows of an output: the largest element, the ranking, the threshold.
//!
//! A move counts as real only where the primary's values differ by more than both tolerances: within them, the primary itself does not
//! know the order.

use super::kernel;
use super::structure::Pair;
use crate::metric::decision::{self, Flip};

/// What moved within the rows: of each kind of move, the index of the first element that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moves {
    /// Whether there is a row with a largest element.
    pub(super) ranked: bool,
    /// A largest element that moved between elements well apart.
    pub(super) real: Option<usize>,
    /// A largest element that moved between elements within tolerance of each other.
    pub(super) near_tie: Option<usize>,
    /// A row of three or more in which the order changed between elements well apart.
    pub(super) rank: Option<usize>,
    /// A threshold crossed from well apart of it.
    pub(super) crossed: Option<usize>,
    /// A threshold crossed from within tolerance of it.
    pub(super) crossed_near: Option<usize>,
}

impl Moves {
    /// Looks for elements on two sides of the threshold.
    pub(super) fn threshold(&mut self, pair: &Pair<'_>, threshold: f64) {
        for (index, (p, s)) in pair.values().enumerate() {
            match decision::crossed(p, s, threshold, pair.tolerance.around(p)) {
                Some(Flip::Real) => first(&mut self.crossed, index),
                Some(Flip::NearTie) => first(&mut self.crossed_near, index),
                None => {}
            }
        }
    }

    /// Looks at a row that begins at element `at`; rows with a NaN have no order. `beyond` says whether an element of it is beyond
    /// tolerance: where none is, no two that are well apart can have changed places.
    pub(super) fn row(&mut self, pair: &Pair<'_>, at: usize, (p, s): (&[f64], &[f64]), beyond: bool) {
        if !beyond && kernel::same_bits(p, s) {
            self.ranked |= !decision::has_nan(p);
            return;
        }
        let (Some(top), Some(pick)) = (decision::argmax(p), decision::argmax(s)) else { return };
        self.ranked = true;
        match decision::moved(p, top, pick, |value| pair.tolerance.around(value)) {
            Some(Flip::Real) => first(&mut self.real, at + top),
            Some(Flip::NearTie) => first(&mut self.near_tie, at + top),
            None if top == pick && beyond && self.rank.is_none() && p.len() >= 3 && reordered(pair, p, s) => {
                self.rank = Some(at + top);
            }
            None => {}
        }
    }
}

fn first(slot: &mut Option<usize>, index: usize) {
    slot.get_or_insert(index);
}

fn low(pair: &Pair<'_>, value: f64) -> f64 {
    value - pair.tolerance.around(value)
}

fn high(pair: &Pair<'_>, value: f64) -> f64 {
    // A masked element is below all others, with no tolerance to it.
    if value == f64::NEG_INFINITY { value } else { value + pair.tolerance.around(value) }
}

/// Whether two elements that are well apart on the primary have changed places on the shadow. In O(n log n): going down the upper
/// ends of the tolerance intervals, the elements whose lower end is above are those well above; the smallest shadow value among
/// them must not be below the shadow value at hand.
fn reordered(pair: &Pair<'_>, primary: &[f64], shadow: &[f64]) -> bool {
    let mut lows: Vec<(f64, f64)> = primary.iter().zip(shadow).map(|(p, s)| (low(pair, *p), *s)).collect();
    let mut highs: Vec<(f64, f64)> = primary.iter().zip(shadow).map(|(p, s)| (high(pair, *p), *s)).collect();
    let falling = |a: &(f64, f64), b: &(f64, f64)| b.0.total_cmp(&a.0);
    lows.sort_unstable_by(falling);
    highs.sort_unstable_by(falling);
    let mut above = lows.into_iter().peekable();
    let mut smallest = f64::INFINITY;
    highs.into_iter().any(|(high, shadow)| {
        while let Some((_, other)) = above.next_if(|(low, _)| *low > high) {
            smallest = smallest.min(other);
        }
        smallest < shadow
    })
}
