//! Scores printed into text: Triton's classification extension (`class_count`) answers `SCORE:INDEX` or `SCORE:INDEX:LABEL` for
//! each of the best classes. Compared as text, the last digit of a score would be another decision.

use crate::{DType, Output};

/// Both outputs as numbers, when every element of both is of that form and they differ in nothing but scores.
pub(super) fn scores(primary: &Output, shadow: &Output) -> Option<(Output, Output)> {
    if primary.text.is_empty() || primary.text.len() != shadow.text.len() {
        return None;
    }
    let mut values = (Vec::new(), Vec::new());
    for (one, other) in primary.text.iter().zip(&shadow.text) {
        let ((one, class), (other, other_class)) = (entry(one)?, entry(other)?);
        if class != other_class {
            return None;
        }
        values.0.push(one);
        values.1.push(other);
    }
    Some((numbers(primary, values.0), numbers(shadow, values.1)))
}

/// The score, and the class as it is printed.
fn entry(text: &str) -> Option<(f64, &str)> {
    let (score, class) = text.split_once(':')?;
    let index = class.split(':').next()?;
    let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    score.parse().ok().filter(|_| is_index).map(|score| (score, class))
}

fn numbers(output: &Output, values: Vec<f64>) -> Output {
    Output { values, ..Output::new(output.name.clone(), DType::Fp32, output.shape.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_score_an_index_and_perhaps_a_label() {
        assert_eq!(entry("0.997527:0"), Some((0.997527, "0")));
        assert_eq!(entry("-1.5e-3:12:tabby: cat"), Some((-1.5e-3, "12:tabby: cat")));
        assert_eq!(entry("nan:1").map(|(score, _)| score.is_nan()), Some(true));
        for text in ["", ":", "0.5", "0.5:", "0.5:x", "x:1", "12-30", "a:1:2"] {
            assert_eq!(entry(text), None, "{text}");
        }
    }
}
