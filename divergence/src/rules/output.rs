//! Rules of one output.

use serde::{Deserialize, Serialize};

use super::{RulesError, non_negative, number};
use crate::{DType, Kind};

/// How far an element may be off: |S − P| <= `atol` + `rtol`·|P|. The sum of both parts is tolerated, as in numpy and torch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Relative part, a fraction.
    pub rtol: f64,
    /// Absolute part, in the unit of the output.
    pub atol: f64,
}

impl Tolerance {
    /// No difference is tolerated.
    pub const EXACT: Self = Self { rtol: 0.0, atol: 0.0 };

    /// The tolerated difference from `value`.
    #[must_use]
    pub fn around(self, value: f64) -> f64 {
        self.atol + self.rtol * value.abs()
    }

    /// End-to-end defaults: two deployments of one model on different kernels or devices. Integers, booleans and text are exact.
    #[must_use]
    pub fn default_of(dtype: DType) -> Self {
        let (rtol, atol) = match dtype {
            DType::Fp64 => (1e-6, 1e-8),
            DType::Fp32 => (1e-3, 1e-5),
            DType::Fp16 => (1e-2, 1e-3),
            DType::Bf16 => (5e-2, 1e-2),
            _ => (0.0, 0.0),
        };
        Self { rtol, atol }
    }
}

/// What is special about one output.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputRule {
    /// What its elements are; what the protocol says when absent.
    pub kind: Option<Kind>,
    /// Relative tolerance; that of the type when absent.
    pub rtol: Option<f64>,
    /// Absolute tolerance; that of the type when absent.
    pub atol: Option<f64>,
    /// Score at or above which the caller decides otherwise: a pair on two sides of it is a [`Flip`](crate::Class::Flip).
    pub threshold: Option<f64>,
    /// Smallest and largest value that the model can give: anything outside (by more than the rounding of the type) is degenerate.
    pub range: Option<[f64; 2]>,
    /// Whether each row (last dimension) is one of probabilities: then its sum is judged, and distances are columns. When absent, the report of a
    /// pair has the distances where all rows of the primary are.
    pub probabilities: Option<bool>,
    /// Size of one step of a quantised output, which is a score whatever its type: ±1 step is rounding, so the tolerance is 1.01 steps
    /// and nothing relative unless one is given.
    pub step: Option<f64>,
}

impl OutputRule {
    pub(super) fn validate(&self, name: &str) -> Result<(), RulesError> {
        non_negative(&format!("outputs.{name}.rtol"), self.rtol.unwrap_or(0.0))?;
        non_negative(&format!("outputs.{name}.atol"), self.atol.unwrap_or(0.0))?;
        let threshold = self.threshold.unwrap_or(0.0);
        number(&format!("outputs.{name}.threshold"), threshold, threshold.is_finite(), "finite")?;
        let [low, high] = self.range.unwrap_or([0.0, 1.0]);
        number(&format!("outputs.{name}.range"), high, low < high, "two numbers, the smaller first")?;
        let step = self.step.unwrap_or(1.0);
        number(&format!("outputs.{name}.step"), step, step > 0.0 && step.is_finite(), "above 0")
    }
}
