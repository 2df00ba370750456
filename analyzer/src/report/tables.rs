//! The tables of a summary.

use super::table::Align::{Number, Text, Whole};
use super::table::Table;
use crate::Summary;
use crate::summary::{Counted, Example, Labels, LatencyRow, NodeRow, Rate, RunLedger, TargetSummary};
use crate::text::{count, latency, percent, range, significant, threshold};

fn interval(rate: &Rate) -> String {
    format!("{} to {}", percent(rate.lower), percent(rate.upper))
}

pub(super) fn labels(labels: &Labels) -> String {
    labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Role and name, or the role alone where it is the name too.
pub(super) fn name(target: &TargetSummary) -> String {
    if target.name == target.role { target.role.clone() } else { format!("{} {}", target.role, target.name) }
}

/// Head of the column of labels, and the labels of each node: bare values where all nodes have the same labels.
fn label_column(nodes: &[NodeRow]) -> (String, Vec<String>) {
    let names = |row: &NodeRow| row.labels.keys().cloned().collect::<Vec<_>>();
    match nodes.first().map(names) {
        Some(first) if !first.is_empty() && nodes.iter().all(|row| names(row) == first) => {
            let values = |row: &NodeRow| row.labels.values().cloned().collect::<Vec<_>>().join(", ");
            (first.join(", "), nodes.iter().map(values).collect())
        }
        _ => ("labels".into(), nodes.iter().map(|row| labels(&row.labels)).collect()),
    }
}

fn named_counts(counts: &[Counted]) -> String {
    if counts.is_empty() {
        return "0".into();
    }
    counts.iter().map(|entry| format!("{} {}", entry.name, count(entry.count))).collect::<Vec<_>>().join(", ")
}

/// All tables of one shadow, in the order in which they are read.
pub(super) fn of_target(target: &TargetSummary, confidence: f64) -> Vec<Table> {
    let level = format!("{} interval", threshold(confidence));
    vec![
        classes(target, &level),
        nodes(target, &level),
        loads(target, &level),
        peaks(target, &level),
        bands(target, &level),
        latencies(target),
        worst(target),
        outcomes(target),
    ]
}

fn classes(target: &TargetSummary, level: &str) -> Table {
    let columns = [("class", Text), ("pairs", Number), ("share", Number), (level, Number)];
    let unsent = if target.unsent.is_empty() {
        String::new()
    } else {
        format!("; never sent: {}", named_counts(&target.unsent))
    };
    let note =
        format!("of {} requests sent, {} comparable{unsent}", count(target.sent), count(target.comparable));
    Table::new("By class", note, &columns).with_rows(target.classes.iter().map(|row| {
        vec![row.class.to_owned(), count(row.rate.events), percent(row.rate.rate), interval(&row.rate)]
    }))
}

fn nodes(target: &TargetSummary, level: &str) -> Table {
    let (head, labels_of) = label_column(&target.nodes);
    let columns = [
        ("node", Text),
        (&head, Text),
        ("pairs", Number),
        ("serious", Number),
        ("rate", Number),
        (level, Number),
        ("degenerate", Number),
        ("p99", Number),
    ];
    Table::new("By node", "", &columns).with_rows(target.nodes.iter().zip(labels_of).map(|(row, labels)| {
        vec![
            row.node.clone(),
            labels,
            count(row.serious.trials),
            count(row.serious.events),
            percent(row.serious.rate),
            interval(&row.serious),
            percent(row.degenerate.rate),
            latency(row.p99_us),
        ]
    }))
}

fn loads(target: &TargetSummary, level: &str) -> Table {
    let columns = [
        ("in flight", Text),
        ("pairs", Number),
        ("serious", Number),
        ("rate", Number),
        ("without named", Number),
        (level, Number),
        ("p99 primary", Number),
        ("p99 shadow", Number),
    ];
    let note = "mid-rank bins of the shadow's requests in flight on the node at dispatch; the interval is of the rate \
                without the nodes named degenerate";
    Table::new("By load level", note, &columns).with_rows(target.loads.iter().map(|row| {
        vec![
            range(row.inflight_from, row.inflight_to),
            count(row.serious.trials),
            count(row.serious.events),
            percent(row.serious.rate),
            percent(row.sound.rate),
            interval(&row.sound),
            latency(row.latency.primary.p99_us),
            latency(row.latency.shadow.p99_us),
        ]
    }))
}

fn peaks(target: &TargetSummary, level: &str) -> Table {
    let columns =
        [("at once", Text), ("pairs", Number), ("serious", Number), ("rate", Number), (level, Number)];
    let note = "mid-rank bins of the most requests under way on the shadow's node at once during the pair, itself not counted: \
                a pair sent at low load may be hit by those that come after it; without the nodes named degenerate";
    Table::new("By most requests at once", note, &columns).with_rows(target.peaks.iter().map(|row| {
        vec![
            range(row.inflight_from, row.inflight_to),
            count(row.sound.trials),
            count(row.sound.events),
            percent(row.sound.rate),
            interval(&row.sound),
        ]
    }))
}

fn bands(target: &TargetSummary, level: &str) -> Table {
    let columns = [
        ("band", Text),
        ("primary latency", Text),
        ("pairs", Number),
        ("serious", Number),
        ("rate", Number),
        (level, Number),
    ];
    let note = "bands of the primary's latency: the shadow's own may be changed by the fault that is sought";
    Table::new("By latency percentile", note, &columns).with_rows(target.bands.iter().map(|row| {
        let span = match row.from_us {
            Some(_) => format!("{} to {}", latency(row.from_us), latency(row.to_us)),
            None => "–".into(),
        };
        vec![
            row.band.to_owned(),
            span,
            count(row.serious.trials),
            count(row.serious.events),
            percent(row.serious.rate),
            interval(&row.serious),
        ]
    }))
}

fn latencies(target: &TargetSummary) -> Table {
    let columns = [
        ("leg", Text),
        ("answers", Number),
        ("p50", Number),
        ("p90", Number),
        ("p99", Number),
        ("p99.9", Number),
        ("max", Number),
    ];
    let row = |name: &str, row: &LatencyRow| {
        let times = [row.p50_us, row.p90_us, row.p99_us, row.p999_us, row.max_us].map(latency);
        [vec![name.to_owned(), count(row.count)], times.to_vec()].concat()
    };
    let rows = [row("primary", &target.latency.primary), row(&target.role, &target.latency.shadow)];
    Table::new("Latency", "of successful answers, dispatch to last byte", &columns)
        .with_rows(rows.into_iter())
}

fn worst(target: &TargetSummary) -> Table {
    let columns = [
        ("class", Whole),
        ("node", Text),
        ("load", Number),
        ("units", Number),
        ("primary", Number),
        ("shadow", Number),
        ("exchange", Whole),
    ];
    let note = "the largest differences of each class in turn; load is in flight on the node, units are of the tolerance";
    Table::new("Worst pairs", note, &columns).with_rows(target.worst.iter().map(example))
}

fn example(example: &Example) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "–".into(), significant);
    vec![
        example.class.clone(),
        example.shadow_node.clone(),
        example.inflight.to_string(),
        number(example.tolerance_units),
        number(example.primary_score),
        number(example.shadow_score),
        example.exchange_id.clone(),
    ]
}

