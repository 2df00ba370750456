//! Rankings and detections.

use super::*;
use crate::{Kind, Rules};

fn ranking(items: &[(&str, f64)]) -> Output {
    let (keys, values): (Vec<String>, Vec<f64>) =
        items.iter().map(|(key, score)| ((*key).to_owned(), *score)).unzip();
    Output { kind: Kind::Ranking, keys, ..output("rank", DType::Fp32, &[values.len() as u64], &values) }
}

const FOUR: [(&str, f64); 4] = [("a", 0.9), ("b", 0.85), ("c", 0.3), ("d", 0.29)];

#[test]
fn scores_are_paired_by_what_they_belong_to() {
    let turned = pair(ranking(&FOUR), ranking(&[FOUR[2], FOUR[0], FOUR[3], FOUR[1]]));
    assert_eq!(verdict(&turned), (Class::BitEqual, "", false));
    assert_eq!(turned.measures.rank_biased_overlap, Some(1.0));
    let tenfold = pair(ranking(&FOUR), ranking(&[("a", 0.9), ("b", 0.85), ("c", 0.3), ("d", 2.9)]));
    assert_eq!(verdict(&tenfold), (Class::Gross, "ratio", true));
    let flipped = pair(ranking(&FOUR), ranking(&[("b", 0.88), ("a", 0.87), ("c", 0.3), ("d", 0.29)]));
    assert_eq!(verdict(&flipped), (Class::Flip, "real", true));
    assert!(flipped.measures.kendall_tau.is_some_and(|tau| (tau - 2.0 / 3.0).abs() < 1e-12));
    assert!(flipped.measures.rank_biased_overlap.is_some_and(|rbo| rbo < 0.95));
    let below = pair(ranking(&FOUR), ranking(&[("a", 0.9), ("b", 0.85), ("d", 0.305), ("c", 0.295)]));
    assert_eq!(below.class, Class::Rank);
}

#[test]
fn an_item_that_only_one_side_lists_is_a_change_of_members_or_of_the_top() {
    let of = |last: (&str, f64)| pair(ranking(&FOUR), ranking(&[FOUR[0], FOUR[1], FOUR[2], last]));
    // At the edge of the list, noise decides who is on it.
    let edge = of(("e", 0.29));
    assert_eq!((edge.class, edge.bit_equal), (Class::WithinTol, Some(false)));
    assert_eq!(edge.measures.top_k_overlap, Some(0.75));
    let middle = pair(ranking(&FOUR), ranking(&[FOUR[0], ("e", 0.84), FOUR[2], FOUR[3]]));
    assert_eq!(verdict(&middle), (Class::Rank, "members", false));
    let top = pair(ranking(&FOUR), ranking(&[("e", 0.95), FOUR[1], FOUR[2], FOUR[3]]));
    assert_eq!(verdict(&top), (Class::Flip, "real", true));
    assert_eq!((middle.worst_output.as_deref(), middle.worst_index), (Some("rank"), Some(1)));
    // A list that lost its tail, or gained one, lost it for nothing.
    for cut in 1..4 {
        let lost = pair(ranking(&FOUR), ranking(&FOUR[..cut]));
        assert_eq!(verdict(&lost), (Class::Rank, "members", false), "{cut}");
        assert_eq!(lost.worst_index, Some(cut as u64));
        let gained = pair(ranking(&FOUR[..cut]), ranking(&FOUR));
        assert_eq!(verdict(&gained), (Class::Rank, "members", false), "{cut}");
    }
    let nothing = pair(ranking(&FOUR), ranking(&[]));
    assert_eq!((nothing.class, nothing.serious), (Class::Degenerate, true));
}

#[test]
fn what_is_tied_at_the_edge_of_the_top_is_in_both_tops() {
    let list = |order: [usize; 4]| {
        let tied = [("a", 0.9), ("b", 0.5), ("c", 0.5), ("d", 0.1)];
        ranking(&order.map(|at| tied[at]))
    };
    let rules = Rules { top_k: 2, ..Rules::default() };
    let turned = judged(vec![list([0, 1, 2, 3])], vec![list([0, 2, 1, 3])], &rules);
    assert_eq!((turned.class, turned.measures.top_k_overlap), (Class::BitEqual, Some(1.0)));
}

