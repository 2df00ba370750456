//! Latency by percentile of both legs, in the manner of HdrHistogram: the further right, the rarer.

use super::frame::Frame;
use crate::summary::{Latencies, LatencyRow};
use crate::text;

/// The plot, over 1 − quantile and latency, both logarithmic.
pub(in crate::report) fn latency(latencies: &Latencies, shadow: &str) -> String {
    let legs = [("s0", "primary", &latencies.primary), ("s1", shadow, &latencies.shadow)];
    let values = || legs.iter().flat_map(|(_, _, row)| &row.curve_us).map(|us| log(*us));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let low = if low.is_finite() { low } else { 0.0 };
    let mut frame = Frame::new(
        "latency by percentile",
        (0.0, 4.0),
        ((low * 2.0).floor() / 2.0, high.max(low + 0.1) * 1.01 + 0.12),
    );
    let ticks = [(0.0, "p0"), (0.30103, "p50"), (1.0, "p90"), (2.0, "p99"), (3.0, "p99.9"), (4.0, "p99.99")];
    let ticks: Vec<(f64, String)> = ticks.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
    frame.x_ticks(&ticks, "percentile");
    let ticks: Vec<(f64, String)> = [1.0, 2.0, 5.0]
        .iter()
        .flat_map(|factor| (0..11).map(move |power| f64::from(power) + f64::log10(*factor)))
        .filter(|at| (frame.y.0..=frame.y.1).contains(at))
        .map(|at| (at, text::latency(Some(10f64.powf(at).round() as u64))))
        .collect();
    frame.y_ticks(&ticks, "latency");
    for (class, name, row) in &legs {
        let points: Vec<(f64, f64)> =
            LatencyRow::CURVE.iter().zip(&row.curve_us).map(|(q, us)| (rarity(*q), log(*us))).collect();
        if points.is_empty() {
            continue;
        }
        frame.line(class, &points);
        for ((quantile, us), point) in LatencyRow::CURVE.iter().zip(&row.curve_us).zip(&points) {
            let told = format!(
                "{name}: {} of answers within {}",
                text::percent(Some(*quantile)),
                text::latency(Some(*us))
            );
            frame.dot(class, 2.5, *point, &told);
        }
    }
    frame.legend(&legs.map(|(class, name, _)| (class.to_owned(), name.to_owned())));
    frame.finish()
}

fn log(us: u64) -> f64 {
    (us.max(1) as f64).log10()
}

fn rarity(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}
