//! Tolerances from noise: what two deployments of one version differ by must pass.
//!
//! Fed with pairs of a primary and its control (never of a candidate: its faults would widen the tolerance that is to find them), it gives each
//! output max(tolerance, 3 × the 99.9 % quantile of its deviation).

use std::collections::BTreeMap;

use crate::compare::tolerance_units_of;
use crate::{Class, Decoded, Rules, Side, compare};

/// Quantile of the deviation that is taken as noise.
pub const QUANTILE: f64 = 0.999;

/// How many times the noise is tolerated.
pub const MARGIN: f64 = 3.0;

/// Largest factor on a tolerance that is given without being asked for.
pub const MOST: f64 = 10.0;

/// Fewest elements that a quantile is taken of.
pub const LEAST_ELEMENTS: u64 = 1000;

/// Buckets of a factor of 2^(1/16): a quantile is off by at most 4.5 %, and never too small.
const PER_OCTAVE: f64 = 16.0;

/// Log₂ of the deviations that the first and the last bucket end at.
const RANGE: (f64, f64) = (-32.0, 32.0);

/// What has been seen of the noise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    outputs: BTreeMap<String, Deviations>,
}

/// What became of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// So many elements were measured.
    Elements(u64),
    /// Nothing was: why not.
    LeftOut(String),
}

/// Deviations of one output, in units of its tolerance.
#[derive(Debug, Clone, Default, PartialEq)]
struct Deviations {
    count: u64,
    buckets: BTreeMap<i32, u64>,
    /// Beyond all buckets: not finite on one side, or different where nothing is tolerated.
    infinite: u64,
}

/// Why there are no calibrated rules.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum CalibrateError {
    /// Too little was seen.
    #[error(
        "output `{output}`: {elements} elements are too few to calibrate by: give at least {LEAST_ELEMENTS}"
    )]
    TooFew {
        /// Name of the output.
        output: String,
        /// Elements seen.
        elements: u64,
    },
    /// The noise is larger than a tolerance should be.
    #[error(
        "output `{output}`: its noise needs {factor:.1} times the tolerance, more than {MOST}: find out why, or accept it"
    )]
    TooNoisy {
        /// Name of the output.
        output: String,
        /// Factor that would be needed.
        factor: f64,
    },
    /// Nothing was seen.
    #[error("no floating output in any pair: nothing to calibrate")]
    Nothing,
}

impl Calibration {
    /// Adds the floating outputs of a pair of answers that come from one version, the scores of matched boxes among them. Left out are pairs
    /// whose structure differs or of which a side is degenerate (that is a fault, not noise), JSON of no known shape (its tolerances are by
    /// path), and embeddings, which are compared by direction and length.
    pub fn add(&mut self, primary: &Decoded, control: &Decoded, rules: &Rules) -> Added {
        let found = compare(Side::Outputs(primary), Side::Outputs(control), rules);
        if matches!(found.class, Class::Structure | Class::Incomparable | Class::Degenerate) {
            return Added::LeftOut(format!("{} ({})", found.class, found.detail));
        }
        if primary.tree.is_some() {
            let what = "JSON of no known shape: name its scores by json_paths, or set json.tolerances";
            return Added::LeftOut(what.to_owned());
        }
        let mut elements = 0;
        for (output, units) in tolerance_units_of(primary, control, rules) {
            elements += units.len() as u64;
            let deviations = self.outputs.entry(output).or_default();
            units.into_iter().for_each(|units| deviations.add(units));
        }
        match elements {
            0 => Added::LeftOut("no floating output that has a tolerance of its own".to_owned()),
            elements => Added::Elements(elements),
        }
    }

    /// Adds what another has seen.
    pub fn merge(&mut self, other: &Self) {
        for (output, deviations) in &other.outputs {
            self.outputs.entry(output.clone()).or_default().merge(deviations);
        }
    }

    /// The factor on the tolerance of each output: 1 where it is wide enough, infinite where no tolerance is.
    #[must_use]
    pub fn factors(&self) -> BTreeMap<&str, f64> {
        let factor = |deviations: &Deviations| (MARGIN * deviations.quantile()).max(1.0);
        self.outputs.iter().map(|(output, deviations)| (output.as_str(), factor(deviations))).collect()
    }

