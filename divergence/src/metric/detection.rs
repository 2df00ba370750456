//! Boxes of detectors: matched by class and overlap, so that another order of the same boxes is no difference.

use serde::Serialize;

/// A box in corner form, with what was found in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection {
    /// Corners: x1, y1, x2, y2, in any unit that both sides share.
    pub corners: [f64; 4],
    /// Confidence.
    pub score: f64,
    /// Class; 0 where there is only one.
    pub class: i64,
}

/// Intersection over union of two boxes in corner form, 0 to 1. Corners may come in any order. Boxes without area are 1 when they
/// are equal and else 0; boxes that only touch are 0. NaN corners are 0.
#[must_use]
pub fn iou(one: &[f64; 4], other: &[f64; 4]) -> f64 {
    let (a, b) = (ordered(one), ordered(other));
    let side = |low: f64, high: f64| (high - low).max(0.0);
    let area = |c: &[f64; 4]| side(c[0], c[2]) * side(c[1], c[3]);
    let shared = side(a[0].max(b[0]), a[2].min(b[2])) * side(a[1].max(b[1]), a[3].min(b[3]));
    let union = area(&a) + area(&b) - shared;
    if area(&a) == 0.0 || area(&b) == 0.0 || union.is_nan() || union <= 0.0 {
        return if a == b { 1.0 } else { 0.0 };
    }
    (shared / union).clamp(0.0, 1.0)
}

fn ordered(c: &[f64; 4]) -> [f64; 4] {
    [c[0].min(c[2]), c[1].min(c[3]), c[0].max(c[2]), c[1].max(c[3])]
}

/// How two sets of boxes match.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matched {
    /// Boxes of both sides that belong together.
    pub matched: usize,
    /// Boxes of the primary without a partner.
    pub missing: usize,
    /// Boxes of the candidate without a partner.
    pub extra: usize,
    /// 2·matched / (all boxes of both sides); 1 when neither side has any.
    pub f1: f64,
    /// Mean overlap of the matched; `None` without any.
    pub mean_iou: Option<f64>,
    /// Smallest overlap of the matched.
    pub min_iou: Option<f64>,
    /// Largest |score − score| of the matched.
    pub max_score_difference: Option<f64>,
    /// Scores of the matched on both sides, by falling score of the primary.
    #[serde(skip)]
    pub scores: Vec<(f64, f64)>,
}

/// Matches the boxes greedily by falling score of the primary (the rule of the PASCAL VOC and COCO evaluations): each takes the
/// candidate's free box of its class with the largest overlap, if that is `least` or more; the first of equals. Boxes with the very
/// same corners, class and score are matched first, so that equal sets match whole. The order of either side does not matter.
/// Empty against empty is a match of all.
#[must_use]
pub fn match_boxes(p: &[Detection], c: &[Detection], least: f64) -> Matched {
    let (p, c) = (sorted(p), sorted(c));
    let mut free = vec![true; c.len()];
    let mut partner: Vec<Option<usize>> = vec![None; p.len()];
    for pass in [Pass::Same, Pass::Overlap] {
        for (slot, box_p) in partner.iter_mut().zip(&p).filter(|(slot, _)| slot.is_none()) {
            let candidates =
                c.iter().enumerate().filter(|(index, box_c)| free[*index] && box_c.class == box_p.class);
            let found = match pass {
                Pass::Same => candidates
                    .map(|(index, box_c)| (index, same(box_p, box_c)))
                    .find(|(_, same)| *same)
                    .map(|found| found.0),
                Pass::Overlap => candidates
                    .map(|(index, box_c)| (index, iou(&box_p.corners, &box_c.corners)))
                    .filter(|(_, overlap)| *overlap >= least)
                    .fold(None, |best: Option<(usize, f64)>, next| match best {
                        Some(best) if best.1 >= next.1 => Some(best),
                        _ => Some(next),
                    })
                    .map(|(index, _)| index),
            };
            if let Some(index) = found {
                free[index] = false;
                *slot = Some(index);
            }
        }
    }
    let pairs: Vec<(&Detection, &Detection)> =
        partner.iter().zip(&p).filter_map(|(slot, box_p)| slot.map(|index| (box_p, &c[index]))).collect();
    summary(&pairs, p.len(), c.len())
}

#[derive(Clone, Copy)]
enum Pass {
    Same,
    Overlap,
}

fn same(one: &Detection, other: &Detection) -> bool {
    one.corners.map(f64::to_bits) == other.corners.map(f64::to_bits)
        && one.score.to_bits() == other.score.to_bits()
}

