//! Agreement of two orders of the same items, by their scores.

/// Kendall's tau-b: (n_c − n_d) / √((n₀ − n₁)(n₀ − n₂)) with n₀ = n(n−1)/2 and n₁, n₂ the pairs tied on either side (Kendall 1945).
/// In O(n log n) by counting inversions of a merge sort (Knight 1966). `None` when a side is constant, has a NaN, or there are
/// fewer than two items: an order that does not exist does not agree or disagree.
#[must_use]
pub fn kendall_tau_b(p: &[f64], c: &[f64]) -> Option<f64> {
    let mut pairs = pairs(p, c)?;
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let all = triangle(pairs.len());
    let tied_p = tied(&pairs, |a, b| a.0 == b.0);
    let tied_both = tied(&pairs, |a, b| a == b);
    let mut seconds: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let discordant = inversions(&mut seconds);
    let tied_c = tied(&seconds, |a, b| a == b);
    if tied_p == all || tied_c == all {
        return None;
    }
    let concordant = all + tied_both - tied_p - tied_c - discordant;
    let spread = ((all - tied_p) as f64 * (all - tied_c) as f64).sqrt();
    Some(((concordant as f64 - discordant as f64) / spread).clamp(-1.0, 1.0))
}

/// Spearman's rho: the correlation of the ranks, ties at their average rank. `None` as for [`kendall_tau_b`].
#[must_use]
pub fn spearman(p: &[f64], c: &[f64]) -> Option<f64> {
    pairs(p, c)?;
    let (p, c) = (ranks(p), ranks(c));
    let mean = (p.len() as f64 + 1.0) / 2.0;
    let (mut pc, mut pp, mut cc) = (0.0, 0.0, 0.0);
    for (p, c) in p.iter().zip(&c) {
        pc += (p - mean) * (c - mean);
        pp += (p - mean) * (p - mean);
        cc += (c - mean) * (c - mean);
    }
    (pp > 0.0 && cc > 0.0).then(|| (pc / (pp * cc).sqrt()).clamp(-1.0, 1.0))
}

/// Spearman's footrule Σ|r − s| over average ranks, as a share of its largest value ⌊n²/2⌋ (Diaconis & Graham 1977): 0 for the same
/// order, 1 for the reverse. `None` for fewer than two items or a NaN.
#[must_use]
pub fn footrule(p: &[f64], c: &[f64]) -> Option<f64> {
    pairs(p, c)?;
    let moved: f64 = ranks(p).iter().zip(ranks(c)).map(|(r, s)| (r - s).abs()).sum();
    let largest = p.len() * p.len() / 2;
    Some(moved / largest as f64)
}

/// Cost of what changed places: the sum of |P_i − P_j| over the pairs in which P and C order items i and j oppositely. Swaps of
/// near ties cost next to nothing. In O(n log n): each item is moved past others whose sum a merge sort knows. `None` for a NaN.
#[must_use]
pub fn cost(p: &[f64], c: &[f64]) -> Option<f64> {
    if p.len() != c.len() || p.iter().chain(c).any(|value| !value.is_finite()) {
        return None;
    }
    let mut pairs: Vec<(f64, f64)> = p.iter().copied().zip(c.iter().copied()).collect();
    // Within a tie of P, C ascending: ties are no swap.
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    Some(swapped(&mut pairs))
}

/// Sorts by C what is sorted by P; the sum of differences in P of what passes each other.
fn swapped(pairs: &mut [(f64, f64)]) -> f64 {
    if pairs.len() < 2 {
        return 0.0;
    }
    let (left, right) = pairs.split_at_mut(pairs.len() / 2);
    let mut cost = swapped(left) + swapped(right);
    let mut rest: f64 = left.iter().map(|pair| pair.0).sum();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        if left[l].1 <= right[r].1 {
            rest -= left[l].0;
            merged.push(left[l]);
            l += 1;
        } else {
            // Smaller in C than all that is left of the left half, larger in P than each of it.
            cost += right[r].0 * (left.len() - l) as f64 - rest;
            merged.push(right[r]);
            r += 1;
        }
    }
    merged.extend_from_slice(&left[l..]);
    merged.extend_from_slice(&right[r..]);
    pairs.copy_from_slice(&merged);
    cost.max(0.0)
}

/// Ranks from 1, the smallest first, ties at their average.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for run in order.chunk_by(|a, b| values[*a] == values[*b]).scan(0, |first, run| {
        *first += run.len();
        Some((*first - run.len(), run))
    }) {
        let (first, run) = run;
        let rank = first as f64 + (run.len() as f64 + 1.0) / 2.0;
        run.iter().for_each(|index| ranks[*index] = rank);
    }
    ranks
}

/// Both sides zipped, -0 as 0 so that equal values are equal to a total order, when there are two items or more and no NaN.
fn pairs(p: &[f64], c: &[f64]) -> Option<Vec<(f64, f64)>> {
    let usable = p.len() == c.len() && p.len() >= 2 && !p.iter().chain(c).any(|value| value.is_nan());
    usable.then(|| p.iter().zip(c).map(|(p, c)| (p + 0.0, c + 0.0)).collect())
}

fn triangle(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}