    /// `rules` with the tolerances of the outputs widened, both parts by the same factor. `answer` is any one of those that were added: it has
    /// the types of the outputs.
    ///
    /// # Errors
    /// When nothing or too little was seen, or an output needs more than [`MOST`] times its tolerance and `accept_noise` is not set.
    pub fn rules(
        &self,
        answer: &Decoded,
        rules: &Rules,
        accept_noise: bool,
    ) -> Result<Rules, CalibrateError> {
        if self.outputs.is_empty() {
            return Err(CalibrateError::Nothing);
        }
        let mut widened = rules.clone();
        let declared = answer.protocol.declares_types();
        for (name, factor) in self.factors() {
            let elements = self.outputs[name].count;
            if elements < LEAST_ELEMENTS {
                return Err(CalibrateError::TooFew { output: name.to_owned(), elements });
            }
            if factor > MOST && (!accept_noise || factor.is_infinite()) {
                return Err(CalibrateError::TooNoisy { output: name.to_owned(), factor });
            }
            let Some(output) = answer.outputs.iter().find(|output| output.name == name) else { continue };
            if factor > 1.0 {
                let tolerance = rules.tolerance(name, output.dtype, declared);
                let rule = widened.outputs.entry(name.to_owned()).or_default();
                (rule.rtol, rule.atol) = (Some(tolerance.rtol * factor), Some(tolerance.atol * factor));
            }
        }
        Ok(widened)
    }
}

impl Deviations {
    fn add(&mut self, units: f64) {
        self.count += 1;
        let octave = units.log2();
        if units.is_nan() || octave >= RANGE.1 {
            self.infinite += 1;
        } else {
            // The bucket's upper end.
            *self.buckets.entry((octave.max(RANGE.0) * PER_OCTAVE).ceil() as i32).or_insert(0) += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.infinite += other.infinite;
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_insert(0) += count;
        }
    }

