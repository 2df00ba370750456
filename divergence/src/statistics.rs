//! What the numbers of one answer are like, for questions that are asked of many answers without their values.

use crate::compare::compared_outputs;
use crate::metric::decision;
use crate::profile::Profile;
use crate::{Decoded, Kind, Rules};

/// Counts and extremes over the numeric elements of an answer's compared outputs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    /// Elements that are NaN (`null` included).
    pub nan: u64,
    /// Infinite elements.
    pub infinite: u64,
    /// Elements that are 0, of either sign.
    pub zero: u64,
    /// Smallest finite element of the floating outputs.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Arithmetic mean of the finite elements of the floating outputs.
    pub mean: Option<f64>,
    /// Euclidean norm of the same.
    pub l2: Option<f64>,
    /// Index of the largest element of the first row (last dimension) of the first floating output that has rows of two or more.
    pub argmax: Option<u64>,
}

/// Looks at the outputs that the rules compare. Log probabilities of alternatives are left out: they are filled up with −∞.
#[must_use]
pub fn statistics(answer: &Decoded, rules: &Rules) -> Statistics {
    let mut found = Statistics::default();
    let (mut count, mut sum, mut square) = (0_usize, 0.0, 0.0);
    let compared = compared_outputs(answer, rules);
    for output in compared.iter().filter(|output| output.kind != Kind::Logprobs || output.shape.len() < 2) {
        let profile = Profile::of(output);
        found.nan += profile.nan as u64;
        found.infinite += profile.infinite as u64;
        found.zero += profile.zero as u64;
        if !output.dtype.is_float() || profile.low > profile.high {
            continue;
        }
        found.min = Some(found.min.map_or(profile.low, |known| known.min(profile.low)));
        found.max = Some(found.max.map_or(profile.high, |known| known.max(profile.high)));
        for value in output.values.iter().filter(|value| value.is_finite()) {
            count += 1;
            sum += value;
            square += value * value;
        }
        let width = output.shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0);
        if found.argmax.is_none() && width >= 2 {
            found.argmax = output.values.get(..width).and_then(decision::argmax).map(|index| index as u64);
        }
    }
    let finite = |value: f64| (count > 0 && value.is_finite()).then_some(value);
    found.mean = finite(sum / count.max(1) as f64);
    found.l2 = finite(f64::sqrt(square));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Output, Protocol};

    fn of(outputs: Vec<Output>) -> Statistics {
        let answer =
            Decoded { protocol: Protocol::V2Json, model: None, model_version: None, outputs, tree: None };
        statistics(&answer, &Rules::default())
    }

    fn output(dtype: DType, values: &[f64]) -> Output {
        Output { values: values.to_vec(), ..Output::new("x", dtype, vec![values.len() as u64]) }
    }

    #[test]
    fn labels_are_counted_and_scores_measured() {
        let found = of(vec![
            output(DType::Int64, &[7.0, 0.0]),
            output(DType::Fp32, &[3.0, f64::NAN, -4.0, f64::INFINITY, 0.0]),
        ]);
        assert_eq!((found.nan, found.infinite, found.zero), (1, 1, 2));
        assert_eq!((found.min, found.max), (Some(-4.0), Some(3.0)));
        assert_eq!((found.l2, found.argmax), (Some(5.0), None));
        assert!(found.mean.is_some_and(|mean| (mean + 1.0 / 3.0).abs() < 1e-12));
        assert_eq!(of(vec![output(DType::Fp32, &[0.1, 0.7, 0.2])]).argmax, Some(1));
    }

    #[test]
    fn an_answer_without_scores_has_none() {
        assert_eq!(of(vec![]), Statistics::default());
        assert_eq!(
            of(vec![output(DType::Fp32, &[f64::NAN])]),
            Statistics { nan: 1, ..Statistics::default() }
        );
    }
}
