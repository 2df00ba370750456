//! Axes, scales and escaping that the plots share.

use std::fmt::Write as _;

/// Size of a plot in user units; the page scales it.
pub(super) const WIDTH: f64 = 640.0;
pub(super) const HEIGHT: f64 = 300.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// Text for SVG or HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The last `limit` characters of a name: of nodes and ids the end differs.
pub(super) fn tail(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    ['…'].into_iter().chain(text.chars().skip(length + 1 - limit)).collect()
}

/// A plot area with linear axes over the given ranges.
pub(super) struct Frame {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
    svg: String,
}

impl Frame {
    /// An empty plot; `title` is read to those who do not see it.
    pub(super) fn new(title: &str, x: (f64, f64), y: (f64, f64)) -> Self {
        let widen = |(low, high): (f64, f64)| if high > low { (low, high) } else { (low - 0.5, low + 0.5) };
        let svg =
            format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(title));
        Self { x: widen(x), y: widen(y), svg }
    }

    pub(super) fn at_x(&self, x: f64) -> f64 {
        LEFT + (x - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }

    pub(super) fn at_y(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - (y - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - TOP - BOTTOM)
    }

    pub(super) fn push(&mut self, svg: &str) {
        self.svg.push_str(svg);
    }

    /// Grid lines and labels of the x axis.
    pub(super) fn x_ticks(&mut self, ticks: &[(f64, String)], title: &str) {
        for (value, label) in ticks {
            let x = self.at_x(*value);
            let _ = write!(
                self.svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>\
                 <text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 16.0,
                escape(label)
            );
        }
        let _ = write!(
            self.svg,
            "<text class=\"axis\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            escape(title)
        );
    }

    /// Grid lines and labels of the y axis.
    pub(super) fn y_ticks(&mut self, ticks: &[(f64, String)], title: &str) {
        for (value, label) in ticks {
            let y = self.at_y(*value);
            let _ = write!(
                self.svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                escape(label)
            );
        }
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let _ = write!(
            self.svg,
            "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(12 {middle:.1}) rotate(-90)\">{}</text>",
            escape(title)
        );
    }

    /// A line through the points.
    pub(super) fn line(&mut self, class: &str, points: &[(f64, f64)]) {
        let path: Vec<String> =
            points.iter().map(|(x, y)| format!("{:.1},{:.1}", self.at_x(*x), self.at_y(*y))).collect();
        let _ = write!(self.svg, "<polyline class=\"line {class}\" points=\"{}\"/>", path.join(" "));
    }

    /// A dot with a text that shows when pointed at.
    pub(super) fn dot(&mut self, class: &str, radius: f64, (x, y): (f64, f64), told: &str) {
        let _ = write!(
            self.svg,
            "<circle class=\"dot {class}\" r=\"{radius}\" cx=\"{:.1}\" cy=\"{:.1}\"><title>{}</title></circle>",
            self.at_x(x),
            self.at_y(y),
            escape(told)
        );
    }

    /// The legend, from the right upper corner to the left.
    pub(super) fn legend(&mut self, entries: &[(String, String)]) {
        let mut x = LEFT + 10.0;
        for (class, name) in entries {
            let name = tail(name, 42);
            let _ = write!(
                self.svg,
                "<rect class=\"key {class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"4\" rx=\"2\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                TOP + 6.0,
                x + 20.0,
                TOP + 12.0,
                escape(&name)
            );
            x += 40.0 + 6.6 * name.chars().count() as f64;
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.svg.push_str("</svg>");
        self.svg
    }
}

/// About five round values over a range.
pub(super) fn round_ticks((low, high): (f64, f64)) -> Vec<f64> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return vec![low];
    }
    let rough = span / 5.0;
    let size = 10f64.powf(rough.log10().floor());
    let step = size * [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * size >= rough).unwrap_or(10.0);
    let first = (low / step).ceil() as i64;
    (first..first + 12).map(|i| i as f64 * step).filter(|tick| *tick <= high + step * 1e-6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(round_ticks((0.0, 23.0)), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(round_ticks((0.0, 0.08)).len(), 5);
        assert_eq!(round_ticks((3.0, 3.0)), [3.0]);
        assert_eq!(round_ticks((0.0, f64::INFINITY)), [0.0]);
    }

    #[test]
    fn text_is_escaped_and_long_names_keep_their_end() {
        assert_eq!(escape("<a href='x'>&\u{7}"), "&lt;a href=&#39;x&#39;&gt;&amp;\u{fffd}");
        assert_eq!(tail("10.0.0.1:8000", 6), "…:8000");
    }
}
