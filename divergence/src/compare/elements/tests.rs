use proptest::prelude::*;

use super::*;
use crate::compare::structure::testing::pair_of;
use crate::{DType, Rules};

/// Each element by itself, as the definitions say.
fn slowly(pair: &Pair<'_>) -> Elements {
    let mut elements = Elements { count: pair.primary.values.len(), ..Elements::default() };
    for (index, (p, c)) in pair.values().enumerate() {
        elements.add(pair, index, (p, c), (c - p).abs());
    }
    elements
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        20 => (-1000..1000_i32).prop_map(|value| f64::from(value) / 256.0),
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => proptest::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-30]),
    ]
}

proptest! {
    #[test]
    fn the_quick_loops_find_what_each_element_by_itself_gives(
        p in proptest::collection::vec(value(), 1..400),
        noise in proptest::collection::vec(prop_oneof![5 => Just(0.0), 3 => -0.01..0.01_f64, 1 => -9.0..9.0_f64], 400),
        float in any::<bool>(),
    ) {
        let c: Vec<f64> = p.iter().zip(&noise).map(|(p, noise)| if *noise == 0.0 { *p } else { p + noise }).collect();
        let dtype = if float { DType::Fp32 } else { DType::Int64 };
        let pair = pair_of(dtype, &[p.len() as u64, 1], &p, &c, &Rules::default());
        let (quick, slow) = (Elements::of(&pair), slowly(&pair));
        prop_assert_eq!((quick.count, quick.beyond, quick.finite), (slow.count, slow.beyond, slow.finite));
        prop_assert_eq!(quick.worst, slow.worst);
        prop_assert_eq!((quick.finite_beyond, quick.finite_worst), (slow.finite_beyond, slow.finite_worst));
        prop_assert_eq!(quick.max_absolute, slow.max_absolute);
        prop_assert_eq!(quick.max_relative, slow.max_relative);
        prop_assert_eq!(quick.symmetric_relative, slow.symmetric_relative);
        prop_assert_eq!(quick.log10_ratio, slow.log10_ratio);
        prop_assert_eq!((quick.sign_change, quick.ratio_beyond), (slow.sign_change, slow.ratio_beyond));
        let near = |one: f64, other: f64| one == other || (one - other).abs() <= 1e-9 * one.abs() || !one.is_finite();
        prop_assert!(near(quick.sums.pp, slow.sums.pp) && near(quick.sums.pc, slow.sums.pc) && near(quick.sums.absolute, slow.sums.absolute));
        let ulp = p.iter().zip(&c).filter_map(|(p, c)| ulp::distance(*p, *c, dtype)).max();
        prop_assert_eq!(quick.ulp_max, ulp);
    }
}

#[test]
fn a_cosine_is_that_of_a_row_and_of_all_where_a_row_is_one_score() {
    let of = |shape: &[u64], p: &[f64], c: &[f64]| {
        Elements::of(&pair_of(DType::Fp32, shape, p, c, &Rules::default())).cosine.unwrap()
    };
    let rows = of(&[2, 2], &[1.0, 0.0, 0.0, 9.0], &[0.0, 1.0, 0.0, 9.0]);
    assert_eq!(rows, 0.0);
    let column = of(&[4, 1], &[1.0, 0.0, 0.0, 9.0], &[0.0, 1.0, 0.0, 9.0]);
    assert!((column - 81.0 / 82.0).abs() < 1e-12);
    assert!((of(&[2], &[f64::MAX, f64::MAX], &[f64::MAX, 0.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
}