fn summary(pairs: &[(&Detection, &Detection)], p: usize, c: usize) -> Matched {
    let matched = pairs.len();
    let overlap = |pair: &(&Detection, &Detection)| {
        if same(pair.0, pair.1) { 1.0 } else { iou(&pair.0.corners, &pair.1.corners) }
    };
    let overlaps: Vec<f64> = pairs.iter().map(overlap).collect();
    Matched {
        matched,
        missing: p - matched,
        extra: c - matched,
        f1: if p + c == 0 { 1.0 } else { 2.0 * matched as f64 / (p + c) as f64 },
        mean_iou: (matched > 0).then(|| overlaps.iter().sum::<f64>() / matched as f64),
        min_iou: overlaps.iter().copied().reduce(f64::min),
        scores: pairs.iter().map(|(p, c)| (p.score, c.score)).collect(),
        max_score_difference: pairs.iter().map(|(p, c)| difference(p.score, c.score)).reduce(f64::max),
    }
}

/// Two scores that are NaN agree; one is infinitely far from any number.
fn difference(p: f64, c: f64) -> f64 {
    if p.to_bits() == c.to_bits() || (p.is_nan() && c.is_nan()) {
        return 0.0;
    }
    let difference = (c - p).abs();
    if difference.is_nan() { f64::INFINITY } else { difference }
}

/// By falling score, then by class and corners, so that the result does not depend on the order given.
fn sorted(boxes: &[Detection]) -> Vec<Detection> {
    let mut sorted = boxes.to_vec();
    let corners = |a: &Detection, b: &Detection| {
        a.corners.iter().zip(&b.corners).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne())
    };
    sorted.sort_unstable_by(|a, b| {
        let order = b.score.total_cmp(&a.score).then(a.class.cmp(&b.class));
        order.then(corners(a, b).unwrap_or(std::cmp::Ordering::Equal))
    });
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    fn found(corners: [f64; 4], score: f64, class: i64) -> Detection {
        Detection { corners, score, class }
    }

    #[test]
    fn overlap_has_the_known_values() {
        let square = [0.0, 0.0, 10.0, 10.0];
        assert!(close(Some(iou(&square, &[5.0, 5.0, 15.0, 15.0])), 0.142_857_142_9));
        assert_eq!(iou(&square, &square), 1.0);
        assert_eq!(iou(&square, &[10.0, 0.0, 20.0, 10.0]), 0.0);
        assert_eq!(iou(&square, &[10.0, 10.0, 0.0, 0.0]), 1.0);
        let point = [1.0, 1.0, 1.0, 1.0];
        assert_eq!((iou(&point, &point), iou(&point, &square)), (1.0, 0.0));
        assert_eq!(iou(&[f64::NAN; 4], &square), 0.0);
    }

    #[test]
    fn another_order_is_the_same_set() {
        let boxes = [
            found([0.0, 0.0, 10.0, 10.0], 0.9, 1),
            found([1.0, 0.0, 11.0, 10.0], 0.8, 1),
            found([5.0, 5.0, 6.0, 6.0], 0.7, 2),
        ];
        let turned = [boxes[2], boxes[0], boxes[1]];
        let all = match_boxes(&boxes, &turned, 0.5);
        assert_eq!((all.matched, all.missing, all.extra, all.f1), (3, 0, 0, 1.0));
        assert_eq!((all.mean_iou, all.max_score_difference), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn shifted_boxes_lose_overlap_and_then_their_partner() {
        let one = [found([0.0, 0.0, 10.0, 10.0], 0.9, 1)];
        let near = match_boxes(&one, &[found([1.0, 0.0, 11.0, 10.0], 0.85, 1)], 0.5);
        assert!(close(near.mean_iou, 90.0 / 110.0) && close(near.max_score_difference, 0.05));
        let far = match_boxes(&one, &[found([8.0, 0.0, 18.0, 10.0], 0.9, 1)], 0.5);
        assert_eq!((far.matched, far.missing, far.extra, far.f1), (0, 1, 1, 0.0));
        let class = match_boxes(&one, &[found([0.0, 0.0, 10.0, 10.0], 0.9, 2)], 0.5);
        assert_eq!(class.matched, 0);
    }

    #[test]
    fn nothing_against_nothing_matches_and_nothing_against_some_does_not() {
        assert_eq!(match_boxes(&[], &[], 0.5).f1, 1.0);
        let one = [found([0.0, 0.0, 1.0, 1.0], f64::NAN, 0)];
        let lost = match_boxes(&one, &[], 0.5);
        assert_eq!((lost.f1, lost.missing, lost.mean_iou), (0.0, 1, None));
        assert_eq!(match_boxes(&one, &one, 0.5).f1, 1.0);
    }
}
