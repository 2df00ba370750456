//! Faults planted into a good answer, and what is said of each.

use super::*;
use crate::Kind;

const GOOD: [f64; 5] = [0.32, 0.30, 0.16, 0.145, 0.075];

/// What to do to the scores.
type Plant = fn(&mut Vec<f64>);

struct Case {
    name: &'static str,
    plant: Plant,
    class: Class,
    detail: &'static str,
    /// Index that is named.
    at: Option<u64>,
}

const CASES: [Case; 12] = [
    Case { name: "nothing", plant: |_| {}, class: Class::BitEqual, detail: "", at: None },
    Case {
        name: "one unit in the last place",
        plant: |v| v[1] = f64::from((0.30_f32).next_up()),
        class: Class::WithinTol,
        detail: "",
        at: Some(1),
    },
    Case { name: "drift", plant: |v| v[2] = 0.162, class: Class::Numeric, detail: "", at: Some(2) },
    Case {
        name: "one score ten times too large",
        plant: |v| v[4] = 0.75,
        class: Class::Gross,
        detail: "ratio",
        at: Some(4),
    },
    Case {
        name: "all ten times too large",
        plant: |v| v.iter_mut().for_each(|score| *score *= 10.0),
        class: Class::Gross,
        detail: "ratio",
        at: Some(0),
    },
    Case { name: "a sign", plant: |v| v[3] = -0.145, class: Class::Gross, detail: "tolerance", at: Some(3) },
    Case {
        name: "zeros",
        plant: |v| v.fill(0.0),
        class: Class::Degenerate,
        detail: "shadow_only:all_zero",
        at: Some(0),
    },
    Case {
        name: "mostly zeros",
        plant: |v| v[1..4].fill(0.0),
        class: Class::Degenerate,
        detail: "shadow_only:zeroed",
        at: Some(1),
    },
    Case {
        name: "nan",
        plant: |v| v[3] = f64::NAN,
        class: Class::Degenerate,
        detail: "shadow_only:nan",
        at: Some(3),
    },
    Case {
        name: "the two best swapped",
        plant: |v| v.swap(0, 1),
        class: Class::Flip,
        detail: "real",
        at: Some(0),
    },
    Case {
        name: "uniform",
        plant: |v| v.fill(0.2),
        class: Class::Degenerate,
        detail: "shadow_only:constant",
        at: Some(4),
    },
    Case {
        name: "order below the top",
        plant: |v| v.swap(2, 3),
        class: Class::Rank,
        detail: "",
        at: Some(0),
    },
];

#[test]
fn each_planted_fault_has_its_class_and_its_place() {
    for Case { name, plant, class, detail, at } in &CASES {
        let (good, mut bad) = (
            GOOD.map(|score| f64::from(score as f32)).to_vec(),
            GOOD.map(|score| f64::from(score as f32)).to_vec(),
        );
        plant(&mut bad);
        let found = pair(row(&good), row(&bad));
        assert_eq!((found.class, found.detail.as_str()), (*class, *detail), "{name}");
        assert_eq!(found.worst_index, *at, "{name}");
        assert_eq!(found.worst_row, at.map(|_| 0), "{name}");
    }
}

#[test]
fn each_planted_fault_shows_in_its_metric() {
    let of = |plant: Plant| {
        let mut bad = GOOD.to_vec();
        plant(&mut bad);
        pair(row(&GOOD), row(&bad))
    };
    let close =
        |found: Option<f64>, expected: f64| found.is_some_and(|found| (found - expected).abs() < 1e-9);
    let tenfold = of(|v| v.iter_mut().for_each(|score| *score *= 10.0));
    assert!(
        close(tenfold.log10_ratio, 1.0)
            && close(tenfold.cosine, 1.0)
            && close(tenfold.measures.norm_ratio, 10.0)
    );
    assert!(close(tenfold.measures.kendall_tau, 1.0) && close(tenfold.measures.l2_relative, 9.0));
    let swapped = of(|v| v.swap(0, 1));
    assert!(close(swapped.measures.kendall_tau, 0.8) && close(swapped.measures.rank_cost, 0.02));
    assert_eq!((swapped.argmax_flip, swapped.argmax_near_tie), (Some(true), Some(false)));
    let drift = of(|v| v[2] = 0.162);
    assert!(close(drift.measures.mean_absolute, 0.0004) && close(drift.fraction_beyond, 0.2));
    assert!(close(drift.measures.rmse, (0.002_f64 * 0.002 / 5.0).sqrt()));
    let zero = of(|v| v.fill(0.0));
    assert_eq!((zero.measures.norm_ratio, zero.symmetric_relative), (Some(0.0), Some(2.0)));
    let next = of(|v| v[1] = f64::from((0.3_f32).next_up().next_up()));
    assert_eq!(next.ulp_max, Some(2));
}

#[test]
fn a_fault_in_one_row_of_a_batch_names_the_row() {
    let batch = |values: Vec<f64>| output("score", DType::Fp32, &[3, 5], &values);
    let good = [GOOD, GOOD, GOOD].concat();
    let mut bad = good.clone();
    bad.swap(10, 11);
    let flipped = pair(batch(good.clone()), batch(bad));
    assert_eq!(verdict(&flipped), (Class::Flip, "real", true));
    assert_eq!((flipped.worst_row, flipped.worst_index), (Some(2), Some(10)));
    let mut bad = good.clone();
    bad[7] = 1.5;
    let gross = pair(batch(good), batch(bad));
    assert_eq!((gross.class, gross.worst_row, gross.worst_index), (Class::Gross, Some(1), Some(7)));
}