fn outcomes(target: &TargetSummary) -> Table {
    let columns = [("primary → shadow", Text), ("rows", Number)];
    let rows = target.outcomes.iter().take(12).map(|row| vec![row.name.clone(), count(row.count)]);
    Table::new("How both legs ended", "", &columns).with_rows(rows)
}

/// What the proxies say against what is there. Spool and skips have columns only where there are any.
pub(super) fn ledger(summary: &Summary) -> Vec<Table> {
    let spooled = summary.ledger.iter().any(|run| run.spooled > 0);
    let skipped = summary.ledger.iter().any(|run| !run.skipped.is_empty());
    let columns = [
        (true, ("proxy", Text)),
        (true, ("run", Text)),
        (true, ("mirrored", Number)),
        (true, ("answered", Number)),
        (true, ("failed", Text)),
        (true, ("unsent", Text)),
        (true, ("dropped", Text)),
        (true, ("rows", Number)),
        (spooled, ("in spool", Number)),
        (true, ("lost", Number)),
        (skipped, ("skipped", Text)),
        (true, ("closed", Text)),
    ];
    let shown = columns.map(|(shown, _)| shown);
    let heads: Vec<_> = columns.into_iter().filter_map(|(shown, column)| shown.then_some(column)).collect();
    let note = match (spooled, skipped) {
        (false, false) => "mirrored = rows + lost, once closed",
        (true, false) => "mirrored = rows + in spool + lost, once closed",
        (false, true) => "mirrored = rows + lost, once closed; skipped was never mirrored",
        (true, true) => "mirrored = rows + in spool + lost, once closed; skipped was never mirrored",
    };
    let runs = Table::new("Ledger", note, &heads).with_rows(summary.ledger.iter().map(|run| {
        let closed = match (run.snapshot, run.closed) {
            (None, _) => "no ledger",
            (_, true) => "yes",
            (_, false) => "no",
        };
        let cells = [
            run.proxy.clone(),
            run.run.clone(),
            count(run.mirrored),
            count(run.answered),
            named_counts(&run.failed),
            named_counts(&run.unsent),
            named_counts(&run.dropped),
            count(run.rows),
            count(run.spooled),
            count(run.lost),
            named_counts(&run.skipped),
            closed.to_owned(),
        ];
        cells.into_iter().zip(shown).filter_map(|(cell, shown)| shown.then_some(cell)).collect()
    }));
    let columns = [
        ("run", Text),
        ("shadow", Text),
        ("in flight from", Number),
        ("ended", Number),
        ("unsent", Number),
        ("missing", Number),
    ];
    let missing = summary.ledger.iter().flat_map(missing_by_load);
    let by_load =
        Table::new("Missing by load", "copies never sent, and exchanges that are not in the set", &columns)
            .with_rows(missing);
    if by_load.rows.is_empty() { vec![runs] } else { vec![runs, by_load] }
}

fn missing_by_load(run: &RunLedger) -> impl Iterator<Item = Vec<String>> {
    let all_there = run.loads.iter().all(|bin| bin.unsent + bin.lost == 0);
    let shown = if all_there { &[] } else { run.loads.as_slice() };
    shown.iter().map(|bin| {
        vec![
            run.run.clone(),
            bin.target.clone(),
            bin.inflight_from.to_string(),
            count(bin.finished.max(bin.rows)),
            count(bin.unsent),
            count(bin.lost),
        ]
    })
}