#[test]
fn ids_and_scores_of_two_outputs_are_one_ranking() {
    let rules: Rules = toml::from_str("[[rankings]]\nids = \"ids\"\nscores = \"scores\"").unwrap();
    let answer = |ids: &[f64], values: &[f64]| {
        let shape = [2, ids.len() as u64 / 2];
        vec![output("ids", DType::Int64, &shape, ids), output("scores", DType::Fp32, &shape, values)]
    };
    let of = |ids: &[f64], values: &[f64]| {
        judged(answer(&[7.0, 8.0, 9.0, 5.0], &[0.9, 0.4, 0.8, 0.78]), answer(ids, values), &rules)
    };
    assert_eq!(verdict(&of(&[7.0, 8.0, 9.0, 5.0], &[0.9, 0.4, 0.8, 0.78])), (Class::BitEqual, "", false));
    let second = of(&[7.0, 8.0, 5.0, 9.0], &[0.9, 0.4, 0.795, 0.785]);
    assert_eq!(verdict(&second), (Class::Flip, "real", true));
    assert_eq!((second.worst_output.as_deref(), second.worst_row), (Some("scores"), Some(1)));
    let lone = judged(
        answer(&[1.0, 2.0], &[0.5, 0.4]),
        vec![output("ids", DType::Int64, &[2, 1], &[1.0, 2.0])],
        &rules,
    );
    assert_eq!(verdict(&lone), (Class::Structure, "missing:scores beside its ids", true));
    let order: Rules = toml::from_str("[[rankings]]\nids = \"ids\"").unwrap();
    let ids = |ids: &[f64]| vec![output("ids", DType::Int64, &[ids.len() as u64], ids)];
    assert_eq!(judged(ids(&[1.0, 2.0, 3.0]), ids(&[1.0, 3.0, 2.0]), &order).class, Class::Rank);
    assert_eq!(verdict(&judged(ids(&[1.0, 2.0]), ids(&[2.0, 1.0]), &order)), (Class::Flip, "real", true));
}

fn detected(boxes: &[[f64; 4]], values: &[f64], classes: &[f64]) -> Vec<Output> {
    let count = boxes.len() as u64;
    vec![
        output("boxes", DType::Fp32, &[count, 4], &boxes.concat()),
        output("classes", DType::Int64, &[count], classes),
        output("scores", DType::Fp32, &[count], values),
    ]
}

fn detector() -> Rules {
    toml::from_str("[[detections]]\nboxes = \"boxes\"\nscores = \"scores\"\nclasses = \"classes\"").unwrap()
}

const BOXES: [[f64; 4]; 3] = [[0.0, 0.0, 10.0, 10.0], [20.0, 0.0, 30.0, 10.0], [0.0, 20.0, 10.0, 30.0]];

#[test]
fn boxes_in_another_order_are_the_same_boxes() {
    let good = || detected(&BOXES, &[0.9, 0.8, 0.7], &[1.0, 1.0, 2.0]);
    let turned = detected(&[BOXES[2], BOXES[0], BOXES[1]], &[0.7, 0.9, 0.8], &[2.0, 1.0, 1.0]);
    let same = judged(good(), turned, &detector());
    assert_eq!((verdict(&same), same.bit_equal), ((Class::BitEqual, "", false), Some(true)));
    assert_eq!((same.measures.detection_f1, same.measures.mean_iou), (Some(1.0), Some(1.0)));
}

#[test]
fn shifted_lost_and_weak_boxes_are_told_apart() {
    let good = || detected(&BOXES, &[0.9, 0.8, 0.3], &[1.0, 1.0, 2.0]);
    let of = |bad: Vec<Output>| judged(good(), bad, &detector());
    let near =
        of(detected(&[[0.1, 0.0, 10.1, 10.0], BOXES[1], BOXES[2]], &[0.9, 0.8, 0.3], &[1.0, 1.0, 2.0]));
    assert_eq!(near.class, Class::WithinTol);
    let shifted =
        of(detected(&[[2.0, 0.0, 12.0, 10.0], BOXES[1], BOXES[2]], &[0.9, 0.8, 0.3], &[1.0, 1.0, 2.0]));
    assert_eq!((shifted.class, shifted.worst_output.as_deref()), (Class::Numeric, Some("boxes")));
    assert!(
        shifted.measures.mean_iou.is_some_and(|overlap| (overlap - (2.0 + 80.0 / 120.0) / 3.0).abs() < 1e-9)
    );
    let lost = of(detected(&BOXES[1..], &[0.8, 0.3], &[1.0, 2.0]));
    assert_eq!(verdict(&lost), (Class::Flip, "real:detections", true));
    // The weakest is lost like any other, unless it stands at the edge of what is listed.
    let weakest = detected(&BOXES[..2], &[0.9, 0.8], &[1.0, 1.0]);
    assert_eq!(verdict(&of(weakest.clone())), (Class::Flip, "real:detections", true));
    let mut edge = detector();
    edge.detections[0].threshold = Some(0.300_01);
    let found = judged(good(), weakest.clone(), &edge);
    assert_eq!(verdict(&found), (Class::Flip, "near_tie:detections", false));
    assert_eq!(verdict(&judged(weakest.clone(), good(), &edge)), (Class::Flip, "near_tie:detections", false));
    edge.detections[0].threshold = Some(0.25);
    assert_eq!(verdict(&judged(good(), weakest, &edge)), (Class::Flip, "real:detections", true));
    // Two of one score, of which the best two are listed: noise decides which.
    let tied = |last: [f64; 4]| detected(&[BOXES[0], BOXES[1], last], &[0.9, 0.3, 0.3], &[1.0, 1.0, 2.0]);
    let other = judged(tied(BOXES[2]), tied([60.0, 60.0, 70.0, 70.0]), &detector());
    assert_eq!(verdict(&other), (Class::Flip, "near_tie:detections", false));
    let class = of(detected(&BOXES, &[0.9, 0.8, 0.3], &[3.0, 1.0, 2.0]));
    assert_eq!(verdict(&class), (Class::Flip, "real:detections", true));
    let score = of(detected(&BOXES, &[0.9, 0.82, 0.3], &[1.0, 1.0, 2.0]));
    assert_eq!(score.class, Class::Numeric);
    let empty = of(detected(&[], &[], &[]));
    assert_eq!(verdict(&empty), (Class::Degenerate, "shadow_only:empty", true));
    let none = judged(detected(&[], &[], &[]), detected(&[], &[], &[]), &detector());
    assert_eq!(none.class, Class::BitEqual);
}

