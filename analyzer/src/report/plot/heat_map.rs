//! Serious divergence by node and load.

use std::fmt::Write as _;

use super::frame::{WIDTH, escape, tail};
use crate::summary::TargetSummary;
use crate::text::{percent, range};

const SHOWN: usize = 24;
const ROW: f64 = 34.0;
const NAME: f64 = 170.0;
const FOOT: f64 = 44.0;

/// The plot: one row per node, one column per load bin; the deeper, the higher the rate (by its square root).
pub(in crate::report) fn heat_map(target: &TargetSummary) -> String {
    let shown = target.nodes.len().min(SHOWN);
    let columns = target.loads.len().max(1);
    let width = (WIDTH - NAME - 8.0) / columns as f64;
    let height = ROW * shown as f64 + FOOT;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"rate of serious divergence by node and load\">"
    );
    for (row, (node, rates)) in target.nodes.iter().zip(&target.heat).take(SHOWN).enumerate() {
        let y = ROW * row as f64;
        let _ = write!(
            svg,
            "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            NAME - 10.0,
            y + ROW / 2.0 + 4.0,
            escape(&tail(&node.node, 24))
        );
        for (column, (rate, load)) in rates.iter().zip(&target.loads).enumerate() {
            let x = NAME + width * column as f64;
            let depth = rate.rate.unwrap_or(0.0).sqrt();
            let told = format!(
                "{}, {} in flight: {}",
                node.node,
                range(load.inflight_from, load.inflight_to),
                rate.text()
            );
            let written = if depth > 0.62 { "on" } else { "off" };
            let _ = write!(
                svg,
                "<g><title>{}</title><rect class=\"cell\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>\
                 <rect class=\"heat\" fill-opacity=\"{depth:.3}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>\
                 <text class=\"in-cell {written}\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                escape(&told),
                x + 1.5,
                y + 1.5,
                width - 3.0,
                ROW - 3.0,
                x + 1.5,
                y + 1.5,
                width - 3.0,
                ROW - 3.0,
                x + width / 2.0,
                y + ROW / 2.0 + 4.0,
                percent(rate.rate)
            );
        }
    }
    for (column, load) in target.loads.iter().enumerate() {
        let _ = write!(
            svg,
            "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            NAME + width * (column as f64 + 0.5),
            height - FOOT + 16.0,
            range(load.inflight_from, load.inflight_to)
        );
    }
    let _ = write!(
        svg,
        "<text class=\"axis\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">requests in flight on the node</text></svg>",
        (NAME + WIDTH) / 2.0,
        height - 8.0
    );
    svg
}