    fn quantile(&self) -> f64 {
        let rank = (self.count as f64 * QUANTILE).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return (f64::from(*bucket) / PER_OCTAVE).exp2();
            }
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Output, Protocol, Side, compare};

    fn answer(values: Vec<f64>) -> Decoded {
        let output = Output { values, ..Output::new("score", DType::Fp32, vec![2000]) };
        Decoded {
            protocol: Protocol::V2Json,
            model: None,
            model_version: None,
            outputs: vec![output],
            tree: None,
        }
    }

    /// 2000 scores, each off by `off` of itself.
    fn pair(off: f64) -> (Decoded, Decoded) {
        let values: Vec<f64> = (0..2000).map(|index| 0.5 + f64::from(index) / 4000.0).collect();
        (answer(values.clone()), answer(values.iter().map(|value| value * (1.0 + off)).collect()))
    }

    #[test]
    fn noise_below_a_third_of_the_tolerance_changes_nothing() {
        let (primary, control) = pair(1e-4);
        let mut calibration = Calibration::default();
        calibration.add(&primary, &control, &Rules::default());
        assert_eq!(calibration.rules(&primary, &Rules::default(), false), Ok(Rules::default()));
    }

    #[test]
    fn noise_above_it_widens_the_tolerance_until_it_passes() {
        let (primary, control) = pair(2e-3);
        let rules = Rules::default();
        let mut calibration = Calibration::default();
        calibration.add(&primary, &control, &rules);
        let widened = calibration.rules(&primary, &rules, false).unwrap();
        let rule = widened.output("score");
        assert!(rule.rtol.is_some_and(|rtol| (5.5e-3..7e-3).contains(&rtol)), "{rule:?}");
        let judged =
            |rules: &Rules| compare(Side::Outputs(&primary), Side::Outputs(&control), rules).tolerance_units;
        assert!(judged(&rules) > Some(1.9) && judged(&widened) < Some(0.35));
    }

    #[test]
    fn more_noise_than_ten_tolerances_is_refused_unless_accepted() {
        let (primary, control) = pair(8e-3);
        let rules = Rules::default();
        let mut calibration = Calibration::default();
        calibration.add(&primary, &control, &rules);
        assert!(matches!(calibration.rules(&primary, &rules, false), Err(CalibrateError::TooNoisy { .. })));
        assert!(calibration.rules(&primary, &rules, true).is_ok());
    }

    #[test]
    fn what_is_a_fault_is_no_noise() {
        let (primary, control) = pair(1e-4);
        let rules = Rules::default();
        let mut calibration = Calibration::default();
        let left = |added: Added| match added {
            Added::LeftOut(why) => why,
            Added::Elements(elements) => panic!("{elements} elements were taken"),
        };
        let (_, wrong) = pair(f64::INFINITY);
        assert_eq!(left(calibration.add(&primary, &wrong, &rules)), "DEGENERATE (shadow_only:inf)");
        let zero = answer(vec![0.0; 2000]);
        assert_eq!(left(calibration.add(&zero, &control, &rules)), "DEGENERATE (primary_only:all_zero)");
        let other = Decoded { outputs: vec![Output::new("other", DType::Fp32, vec![0])], ..primary.clone() };
        assert!(left(calibration.add(&primary, &other, &rules)).starts_with("STRUCTURE"));
        let tree = |text: &'static str| {
            let tree = crate::Json::parse(text.as_bytes(), 10).unwrap();
            Decoded { protocol: Protocol::Json, outputs: vec![], tree: Some(tree), ..primary.clone() }
        };
        let (one, two) = (tree(r#"{"s":0.5}"#), tree(r#"{"s":0.6}"#));
        assert!(left(calibration.add(&one, &two, &rules)).contains("json.tolerances"));
        let words = Decoded { outputs: vec![Output::new("n", DType::Int64, vec![0])], ..primary.clone() };
        assert!(left(calibration.add(&words, &words, &rules)).contains("no floating output"));
        assert_eq!(calibration.rules(&primary, &rules, true), Err(CalibrateError::Nothing));
        assert_eq!(calibration.add(&primary, &control, &rules), Added::Elements(2000));
    }

    #[test]
    fn the_scores_of_boxes_are_calibrated_as_they_are_matched() {
        let text = "[[detections]]\nboxes = \"boxes\"\nscores = \"scores\"";
        let rules: Rules = toml::from_str(text).unwrap();
        let corners: Vec<[f64; 4]> =
            (0..1000).map(|index| f64::from(index) * 20.0).map(|x| [x, 0.0, x + 10.0, 10.0]).collect();
        let detected = |off: f64, turned: bool| {
            let mut found: Vec<(f64, [f64; 4])> = (0..1000)
                .map(|index| 0.3 + f64::from(index) / 2000.0)
                .map(|score| score * (1.0 + off))
                .zip(corners.clone())
                .collect();
            if turned {
                found.reverse();
            }
            let (scores, boxes): (Vec<f64>, Vec<[f64; 4]>) = found.into_iter().unzip();
            let outputs = vec![
                Output { values: boxes.concat(), ..Output::new("boxes", DType::Fp32, vec![1000, 4]) },
                Output { values: scores, ..Output::new("scores", DType::Fp32, vec![1000]) },
            ];
            Decoded { outputs, ..answer(vec![]) }
        };
        let mut calibration = Calibration::default();
        let added = calibration.add(&detected(0.0, false), &detected(2e-3, true), &rules);
        assert_eq!(added, Added::Elements(1000));
        let widened = calibration.rules(&detected(0.0, false), &rules, false).unwrap();
        assert!(widened.output("scores").rtol.is_some_and(|rtol| (5.5e-3..7e-3).contains(&rtol)));
        assert_eq!(widened.output("boxes").rtol, None);
    }

    #[test]
    fn too_little_is_refused_and_parts_merge_to_the_whole() {
        let (primary, control) = pair(1e-3);
        let cut = |answer: &Decoded| {
            let mut answer = answer.clone();
            answer.outputs[0].values.truncate(10);
            answer.outputs[0].shape = vec![10];
            answer
        };
        let rules = Rules::default();
        let mut few = Calibration::default();
        assert_eq!(few.rules(&primary, &rules, false), Err(CalibrateError::Nothing));
        few.add(&cut(&primary), &cut(&control), &rules);
        assert!(matches!(
            few.rules(&primary, &rules, false),
            Err(CalibrateError::TooFew { elements: 10, .. })
        ));
        let (mut whole, mut part) = (Calibration::default(), Calibration::default());
        for into in [&mut whole, &mut part] {
            into.add(&primary, &control, &rules);
        }
        whole.add(&cut(&primary), &cut(&control), &rules);
        part.merge(&few);
        assert_eq!(whole, part);
    }
}
