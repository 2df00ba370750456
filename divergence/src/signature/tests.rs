use super::*;
use crate::{DType, Protocol};

fn answer(shape: &[u64], values: Vec<f64>) -> Decoded {
    let output = Output { values, ..Output::new("score", DType::Fp32, shape.to_vec()) };
    Decoded {
        protocol: Protocol::V2Json,
        model: None,
        model_version: None,
        outputs: vec![output],
        tree: None,
    }
}

fn of(answer: &Decoded) -> Signature {
    signature(answer, &Rules::default()).unwrap()
}

/// Numbers that look random and are the same everywhere.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let word = |index: usize| xxh3_64(&(seed ^ (index as u64) << 8).to_le_bytes());
    (0..count).map(|index| (word(index) >> 11) as f64 / (1_u64 << 53) as f64).collect()
}

#[test]
fn equal_answers_have_equal_signatures_and_noise_moves_the_projections_little() {
    let values = noise(1000, 1);
    let one = of(&answer(&[1000], values.clone()));
    assert_eq!(one, of(&answer(&[1000], values.clone())));
    let near = of(&answer(&[1000], values.iter().map(|value| value + 1e-6).collect()));
    assert_ne!(one.hash, near.hash);
    let far = of(&answer(&[1000], noise(1000, 2)));
    for k in 0..PROJECTIONS {
        assert!((one.projections[k] - near.projections[k]).abs() < 1e-4);
        assert!((one.projections[k] - far.projections[k]).abs() > 1e-3, "{k}");
    }
}

#[test]
fn the_values_do_not_change_between_releases() {
    let fixed = of(&answer(&[2, 3], vec![0.5, 0.25, 1.0, 2.0, -4.0, 8.0]));
    let root = 6.0_f64.sqrt();
    // Sums of ±1 times binary fractions: exact, so equal on every machine.
    let sums = fixed.projections.map(|projection| (projection * root * 4.0).round());
    assert_eq!(sums, EXPECTED);
    assert_eq!(format!("{:032x}", fixed.hash), HASH);
}

/// Computed by a program of its own from the description of the coefficients.
const EXPECTED: [f64; PROJECTIONS] = [-43.0, -45.0, -43.0, -57.0];
const HASH: &str = "fb62e2bf2e91d4a9eadef429f6ea4b84";

#[test]
fn a_row_has_its_value_wherever_it_stands() {
    let rows: Vec<Vec<f64>> = (0..4).map(|row| noise(300, row)).collect();
    let batch =
        |order: [usize; 4]| of(&answer(&[4, 300], order.iter().flat_map(|row| rows[*row].clone()).collect()));
    let (one, turned) = (batch([0, 1, 2, 3]), batch([1, 2, 3, 0]));
    assert_eq!(one.blocks.len(), 4);
    assert_eq!(turned.blocks, [one.blocks[1], one.blocks[2], one.blocks[3], one.blocks[0]]);
    assert_ne!(one.projections, turned.projections);
}

#[test]
fn a_long_answer_has_sixteen_blocks_and_a_short_one_as_many_as_elements() {
    assert_eq!(of(&answer(&[1_000_000], vec![1.0; 1_000_000])).blocks.len(), BLOCKS);
    assert_eq!(of(&answer(&[3], vec![1.0; 3])).blocks.len(), 3);
    assert!(of(&answer(&[100, 7], noise(700, 3))).blocks.len() <= BLOCKS);
}

#[test]
fn what_is_not_finite_is_left_out_of_the_projections_and_every_nan_is_one() {
    let with = |value| of(&answer(&[2], vec![0.5, value]));
    assert_eq!(with(f64::NAN).projections, with(0.0).projections);
    assert_eq!(with(f64::NAN).hash, with(-f64::NAN).hash);
    assert_ne!(with(f64::NAN).hash, with(f64::INFINITY).hash);
    assert_ne!(with(0.0).hash, with(-0.0).hash);
}

#[test]
fn texts_are_told_apart_and_nothing_has_no_signature() {
    let text = |text: &str| {
        let output = Output { text: vec![text.to_owned()], ..Output::new("t", DType::Bytes, vec![1]) };
        of(&Decoded { outputs: vec![output], ..answer(&[], vec![]) })
    };
    assert_eq!(text("a"), text("a"));
    assert_ne!(text("a").projections, text("b").projections);
    let none = Decoded { outputs: vec![], ..answer(&[], vec![]) };
    assert_eq!(signature(&none, &Rules::default()), None);
    let ignored = Rules { ignore: vec!["score".into()], ..Rules::default() };
    assert_eq!(signature(&answer(&[1], vec![1.0]), &ignored), None);
}
