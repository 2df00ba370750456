//! What has no order, or has its own names, is the same in any order.

use proptest::prelude::*;

use super::*;
use crate::Kind;

/// A permutation of `count` places.
fn order(count: usize) -> impl Strategy<Value = Vec<usize>> {
    Just((0..count).collect::<Vec<_>>()).prop_shuffle()
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0_f64, proptest::sample::select(vec![0.0, 0.5, f64::NAN, f64::INFINITY])]
}

/// Boxes that may overlap, of two classes.
fn boxes(count: usize) -> impl Strategy<Value = Vec<([f64; 4], f64, f64)>> {
    let one = (0..4_u8, 0..4_u8, 1..3_u8, score(), 0..2_u8).prop_map(|(x, y, side, score, class)| {
        let (x, y, side) = (f64::from(x) * 3.0, f64::from(y) * 3.0, f64::from(side) * 4.0);
        ([x, y, x + side, y + side], score, f64::from(class))
    });
    proptest::collection::vec(one, count)
}

fn detected(found: &[([f64; 4], f64, f64)], order: &[usize]) -> Vec<Output> {
    let count = found.len() as u64;
    let corners: Vec<f64> = order.iter().flat_map(|at| found[*at].0).collect();
    let of = |value: fn(&([f64; 4], f64, f64)) -> f64| {
        order.iter().map(|at| value(&found[*at])).collect::<Vec<_>>()
    };
    vec![
        output("boxes", DType::Fp32, &[count, 4], &corners),
        output("classes", DType::Int64, &[count], &of(|found| found.2)),
        output("scores", DType::Fp32, &[count], &of(|found| found.1)),
    ]
}

fn ranking(items: &[(u8, f64)], order: &[usize]) -> Output {
    let (keys, values): (Vec<String>, Vec<f64>) =
        order.iter().map(|at| (format!("item {at}"), items[*at].1)).unzip();
    Output { kind: Kind::Ranking, keys, ..output("rank", DType::Fp32, &[values.len() as u64], &values) }
}

/// All of a divergence that does not say where.
fn said(found: Divergence) -> Divergence {
    Divergence { worst_index: None, worst_row: None, ..found }
}

proptest! {
    #[test]
    fn boxes_have_no_order(
        (p, s, one, other) in (1..6_usize, 1..6_usize).prop_flat_map(|(p, s)| (boxes(p), boxes(s), order(p), order(s)))
    ) {
        let rules: Rules = toml::from_str("[[detections]]\nboxes = \"boxes\"\nscores = \"scores\"\nclasses = \"classes\"").unwrap();
        let straight: [Vec<usize>; 2] = [(0..p.len()).collect(), (0..s.len()).collect()];
        let there = judged(detected(&p, &straight[0]), detected(&s, &straight[1]), &rules);
        let turned = judged(detected(&p, &one), detected(&s, &other), &rules);
        prop_assert_eq!(format!("{:?}", said(there)), format!("{:?}", said(turned)));
        let same = judged(detected(&p, &straight[0]), detected(&p, &one), &rules);
        prop_assert_eq!(verdict(&same), (Class::BitEqual, "", false));
    }

    #[test]
    fn a_ranking_is_in_the_order_of_its_scores(
        (p, s, one, other) in (1..7_usize).prop_flat_map(|count| {
            let items = || proptest::collection::vec((0..9_u8, 0.0..1.0_f64), count);
            (items(), items(), order(count), order(count))
        })
    ) {
        // Items of one score stand as they are listed.
        prop_assume!(p.iter().chain(&s).map(|(_, score)| score.to_bits()).collect::<std::collections::BTreeSet<_>>().len() == 2 * p.len());
        let straight: Vec<usize> = (0..p.len()).collect();
        let there = pair(ranking(&p, &straight), ranking(&s, &straight));
        let turned = pair(ranking(&p, &one), ranking(&s, &other));
        prop_assert_eq!(format!("{:?}", said(Divergence { bit_equal: None, ..there })), format!("{:?}", said(Divergence { bit_equal: None, ..turned })));
        let same = pair(ranking(&p, &straight), ranking(&p, &other));
        prop_assert!(same.class >= Class::WithinTol && !same.serious, "{:?}", same);
    }

    #[test]
    fn texts_tokens_and_vectors_are_equal_to_themselves_and_worse_than_nothing(
        words in proptest::collection::vec("[a-d ]{0,6}", 1..4),
        other in proptest::collection::vec("[a-d ]{0,6}", 1..4),
        vector in proptest::collection::vec(-1.0..1.0_f64, 1..9),
    ) {
        let kinds = |words: &[String], vector: &[f64]| {
            let text = |kind, name: &str| Output { kind, ..text(name, &words.iter().map(String::as_str).collect::<Vec<_>>()) };
            vec![
                Output { kind: Kind::Embedding, ..output("a", DType::Fp32, &[vector.len() as u64], vector) },
                text(Kind::Text, "b"),
                text(Kind::Reason, "c"),
            ]
        };
        let same = judged(kinds(&words, &vector), kinds(&words, &vector), &Rules::default());
        prop_assert_eq!(verdict(&same), (Class::BitEqual, "", false));
        let there = judged(kinds(&words, &vector), kinds(&other, &vector), &Rules::default());
        let back = judged(kinds(&other, &vector), kinds(&words, &vector), &Rules::default());
        prop_assert_eq!(there.bit_equal, Some(words == other));
        prop_assert_eq!(there.bit_equal, back.bit_equal);
        prop_assert_eq!(there.measures.edit_distance, back.measures.edit_distance);
        if words.len() != other.len() {
            prop_assert_eq!((there.class, back.class), (Class::Structure, Class::Structure));
        }
        let turned: Vec<f64> = vector.iter().map(|value| -value).collect();
        let opposed = judged(kinds(&words, &vector), kinds(&words, &turned), &Rules::default());
        prop_assert!(vector.iter().all(|value| *value == 0.0) || opposed.serious, "{:?}", opposed);
    }
}
