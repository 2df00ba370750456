//! The state of the proxy as JSON.

use std::sync::atomic::Ordering;
use std::time::Instant;

use exchange::{DropReason, Item, Outcome, SkipReason};
use serde_json::{Map, Value, json};

use super::alarms;
use crate::account::{Counts, Run};
use crate::metrics::CLASSES;
use crate::state::State;
use crate::upstream::Upstream;

/// Everything that is known; counts are sums over all runs of this process.
pub(super) fn of(state: &State) -> Value {
    let published = state.publisher.published();
    let counts = state.control.runs.totals();
    let shadows: Vec<Value> = state
        .shadows
        .iter()
        .enumerate()
        .map(|(number, upstream)| shadow(state, number, upstream, &counts))
        .collect();
    json!({
        "proxy": state.config.name,
        "run": state.control.sampler.plan().run.id,
        "version": env!("CARGO_PKG_VERSION"),
        "started_at_us": state.started_us,
        "now_us": crate::now_us(),
        "draining": state.draining.load(Ordering::Relaxed),
        "alarms": alarms(state, &counts),
        "sampling": state.control.describe(),
        "responses": classes(&state.answers.read()),
        "primary": target(&state.primary),
        "shadows": shadows,
        "mirrored": counts.total(None, |item| item == Item::Mirrored),
        "ended": counts.total(None, |item| matches!(item, Item::Outcome(_))),
        "delivered": counts.total(None, |item| item == Item::Delivered),
        "dropped": counts.total(None, |item| matches!(item, Item::Dropped(_))),
        "dropped_by_reason": named(DropReason::ALL.map(|reason| (reason.as_str(), all(&counts, Item::Dropped(reason))))),
        "skipped": named(SkipReason::ALL.map(|reason| (reason.as_str(), all(&counts, Item::Skipped(reason))))),
        "spooled": all(&counts, Item::Spooled),
        "waiting": published.waiting,
        "under_way": {
            "exchanges": state.mirrors.used(),
            "exchanges_limit": state.mirrors.limit(),
            "bytes": state.bytes.used(),
            "bytes_limit": state.bytes.limit(),
        },
        "publisher": {
            "to": state.publisher.describe(),
            "connected": published.connected,
            "spool": {"messages": published.spool_messages, "bytes": published.spool_bytes},
        },
        "traces": state.traces.as_ref().map(|traces| {
            let (sent, dropped) = traces.counts();
            json!({"spans_sent": sent, "spans_dropped": dropped})
        }),
        "open_runs": state.control.runs.map_open(run),
    })
}

/// What is wrong, in words.
pub(super) fn alarms(state: &State, counts: &Counts) -> Vec<String> {
    let names = state.control.runs.shadows().iter().enumerate();
    names.filter_map(|(shadow, name)| alarms::of(counts, shadow).map(|alarm| alarm.say(name))).collect()
}

fn all(counts: &Counts, item: Item) -> u64 {
    counts.total(None, |of| of == item)
}

fn shadow(state: &State, number: usize, upstream: &Upstream, counts: &Counts) -> Value {
    let mut told = target(upstream);
    let ended = Outcome::ALL.map(|outcome| (outcome, counts.ended(number, outcome)));
    let ended = ended.into_iter().filter(|(_, count)| *count > 0);
    told["role"] = state.config.shadows[number].role.as_str().into();
    told["mirrored"] = counts.total(Some(number), |item| item == Item::Mirrored).into();
    told["received"] = alarms::received(counts, number).into();
    told["ended"] = ended.map(|(outcome, count)| (outcome.as_str().to_owned(), Value::from(count))).collect();
    told["answers"] = classes(&counts.seen(number).answers);
    told["alarm"] = alarms::of(counts, number).map(alarms::Alarm::as_str).into();
    told
}

fn target(upstream: &Upstream) -> Value {
    let nodes: Vec<_> = upstream
        .nodes
        .current()
        .iter()
        .map(|state| {
            json!({
                "node": state.node.name,
                "inflight": state.load.inflight(),
                "labels": labels(&state.labels()),
                "passed_over": state.ejected(Instant::now()),
            })
        })
        .collect();
    json!({"name": upstream.target().name, "nodes": nodes})
}

fn run(run: &Run) -> Value {
    let counts = run.account.counts();
    json!({
        "run": run.id,
        "started_at_us": run.started_us,
        "mirrored": counts.total(None, |item| item == Item::Mirrored),
        "ended": counts.total(None, |item| matches!(item, Item::Outcome(_))),
        "delivered": counts.total(None, |item| item == Item::Delivered),
        "dropped": counts.total(None, |item| matches!(item, Item::Dropped(_))),
    })
}

fn classes(answers: &[u64; 6]) -> Value {
    named(std::array::from_fn::<_, 5, _>(|class| (CLASSES[class], answers[class + 1])))
}

fn named<const N: usize>(counts: [(&str, u64); N]) -> Value {
    counts
        .into_iter()
        .map(|(name, count)| (name.to_owned(), Value::from(count)))
        .collect::<Map<_, _>>()
        .into()
}

fn labels(pairs: &exchange::Pairs) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
}
