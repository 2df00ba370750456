//! Latency by percentile of both legs, in the manner of HdrHistogram: the further right, the rarer.

use super::frame::{Frame, round_ticks};
use crate::summary::{Latencies, LatencyRow, LoadRow, TargetSummary};
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
    let ticks = [
        (0.0, "p0"),
        (std::f64::consts::LOG10_2, "p50"),
        (1.0, "p90"),
        (2.0, "p99"),
        (3.0, "p99.9"),
        (4.0, "p99.99"),
    ];
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

/// Latency against load: median dashed, 99th percentile full, of both legs; linear.
pub(in crate::report) fn latency_by_load(target: &TargetSummary) -> String {
    type Pick = fn(&LatencyRow) -> Option<u64>;
    let quantiles: [(&str, &str, Pick); 2] =
        [("p50", "thin", |row| row.p50_us), ("p99", "", |row| row.p99_us)];
    let legs = [("s0", "primary"), ("s1", target.role.as_str())];
    let points = |leg: &str, pick: Pick| -> Vec<(f64, f64)> {
        let row = |load: &LoadRow| {
            let row = if leg == "s0" { &load.latency.primary } else { &load.latency.shadow };
            Some((load.inflight_mean, pick(row)? as f64))
        };
        target.loads.iter().filter_map(row).collect()
    };
    let (mut right, mut top) = (1.0_f64, 1.0_f64);
    for (_, _, pick) in quantiles {
        for (x, y) in legs.iter().flat_map(|(leg, _)| points(leg, pick)) {
            (right, top) = (right.max(x), top.max(y));
        }
    }
    let mut frame = Frame::new("latency against load", (0.0, right * 1.02), (0.0, top * 1.15));
    let ticks = round_ticks(frame.y).into_iter().map(|tick| (tick, text::latency(Some(tick as u64))));
    frame.y_ticks(&ticks.collect::<Vec<_>>(), "latency");
    let ticks = round_ticks(frame.x).into_iter().map(|tick| (tick, format!("{tick}")));
    frame.x_ticks(&ticks.collect::<Vec<_>>(), "requests in flight on the shadow's node (mean of the bin)");
    for (quantile, dashes, pick) in quantiles {
        for (class, leg) in legs {
            let points = points(class, pick);
            frame.line(&format!("{class} {dashes}"), &points);
            for point in &points {
                let told = format!(
                    "{leg} {quantile} at {:.1} in flight: {}",
                    point.0,
                    text::latency(Some(point.1 as u64))
                );
                frame.dot(class, 2.5, *point, &told);
            }
        }
    }
    frame.legend(&legs.map(|(class, name)| (class.to_owned(), name.to_owned())));
    frame.finish()
}

fn log(us: u64) -> f64 {
    (us.max(1) as f64).log10()
}

fn rarity(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}
