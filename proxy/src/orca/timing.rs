//! Waits in a queue that a server reports, in milliseconds.

/// Longest wait that is believed: one day.
const LONGEST_MS: f64 = 86_400_000.0;

/// `text`, a number of milliseconds, in whole microseconds.
pub(super) fn microseconds(text: &str) -> Option<i64> {
    let ms: f64 = text.trim().parse().ok()?;
    // In range, so the rounded product is far below the largest integer.
    (0.0..=LONGEST_MS).contains(&ms).then(|| (ms * 1000.0).round() as i64)
}

/// The duration of the metric `queue` of a `Server-Timing` header (W3C Server Timing, section 4): `queue;dur=3.1, infer;dur=12`.
/// Of a parameter that comes twice, the first counts.
pub(super) fn queue(header: &str) -> Option<i64> {
    let metric = pieces(header, ',').find(|metric| {
        let name = pieces(metric, ';').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("queue")
    })?;
    let duration = pieces(metric, ';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("dur").then_some(value.trim())
    })?;
    microseconds(duration.trim_matches('"'))
}

/// The parts of `text` between those `separator`s that stand in no quoted string.
fn pieces(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |letter| {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => return !quoted && letter == separator,
        }
        false
    })
}
