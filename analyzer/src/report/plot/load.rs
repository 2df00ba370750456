//! Serious divergence against load, with the interval as a ribbon.

use std::fmt::Write as _;

use super::frame::{Frame, round_ticks};
use crate::summary::Rate;
use crate::text::percent;

/// One line of the plot: mean in-flight count and rate of each bin.
pub(in crate::report) struct LoadLine {
    pub(in crate::report) name: String,
    pub(in crate::report) points: Vec<(f64, Rate)>,
}

/// The plot; `onsets` are marked.
pub(in crate::report) fn load(lines: &[LoadLine], onsets: &[u32]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let right = points().map(|(load, _)| *load).fold(1.0, f64::max);
    let top = points().filter_map(|(_, rate)| rate.upper).fold(1e-3, f64::max).min(1.0) * 1.12;
    let mut frame = Frame::new("rate of serious divergence against load", (0.0, right * 1.02), (0.0, top));
    let ticks = round_ticks(frame.y).into_iter().map(|tick| (tick, percent(Some(tick))));
    frame.y_ticks(&ticks.collect::<Vec<_>>(), "serious pairs");
    let ticks = round_ticks(frame.x).into_iter().map(|tick| (tick, format!("{tick}")));
    frame.x_ticks(
        &ticks.collect::<Vec<_>>(),
        "most requests on the node at once during the pair (mean of the bin)",
    );
    for (index, line) in lines.iter().enumerate() {
        let class = format!("s{}", index % 4);
        let known: Vec<(f64, f64, f64, f64)> = line
            .points
            .iter()
            .filter_map(|(load, rate)| Some((*load, rate.rate?, rate.lower?, rate.upper?)))
            .collect();
        let edge = |points: &mut dyn Iterator<Item = (f64, f64)>| {
            points
                .map(|(x, y)| format!("{:.1},{:.1}", frame.at_x(x), frame.at_y(y)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let upper = edge(&mut known.iter().map(|point| (point.0, point.3)));
        let lower = edge(&mut known.iter().rev().map(|point| (point.0, point.2)));
        frame.push(&format!("<polygon class=\"ribbon {class}\" points=\"{upper} {lower}\"/>"));
        frame.line(&class, &known.iter().map(|point| (point.0, point.1)).collect::<Vec<_>>());
        for (load, rate) in line.points.iter().filter(|(_, rate)| rate.trials > 0) {
            let told = format!("{}: {load:.1} at once, {}", line.name, rate.text());
            frame.dot(&class, 3.5, (*load, rate.rate.unwrap_or(0.0)), &told);
        }
    }
    for onset in onsets {
        mark(&mut frame, *onset);
    }
    let named = lines.iter().enumerate().map(|(index, line)| (format!("s{}", index % 4), line.name.clone()));
    frame.legend(&named.collect::<Vec<_>>());
    frame.finish()
}

fn mark(frame: &mut Frame, onset: u32) {
    let (x, top, bottom) = (frame.at_x(f64::from(onset)), frame.at_y(frame.y.1), frame.at_y(0.0));
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/>\
         <text class=\"marked\" x=\"{:.1}\" y=\"{:.1}\">onset {onset}</text>",
        top + 22.0,
        x + 5.0,
        top + 36.0
    );
    frame.push(&svg);
}