#[test]
fn a_broken_box_of_the_primary_is_the_primarys_and_hides_no_lost_box() {
    let nan = [f64::NAN; 4];
    let good = || detected(&BOXES, &[0.9, 0.8, 0.3], &[1.0, 1.0, 2.0]);
    let broken = |first: [f64; 4]| detected(&[first, BOXES[1], BOXES[2]], &[0.9, 0.8, 0.3], &[1.0, 1.0, 2.0]);
    let found = judged(broken(nan), good(), &detector());
    assert_eq!(verdict(&found), (Class::Degenerate, "primary_only:nan", false));
    let back = judged(good(), broken(nan), &detector());
    assert_eq!(verdict(&back), (Class::Degenerate, "shadow_only:nan", true));
    let lost = detected(&[BOXES[0], BOXES[2]], &[0.9, 0.3], &[1.0, 2.0]);
    assert_eq!(verdict(&judged(broken(nan), lost, &detector())), (Class::Flip, "real:detections", true));
}

#[test]
fn boxes_without_their_scores_are_a_difference_of_structure() {
    let good = detected(&BOXES, &[0.9, 0.8, 0.3], &[1.0, 1.0, 2.0]);
    let found = judged(good.clone(), good[..2].to_vec(), &detector());
    assert_eq!(verdict(&found), (Class::Structure, "missing:scores beside its detections", true));
    let short = detected(&BOXES, &[0.9, 0.8], &[1.0, 1.0]);
    assert_eq!(verdict(&judged(good, short, &detector())), (Class::Structure, "shape:boxes 3x4", true));
}

#[test]
fn the_scores_of_boxes_are_judged_like_any_scores() {
    let good = || detected(&BOXES, &[0.9, 0.8, 0.3], &[1.0, 1.0, 2.0]);
    let of = |scores: [f64; 3]| judged(good(), detected(&BOXES, &scores, &[1.0, 1.0, 2.0]), &detector());
    let nan = f64::NAN;
    for (scores, wanted) in [
        ([0.9, 0.8, 0.3], (Class::BitEqual, "", false)),
        ([0.900_001, 0.8, 0.3], (Class::WithinTol, "", false)),
        ([0.9, 0.79, 0.3], (Class::Numeric, "", false)),
        ([0.09, 0.08, 0.03], (Class::Gross, "ratio", true)),
        ([-0.9, 0.8, 0.3], (Class::Gross, "tolerance", true)),
        ([0.0, 0.0, 0.0], (Class::Degenerate, "shadow_only:all_zero", true)),
        ([nan, nan, nan], (Class::Degenerate, "shadow_only:nan", true)),
        ([0.9, nan, 0.3], (Class::Degenerate, "shadow_only:nan", true)),
    ] {
        let found = of(scores);
        assert_eq!(verdict(&found), wanted, "{scores:?}");
        let names_it = found.worst_output.as_deref() == Some("scores");
        assert!(names_it || found.class == Class::BitEqual, "{scores:?}: {:?}", found.worst_output);
    }
    let tenth = of([0.09, 0.08, 0.03]);
    assert!(tenth.log10_ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 1e-9));
    assert!(tenth.max_absolute.is_some_and(|difference| (difference - 0.81).abs() < 1e-6));
    let zero = of([0.0, 0.0, 0.0]);
    assert_eq!((zero.primary_degenerate.as_str(), zero.shadow_degenerate.as_str()), ("", "all_zero"));
    let none = judged(good(), detected(&[], &[], &[]), &detector());
    assert_eq!(verdict(&none), (Class::Degenerate, "shadow_only:empty", true));
    assert_eq!(none.shadow_degenerate, "empty");
}
