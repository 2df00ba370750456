//! Serious divergence by node: bars with their intervals.

use std::fmt::Write as _;

use super::frame::{WIDTH, escape, tail};
use crate::summary::NodeRow;
use crate::text::percent;

/// Bars drawn; a table holds the rest.
const SHOWN: usize = 24;
const ROW: f64 = 30.0;
const NAME: f64 = 200.0;
const VALUE: f64 = 78.0;

/// The plot; `named` nodes stand out.
pub(in crate::report) fn nodes(rows: &[NodeRow], named: &[&str]) -> String {
    let shown = &rows[..rows.len().min(SHOWN)];
    let most = shown.iter().filter_map(|row| row.serious.upper).fold(1e-3, f64::max);
    let height = ROW * shown.len() as f64 + 8.0;
    let at = |rate: f64| NAME + rate / most * (WIDTH - NAME - VALUE);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"rate of serious divergence by node\">"
    );
    for (index, row) in shown.iter().enumerate() {
        let y = 4.0 + ROW * index as f64;
        let (rate, lower, upper) = (
            row.serious.rate.unwrap_or(0.0),
            row.serious.lower.unwrap_or(0.0),
            row.serious.upper.unwrap_or(0.0),
        );
        let class = if named.contains(&row.node.as_str()) { "bad" } else { "s0" };
        let middle = y + ROW / 2.0;
        let _ = write!(
            svg,
            "<g><title>{name}: {told}</title>\
             <text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <rect class=\"track\" x=\"{NAME}\" y=\"{:.1}\" width=\"{:.1}\" height=\"16\" rx=\"3\"/>\
             <rect class=\"bar {class}\" x=\"{NAME}\" y=\"{:.1}\" width=\"{:.1}\" height=\"16\" rx=\"3\"/>\
             <line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            NAME - 10.0,
            middle + 4.0,
            escape(&tail(&row.node, 28)),
            middle - 8.0,
            WIDTH - NAME - VALUE,
            middle - 8.0,
            at(rate) - NAME,
            at(lower),
            at(upper),
            WIDTH - VALUE + 10.0,
            middle + 4.0,
            percent(row.serious.rate),
            name = escape(&row.node),
            told = row.serious.text(),
        );
    }
    svg.push_str("</svg>");
    svg
}