/// Pairs within runs of equals.
fn tied<T>(sorted: &[T], same: impl Fn(&T, &T) -> bool) -> u64 {
    sorted.chunk_by(same).map(|run| triangle(run.len())).sum()
}

/// Sorts, and counts the pairs that stood in falling order.
fn inversions(values: &mut [f64]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        if left[l] <= right[r] {
            merged.push(left[l]);
            l += 1;
        } else {
            count += (left.len() - l) as u64;
            merged.push(right[r]);
            r += 1;
        }
    }
    merged.extend_from_slice(&left[l..]);
    merged.extend_from_slice(&right[r..]);
    values.copy_from_slice(&merged);
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::close;

    #[test]
    fn the_values_are_those_of_scipy() {
        let (a, b) = ([1.0, 2.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 2.0, 5.0]);
        assert!(close(kendall_tau_b(&a, &b), 0.666_666_666_7));
        assert!(close(spearman(&a, &b), 0.763_157_894_7));
        let (a, b) = ([12.0, 2.0, 1.0, 12.0, 2.0], [1.0, 4.0, 7.0, 1.0, 0.0]);
        assert!(close(kendall_tau_b(&a, &b), -0.471_404_520_8));
        let a = [0.12, -1.5, 2.25, 0.8, 3.1, -0.4, 1.9, 0.05, 2.2, 1.1, 0.6, -2.0];
        let b = [0.1, -1.2, 2.5, 0.75, 2.9, -0.9, 2.1, 0.3, 2.0, 1.4, 0.2, -1.8];
        assert!(close(kendall_tau_b(&a, &b), 0.909_090_909_1));
        assert!(close(spearman(&a, &b), 0.972_027_972));
    }

    #[test]
    fn a_constant_has_no_order() {
        assert_eq!(kendall_tau_b(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, 2.0], &[0.0, -0.0]), None);
        assert_eq!(kendall_tau_b(&[1.0], &[1.0]), None);
        assert_eq!(kendall_tau_b(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(footrule(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(cost(&[1.0, f64::INFINITY], &[1.0, 2.0]), None);
    }

    #[test]
    fn the_footrule_of_the_reverse_is_1() {
        assert_eq!(footrule(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0]), Some(1.0));
        assert_eq!(footrule(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert_eq!(footrule(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]), Some(0.25));
    }

    #[test]
    fn a_swap_costs_the_distance_of_what_was_swapped() {
        assert!(close(cost(&[0.9, 0.5, 0.1], &[0.5, 0.9, 0.1]), 0.4));
        assert!(close(cost(&[0.9, 0.5, 0.1], &[0.1, 0.5, 0.9]), 0.4 + 0.4 + 0.8));
        assert_eq!(cost(&[0.5, 0.5], &[0.1, 0.9]), Some(0.0));
        assert_eq!(cost(&[0.9, 0.1], &[0.5, 0.5]), Some(0.0));
    }

    fn opposite(a: (f64, f64), b: (f64, f64)) -> bool {
        (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)
    }

    proptest! {
        #[test]
        fn both_agree_with_counting_every_pair(items in proptest::collection::vec((0..6_i8, 0..6_i8), 2..40)) {
            let (p, c): (Vec<f64>, Vec<f64>) = items.iter().map(|(p, c)| (f64::from(*p), f64::from(*c))).unzip();
            let (mut score, mut p_untied, mut c_untied, mut expected) = (0.0, 0.0, 0.0, 0.0);
            for i in 0..p.len() {
                for j in 0..i {
                    score += ((p[i] - p[j]) * (c[i] - c[j])).signum() * f64::from(u8::from(p[i] != p[j] && c[i] != c[j]));
                    p_untied += f64::from(u8::from(p[i] != p[j]));
                    c_untied += f64::from(u8::from(c[i] != c[j]));
                    if opposite((p[i], c[i]), (p[j], c[j])) {
                        expected += (p[i] - p[j]).abs();
                    }
                }
            }
            let spread = f64::sqrt(p_untied * c_untied);
            let tau = kendall_tau_b(&p, &c);
            prop_assert_eq!(tau.is_none(), spread == 0.0);
            prop_assert!(tau.is_none_or(|tau| (tau - score / spread).abs() < 1e-12));
            prop_assert!((cost(&p, &c).unwrap() - expected).abs() < 1e-9);
        }

        #[test]
        fn an_order_does_not_depend_on_the_order_of_the_items(mut items in proptest::collection::vec((-9..9_i8, -9..9_i8), 2..30), by in 0..30_usize) {
            let split = |items: &[(i8, i8)]| -> (Vec<f64>, Vec<f64>) {
                items.iter().map(|(p, c)| (f64::from(*p), f64::from(*c))).unzip()
            };
            let (p, c) = split(&items);
            let middle = by % items.len();
            items.rotate_left(middle);
            let (p2, c2) = split(&items);
            prop_assert_eq!(kendall_tau_b(&p, &c), kendall_tau_b(&p2, &c2));
            prop_assert_eq!(kendall_tau_b(&p, &c), kendall_tau_b(&c, &p));
            prop_assert_eq!(footrule(&p, &c), footrule(&p2, &c2));
        }
    }
}
