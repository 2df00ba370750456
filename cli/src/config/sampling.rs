//! What is mirrored, of the file and the flags.

use anyhow::Context;
use proxy::config::{Sampling, Update};

use super::raw;

/// The sampling of the file; `sample` is the flag, which wins. `shadows` are the names of the shadows, and `now_us` is where a
/// `for_ms` without a start counts from, in microseconds since the Unix epoch.
///
/// # Errors
/// When a value is none.
pub(crate) fn resolve(
    sample: Option<&str>,
    file: &raw::Raw,
    shadows: &[String],
    now_us: i64,
) -> anyhow::Result<Sampling> {
    let raw = file.sampling.clone();
    let sample = sample.map(|sample| sample.parse().context("--sample")).transpose()?;
    let update = Update {
        run: None,
        sample: sample.or(raw.sample),
        by: raw.by,
        seed: raw.seed,
        max_per_second: raw.max_per_second.map(Some),
        burst: raw.burst.map(Some),
        copies: raw.copies,
        start_at: raw.start_at.map(Some),
        stop_at: raw.stop_at.map(Some),
        for_ms: raw.for_ms,
        routes: (!file.route.is_empty()).then(|| file.route.clone()),
    };
    update.apply(&Sampling::default(), shadows, now_us).context("[sampling]")
}
