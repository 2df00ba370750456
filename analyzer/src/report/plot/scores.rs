//! Scores of the primary against those of the shadow: equal ones lie on the diagonal, ten times too large ones on a line
//! beside it, zeros on the floor, those of other requests anywhere.

use super::frame::{Frame, round_ticks};
use crate::summary::{ScorePoint, TargetSummary};
use crate::text::significant;

/// Decades shown below the largest score when the axes are logarithmic.
const DECADES: f64 = 6.0;

/// Maps scores to an axis: logarithmic where none is negative, with all that is smaller than the range on its floor.
struct Axis {
    logarithmic: bool,
    floor: f64,
}

impl Axis {
    fn of<'a>(points: impl Iterator<Item = &'a ScorePoint> + Clone) -> Self {
        let values = || points.clone().flat_map(|point| [point.primary, point.shadow]);
        let most = values().fold(0.0, f64::max);
        let least = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let logarithmic = most > 0.0 && values().all(|value| value >= 0.0);
        let floor = if logarithmic { (least.log10().floor() - 0.5).max(most.log10() - DECADES) } else { 0.0 };
        Self { logarithmic, floor }
    }

    fn at(&self, value: f64) -> f64 {
        if !self.logarithmic {
            value
        } else if value > 0.0 {
            value.log10().max(self.floor)
        } else {
            self.floor
        }
    }

    fn ticks(&self, range: (f64, f64)) -> Vec<(f64, String)> {
        if !self.logarithmic {
            return round_ticks(range).into_iter().map(|tick| (tick, significant(tick))).collect();
        }
        let powers = (range.0.ceil() as i32)..=(range.1.floor() as i32);
        let mut ticks: Vec<(f64, String)> =
            powers.map(|power| (f64::from(power), significant(10f64.powi(power)))).collect();
        ticks.insert(0, (self.floor, "0".into()));
        ticks
    }
}

/// The plot of the bounded samples of the target.
pub(in crate::report) fn scores(target: &TargetSummary) -> String {
    let points = || target.other_scores.iter().chain(&target.serious_scores);
    let axis = Axis::of(points());
    let values = || points().flat_map(|point| [axis.at(point.primary), axis.at(point.shadow)]);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let (low, high) = if low.is_finite() { (low, high) } else { (0.0, 1.0) };
    let room = (high - low).max(1e-9) * 0.06;
    let range = (low - room, high + room * 3.0);
    let mut frame = Frame::new("scores of both answers", range, range);
    let ticks = axis.ticks((low, high));
    frame.x_ticks(&ticks, "first score of the primary");
    frame.y_ticks(&ticks, &format!("first score of the {}", target.role));
    frame.line("diagonal", &[(low, low), (high, high)]);
    for (class, sample) in [("quiet", &target.other_scores), ("bad", &target.serious_scores)] {
        for point in sample {
            let told = format!(
                "{}: {} against {}",
                point.class,
                significant(point.primary),
                significant(point.shadow)
            );
            frame.dot(class, 2.6, (axis.at(point.primary), axis.at(point.shadow)), &told);
        }
    }
    frame.legend(&[("quiet".into(), "not serious".into()), ("bad".into(), "serious".into())]);
    frame.finish()
}
