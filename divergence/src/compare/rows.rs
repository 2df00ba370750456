//! Decisions and order within the rows of an output: the largest element, the ranking, the threshold.
//!
//! A move counts as real only where the primary's values differ by more than both tolerances: within them, the primary itself does not
//! know the order.

use super::structure::Pair;

/// What moved within the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moves {
    /// Whether there is a row with a largest element.
    pub(super) ranked: bool,
    /// Largest elements that moved between elements well apart.
    pub(super) real: bool,
    /// Largest elements that moved between elements within tolerance of each other.
    pub(super) near_tie: bool,
    /// Whether the order changed between elements well apart, in a row of three or more.
    pub(super) rank: bool,
    /// Whether a threshold was crossed from well apart of it.
    pub(super) crossed: bool,
    /// Whether a threshold was crossed from within tolerance of it.
    pub(super) crossed_near: bool,
}

impl Moves {
    /// Looks at all rows of a floating output; rows with a NaN have no order.
    pub(super) fn of(pair: &Pair<'_>) -> Self {
        let mut moves = Self::default();
        if let Some(threshold) = pair.threshold {
            moves.threshold(pair, threshold);
        }
        let Some(width) = row_width(pair) else { return moves };
        let rows = pair.primary.values.chunks_exact(width).zip(pair.shadow.values.chunks_exact(width));
        for (primary, shadow) in rows {
            if primary.iter().chain(shadow).any(|value| value.is_nan()) {
                continue;
            }
            moves.ranked = true;
            moves.row(pair, primary, shadow);
        }
        moves
    }

    /// Joins the moves of two outputs.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            ranked: self.ranked | other.ranked,
            real: self.real | other.real,
            near_tie: self.near_tie | other.near_tie,
            rank: self.rank | other.rank,
            crossed: self.crossed | other.crossed,
            crossed_near: self.crossed_near | other.crossed_near,
        }
    }

    fn threshold(&mut self, pair: &Pair<'_>, threshold: f64) {
        let crossings = pair.values().filter(|(p, s)| !p.is_nan() && !s.is_nan());
        for (p, _) in crossings.filter(|(p, s)| (*p >= threshold) != (*s >= threshold)) {
            let near = (p - threshold).abs() <= pair.tolerance.around(p);
            self.crossed |= !near;
            self.crossed_near |= near;
        }
    }

    fn row(&mut self, pair: &Pair<'_>, primary: &[f64], shadow: &[f64]) {
        let (top, pick) = (argmax(primary), argmax(shadow));
        if top != pick {
            let apart = low(pair, primary[top]) > high(pair, primary[pick]);
            self.real |= apart;
            self.near_tie |= !apart;
        } else if primary.len() >= 3 && !self.rank {
            self.rank = reordered(pair, primary, shadow);
        }
    }
}

/// Length of a row: the last dimension. A list of numbers is one row; a column of single scores has none.
fn row_width(pair: &Pair<'_>) -> Option<usize> {
    let width = usize::try_from(*pair.primary.shape.last()?).ok()?;
    (pair.dtype.is_float() && width >= 2).then_some(width)
}

/// Index of the largest element, the first of equals.
fn argmax(row: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
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