#[test]
fn a_swap_of_two_rows_turns_the_vectors_of_those_rows() {
    let rows = |a: [f64; 2], b: [f64; 2]| output("score", DType::Fp32, &[2, 2], &[a, b].concat());
    let swapped = pair(rows([1.0, 0.1], [0.1, 1.0]), rows([0.1, 1.0], [1.0, 0.1]));
    assert_eq!(swapped.class, Class::Gross);
    assert!(swapped.cosine.is_some_and(|cosine| cosine < 0.3));
}

#[test]
fn values_that_the_rules_exclude_are_degenerate() {
    let rule = OutputRule { range: Some([0.0, 1.0]), ..OutputRule::default() };
    let ranged = Rules { outputs: [("score".to_owned(), rule)].into(), ..Rules::default() };
    let outside = judged(vec![scores(&[0.9])], vec![scores(&[1.001])], &ranged);
    assert_eq!(verdict(&outside), (Class::Degenerate, "shadow_only:range", true));
    assert_eq!(judged(vec![scores(&[1.0])], vec![scores(&[1.000_000_5])], &ranged).class, Class::WithinTol);
    let rule = OutputRule { probabilities: Some(true), ..OutputRule::default() };
    let simplex = Rules { outputs: [("score".to_owned(), rule)].into(), ..Rules::default() };
    let of = |values: &[f64]| judged(vec![row(&GOOD)], vec![row(values)], &simplex);
    assert_eq!(
        verdict(&of(&[0.32, 0.30, 0.16, 0.145, 0.125])),
        (Class::Degenerate, "shadow_only:simplex", true)
    );
    let moved = of(&[0.325, 0.295, 0.16, 0.145, 0.075]);
    assert_eq!(moved.class, Class::Numeric);
    assert!(moved.measures.total_variation.is_some_and(|distance| (distance - 0.005).abs() < 1e-9));
    let top = f64::from(f32::MAX);
    let saturated = pair(row(&[0.5, 0.25]), row(&[0.5, top]));
    assert_eq!(verdict(&saturated), (Class::Degenerate, "shadow_only:saturated", true));
    let flushed = pair(
        output("score", DType::Fp16, &[1, 2], &[0.5, 0.25]),
        output("score", DType::Fp16, &[1, 2], &[1e-7, 2e-7]),
    );
    assert_eq!(verdict(&flushed), (Class::Degenerate, "shadow_only:tiny", true));
}

#[test]
fn one_step_of_a_quantised_output_is_rounding() {
    let rule = OutputRule { step: Some(1.0), ..OutputRule::default() };
    let rules = Rules { outputs: [("score".to_owned(), rule)].into(), ..Rules::default() };
    let of = |p: f64, s: f64| {
        let quantised = |value| vec![output("score", DType::Int8, &[1, 1], &[value])];
        judged(quantised(p), quantised(s), &rules)
    };
    assert_eq!(of(5.0, 6.0).class, Class::WithinTol);
    assert_eq!(verdict(&of(50.0, 52.0)), (Class::Numeric, "", false));
    assert_eq!(verdict(&of(5.0, 50.0)), (Class::Gross, "ratio", true));
    let rows = |p: &[f64], s: &[f64]| {
        let quantised =
            |values: &[f64]| vec![output("score", DType::Int8, &[1, values.len() as u64], values)];
        judged(quantised(p), quantised(s), &rules)
    };
    assert_eq!(verdict(&rows(&[50.0, 3.0], &[0.0, 0.0])), (Class::Degenerate, "shadow_only:all_zero", true));
    assert_eq!(verdict(&rows(&[50.0, 49.0], &[49.0, 50.0])), (Class::Flip, "near_tie", false));
    assert_eq!(verdict(&rows(&[50.0, 30.0], &[40.0, 45.0])), (Class::Flip, "real", true));
    // Of a dequantised output, a large value may not be off by more steps than a small one.
    let dequantised = |value: f64| vec![output("score", DType::Fp32, &[1, 1], &[value])];
    let tenth = OutputRule { step: Some(0.1), ..OutputRule::default() };
    let tenth = Rules { outputs: [("score".to_owned(), tenth)].into(), ..Rules::default() };
    assert_eq!(judged(dequantised(200.0), dequantised(200.25), &tenth).class, Class::Numeric);
    assert_eq!(judged(dequantised(200.0), dequantised(200.1), &tenth).class, Class::WithinTol);
}

#[test]
fn rounding_in_print_is_forgiven_where_a_server_rounds() {
    let printed = |value: f64, decimals, digits| Output {
        printed: Some(crate::Printed { decimals, digits }),
        ..scores(&[value])
    };
    let rounded = pair(printed(0.0123, 4, 3), printed(0.012_345_678_9, 10, 9));
    assert_eq!(rounded.class, Class::WithinTol);
    let exact = pair(printed(0.0123, 10, 9), printed(0.012_345_678_9, 10, 9));
    assert_eq!((exact.class, rounded.ulp_max, exact.ulp_max.is_some()), (Class::Numeric, None, true));
    // Short scores are no proof of rounding.
    assert_eq!(pair(printed(0.5, 1, 1), printed(0.54, 2, 2)).class, Class::Numeric);
}

#[test]
fn a_kind_that_only_one_side_has_is_a_difference_of_structure() {
    let embedding = Output { kind: Kind::Embedding, ..row(&[0.5, 0.5]) };
    let found = pair(row(&[0.5, 0.5]), embedding);
    assert_eq!(verdict(&found), (Class::Structure, "kind:score tensor/embedding", true));
}
