use super::*;
use crate::{DType, Output, OutputRule, Protocol, Tolerance};

mod adversarial;
mod classes;
mod degeneration;
mod grouped;
mod kinds;
mod permutations;
mod planted;
mod properties;

fn output(name: &str, dtype: DType, shape: &[u64], values: &[f64]) -> Output {
    Output { values: values.to_vec(), ..Output::new(name, dtype, shape.to_vec()) }
}

fn text(name: &str, items: &[&str]) -> Output {
    let text = items.iter().map(|item| (*item).to_owned()).collect();
    Output { text, ..Output::new(name, DType::Bytes, vec![items.len() as u64]) }
}

fn scores(values: &[f64]) -> Output {
    output("score", DType::Fp32, &[values.len() as u64, 1], values)
}

fn row(values: &[f64]) -> Output {
    output("score", DType::Fp32, &[1, values.len() as u64], values)
}

fn answer(outputs: Vec<Output>) -> Decoded {
    Decoded { protocol: Protocol::V2Json, model: None, model_version: None, outputs, tree: None }
}

fn judged(primary: Vec<Output>, shadow: Vec<Output>, rules: &Rules) -> Divergence {
    compare(Side::Outputs(&answer(primary)), Side::Outputs(&answer(shadow)), rules)
}

fn pair(primary: Output, shadow: Output) -> Divergence {
    judged(vec![primary], vec![shadow], &Rules::default())
}

fn verdict(divergence: &Divergence) -> (Class, &str, bool) {
    (divergence.class, &divergence.detail, divergence.serious)
}
