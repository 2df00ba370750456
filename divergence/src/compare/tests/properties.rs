//! What holds for any two answers.

use proptest::prelude::*;

use super::*;

/// Values as they come and as they break: any bits, and the edges.
fn value() -> impl Strategy<Value = f64> {
    let edges = [0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
    prop_oneof![-10.0..10.0_f64, proptest::sample::select(edges.to_vec()), any::<f64>()]
}

fn tensor(rows: usize, columns: usize) -> impl Strategy<Value = Output> {
    let dtype = proptest::sample::select(DType::ALL[..13].to_vec());
    (dtype, proptest::collection::vec(value(), rows * columns))
        .prop_map(move |(dtype, values)| output("t", dtype, &[rows as u64, columns as u64], &values))
}

fn two() -> impl Strategy<Value = (Output, Output)> {
    (0..4_usize, 0..5_usize)
        .prop_flat_map(|(rows, columns)| (tensor(rows, columns), tensor(rows, columns)))
        .prop_map(|(one, other)| (one.clone(), Output { dtype: one.dtype, ..other }))
}

proptest! {
    #[test]
    fn an_answer_is_bit_equal_to_itself((one, _) in two()) {
        let same = pair(one.clone(), one);
        prop_assert_eq!(verdict(&same), (Class::BitEqual, "", false));
        prop_assert_eq!(same.bit_equal, Some(true));
        prop_assert_eq!(same.primary_degenerate, same.shadow_degenerate);
        prop_assert_eq!(same.tolerance_units.unwrap_or(0.0), 0.0);
        prop_assert_eq!(same.ulp_max.unwrap_or(0), 0);
    }

    #[test]
    fn symmetric_metrics_do_not_depend_on_the_side((one, other) in two()) {
        let there = pair(one.clone(), other.clone());
        let back = pair(other, one);
        prop_assert_eq!(there.max_absolute, back.max_absolute);
        prop_assert_eq!(there.symmetric_relative, back.symmetric_relative);
        prop_assert_eq!(there.log10_ratio, back.log10_ratio);
        prop_assert_eq!(there.cosine, back.cosine);
        prop_assert_eq!(there.bit_equal, back.bit_equal);
        prop_assert_eq!(there.argmax_flip, back.argmax_flip);
        prop_assert_eq!(there.primary_degenerate, back.shadow_degenerate);
    }

    #[test]
    fn metrics_are_numbers_within_their_ranges_and_the_class_follows_them((one, other) in two()) {
        let d = pair(one, other);
        let metrics = [d.tolerance_units, d.max_absolute, d.max_relative, d.log10_ratio];
        prop_assert!(metrics.iter().flatten().all(|metric| *metric >= 0.0));
        prop_assert!(d.symmetric_relative.is_none_or(|metric| (0.0..=2.0).contains(&metric)));
        prop_assert!(d.fraction_beyond.is_none_or(|share| (0.0..=1.0).contains(&share)));
        prop_assert!(d.cosine.is_none_or(|cosine| (-1.0..=1.0).contains(&cosine)));
        prop_assert!(d.ulp_max.is_none_or(|ulp| ulp >= 0));
        let units = d.tolerance_units.unwrap_or(0.0);
        match d.class {
            Class::BitEqual => prop_assert_eq!(d.bit_equal, Some(true)),
            Class::WithinTol => prop_assert!(units <= 1.0 && d.bit_equal == Some(false)),
            Class::Numeric | Class::Rank => prop_assert!(units > 1.0),
            _ => prop_assert_eq!(d.bit_equal, Some(false)),
        }
        prop_assert!(!d.serious || matches!(d.class, Class::Degenerate | Class::Gross | Class::Flip));
    }

    #[test]
    fn more_tolerance_never_makes_a_pair_worse((one, other) in two(), rtol in 0.0..0.5_f64, atol in 0.0..0.5_f64, more in 0.0..0.5_f64) {
        let with = |rtol, atol| {
            let rule = OutputRule { rtol: Some(rtol), atol: Some(atol), ..OutputRule::default() };
            let rules = Rules { outputs: [("t".to_owned(), rule)].into(), ..Rules::default() };
            judged(vec![one.clone()], vec![other.clone()], &rules)
        };
        let (tight, loose) = (with(rtol, atol), with(rtol + more, atol + more));
        prop_assert!(loose.tolerance_units.unwrap_or(0.0) <= tight.tolerance_units.unwrap_or(0.0));
        prop_assert!(loose.fraction_beyond.unwrap_or(0.0) <= tight.fraction_beyond.unwrap_or(0.0));
        prop_assert!(tight.class < Class::WithinTol || loose.class >= tight.class);
        prop_assert!(tight.serious || !loose.serious, "{:?} {:?}", verdict(&tight), verdict(&loose));
    }

    #[test]
    fn classes_are_the_same_from_both_sides_where_tolerances_are((one, other) in two(), atol in 0.0..0.5_f64, near in any::<bool>()) {
        let close = |(p, s): (&f64, &f64)| if near { p + (s - p).clamp(-atol, atol) / 2.0 } else { *s };
        let values = one.values.iter().zip(&other.values).map(close).collect();
        let other = Output { values, ..other };
        let rule = OutputRule { rtol: Some(0.0), atol: Some(atol), ..OutputRule::default() };
        let rules = Rules { outputs: [("t".to_owned(), rule)].into(), ..Rules::default() };
        let there = judged(vec![one.clone()], vec![other.clone()], &rules);
        let back = judged(vec![other], vec![one], &rules);
        prop_assert_eq!(there.tolerance_units, back.tolerance_units);
        prop_assert_eq!(there.fraction_beyond, back.fraction_beyond);
        prop_assert_eq!(there.sign_change, back.sign_change);
        if there.fraction_beyond.unwrap_or(0.0) == 0.0 {
            prop_assert_eq!(verdict(&there), verdict(&back));
        }
        let turned = |detail: &str| match detail.split_once(':') {
            Some(("shadow_only", sign)) => format!("primary_only:{sign}"),
            _ => detail.to_owned(),
        };
        // The shadow's fault, from the other side, is the primary's, or hides what is graver.
        if there.class == Class::Degenerate && there.serious && back.class == Class::Degenerate && !back.serious {
            prop_assert_eq!(turned(&there.detail), back.detail);
        }
    }

    #[test]
    fn another_structure_is_one_from_both_sides((one, _) in two(), name in "[a-c]", rows in 0..4_u64) {
        let other = Output { name, shape: vec![rows], values: vec![0.5; rows as usize], ..one.clone() };
        let there = pair(one.clone(), other.clone());
        let back = pair(other.clone(), one.clone());
        prop_assert_eq!(verdict(&there).0, Class::Structure);
        prop_assert_eq!((back.class, back.serious), (Class::Structure, true));
    }

    #[test]
    fn the_order_of_the_rows_of_a_batch_means_nothing((one, other) in two(), by in 0..4_usize) {
        let turned = |output: &Output| {
            let width = usize::try_from(output.shape[1]).unwrap().max(1);
            let mut rows: Vec<&[f64]> = output.values.chunks(width).collect();
            let middle = by % rows.len().max(1);
            rows.rotate_left(middle);
            Output { values: rows.concat(), ..output.clone() }
        };
        let (straight, turned) = (pair(one.clone(), other.clone()), pair(turned(&one), turned(&other)));
        prop_assert_eq!(verdict(&straight), verdict(&turned));
        prop_assert_eq!(straight.tolerance_units, turned.tolerance_units);
        prop_assert_eq!(straight.max_absolute, turned.max_absolute);
        prop_assert_eq!(straight.ulp_max, turned.ulp_max);
        prop_assert_eq!(straight.argmax_flip, turned.argmax_flip);
    }
}
