//! Outputs that belong together: rankings and detections.

use serde::{Deserialize, Serialize};

use super::{RulesError, number};

/// Two outputs of one ranking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankingRule {
    /// Output of the ids, best first (integers or text).
    pub ids: String,
    /// Output of their scores, in the same order; without one, only the order counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<String>,
}

impl RankingRule {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        [Some(self.ids.as_str()), self.scores.as_deref()].into_iter().flatten()
    }
}

/// How a box is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxFormat {
    /// Two opposite corners: x1, y1, x2, y2 (or y1, x1, y2, x2).
    #[default]
    Corners,
    /// One corner and the size: x, y, width, height.
    Size,
    /// The middle and the size: x, y, width, height.
    Center,
}

/// Outputs of one detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetectionRule {
    /// Output of the boxes: `[n, 4]`, or `[images, n, 4]`.
    pub boxes: String,
    /// Output of their scores: `[n]`, or `[images, n]`.
    pub scores: String,
    /// Output of their classes, of the shape of the scores (integers, floats or text); one class without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<String>,
    /// How the boxes are written.
    #[serde(default)]
    pub format: BoxFormat,
    /// Boxes of one class that overlap at least so much (intersection over union) are one.
    #[serde(default = "half")]
    pub iou: f64,
    /// The score below which the servers list no box: one that only one side lists is a near tie within tolerance of it. Without it, the
    /// lowest score that both sides list takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

fn half() -> f64 {
    0.5
}

impl DetectionRule {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        [Some(self.boxes.as_str()), Some(&self.scores), self.classes.as_deref()].into_iter().flatten()
    }

    pub(super) fn validate(&self) -> Result<(), RulesError> {
        let field = format!("detections.{}.iou", self.boxes);
        number(&field, self.iou, self.iou > 0.0 && self.iou <= 1.0, "above 0 and at most 1")?;
        let field = format!("detections.{}.threshold", self.boxes);
        self.threshold.map_or(Ok(()), |value| number(&field, value, value.is_finite(), "a finite number"))
    }
}
