//! From an accumulator to a summary.

use arrow_array::temporal_conversions::timestamp_us_to_datetime;

use super::target::target_summary;
use super::{SCHEMA, SetFacts, Summary, Thresholds, reconcile};
use crate::Options;
use crate::accumulate::Accumulator;
use crate::verdict;
use crate::view::View;

/// Makes the summary: tables first, then the judgement on them.
pub(crate) fn make(accumulator: &Accumulator, options: &Options) -> Summary {
    let mut views: Vec<View<'_>> =
        accumulator.targets.iter().map(|(key, target)| View::new(key, target, options)).collect();
    views.sort_by_key(|view| (!view.is_candidate(), view.key));
    let ledger = reconcile::reconcile(accumulator);
    let time = |us: i64| {
        timestamp_us_to_datetime(us).map(|time| format!("{}Z", time.format("%Y-%m-%dT%H:%M:%S%.3f")))
    };
    let set = SetFacts {
        rows: accumulator.rows,
        unreadable_rows: accumulator.unreadable,
        dead_letters: accumulator.dead_letters,
        received_from: accumulator.received_us.and_then(|(first, _)| time(first)),
        received_to: accumulator.received_us.and_then(|(_, last)| time(last)),
        runs: ledger.len(),
        rules: accumulator.rules.iter().cloned().collect(),
        unused_rules: accumulator.unused.iter().flatten().cloned().collect(),
    };
    let verdict = verdict::judge(&views, &set, &ledger, options);
    Summary {
        schema: SCHEMA,
        options: Thresholds {
            load_bins: options.load_bins,
            confidence: options.confidence,
            min_rate: options.min_rate,
        },
        set,
        verdict,
        targets: views.iter().map(|view| target_summary(view, options)).collect(),
        ledger,
    }
}
