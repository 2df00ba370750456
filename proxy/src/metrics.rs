//! Prometheus metrics, all named here. Counts are read from the accounts of the runs when they are scraped, so that metrics, ledger and
//! status never disagree; they are sums over all runs of the process. Labels take their values from the configuration and from enums only.

mod encode;

use exchange::{DropReason, Item, Outcome, SkipReason};

use crate::admin::alarms;
use crate::state::State;
use crate::upstream::Upstream;
use encode::{Labels, Series};

pub(crate) use encode::text;

/// Names of the metrics, without the `_total` of counters, and what they say.
pub const METRICS: [(&str, &str); 17] = [
    ("shadowdiff_responses", "Answers given to clients, by class of status"),
    ("shadowdiff_mirrored", "Copies of requests chosen for a shadow"),
    ("shadowdiff_skipped", "Requests, and copies where it is the rate, that a rule kept from being mirrored"),
    ("shadowdiff_exchanges", "Exchanges ended, by how the shadow leg ended"),
    ("shadowdiff_shadow_answers", "Answers that came back from a shadow, by class of status"),
    ("shadowdiff_delivered", "Exchanges acknowledged by the publisher"),
    ("shadowdiff_dropped", "Exchanges lost before they were acknowledged"),
    ("shadowdiff_bodies_withheld", "Bodies not recorded because they could not be redacted"),
    ("shadowdiff_alarm", "1 while something is wrong with a shadow as a whole"),
    ("shadowdiff_inflight", "Requests under way, by leg and node"),
    ("shadowdiff_mirror_inflight", "Mirrored requests under way"),
    ("shadowdiff_mirror_bytes", "Bytes of captured bodies held"),
    ("shadowdiff_publisher_waiting", "Messages taken by the publisher and not yet acknowledged"),
    ("shadowdiff_spooled", "Exchanges put into the disk spool"),
    ("shadowdiff_spool_messages", "Messages in the disk spool"),
    ("shadowdiff_spool_bytes", "Bytes of the disk spool"),
    ("shadowdiff_publisher_connected", "1 while the publisher reaches its far end, as far as is known"),
];

/// Classes of a status, from 100 on.
pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// One scrape: series by metric name.
#[derive(Debug)]
pub(crate) struct Scrape {
    counters: Vec<(&'static str, Series)>,
    gauges: Vec<(&'static str, Series)>,
}

impl Scrape {
    pub(crate) fn of(state: &State) -> Self {
        let published = state.publisher.published();
        let counts = state.control.runs.totals();
        let names = state.control.runs.shadows();
        let (mut mirrored, mut exchanges, mut answers, mut alarm) = (vec![], vec![], vec![], vec![]);
        for (shadow, name) in names.iter().enumerate() {
            let target = || ("target", name.clone());
            mirrored.push((vec![target()], counts.total(Some(shadow), |item| item == Item::Mirrored)));
            // The accounts count by load bin too; a metric would have too many series of it.
            let ended = Outcome::ALL.map(|outcome| (outcome, counts.ended(shadow, outcome)));
            for (outcome, count) in ended.into_iter().filter(|(_, count)| *count > 0) {
                exchanges.push((vec![target(), ("outcome", outcome.to_string())], count));
            }
            for (class, count) in CLASSES.into_iter().zip(&counts.seen(shadow).answers[1..]) {
                answers.push((vec![target(), ("status", class.into())], *count));
            }
            let raised = alarms::of(&counts, shadow);
            for kind in alarms::Alarm::ALL {
                let on = u64::from(raised == Some(kind));
                alarm.push((vec![target(), ("alarm", kind.as_str().into())], on));
            }
        }
        let all = |item: Item| counts.total(None, |of| of == item);
        let reason = |name: &'static str, item: Item| (vec![("reason", name.into())], all(item));
        let answered = state.answers.read();
        let responses = CLASSES.into_iter().zip(&answered[1..]);
        let withheld = state.redaction.unreadable();
        let withheld = withheld.map(|(reason, count)| (vec![("reason", reason.to_string())], count));
        Self {
            counters: vec![
                (
                    "shadowdiff_responses",
                    responses.map(|(class, count)| (vec![("status", class.into())], *count)).collect(),
                ),
                ("shadowdiff_mirrored", mirrored),
                (
                    "shadowdiff_skipped",
                    SkipReason::ALL.map(|skip| reason(skip.as_str(), Item::Skipped(skip))).into(),
                ),
                ("shadowdiff_exchanges", exchanges),
                ("shadowdiff_shadow_answers", answers),
                ("shadowdiff_delivered", one(all(Item::Delivered))),
                (
                    "shadowdiff_dropped",
                    DropReason::ALL.map(|drop| reason(drop.as_str(), Item::Dropped(drop))).into(),
                ),
                ("shadowdiff_spooled", one(published.spooled)),
                ("shadowdiff_bodies_withheld", withheld.collect()),
            ],
            gauges: vec![
                ("shadowdiff_alarm", alarm),
                ("shadowdiff_inflight", state.upstreams().flat_map(inflight_of).collect()),
                ("shadowdiff_mirror_inflight", one(state.mirrors.used() as u64)),
                ("shadowdiff_mirror_bytes", one(state.bytes.used() as u64)),
                ("shadowdiff_publisher_waiting", one(published.waiting)),
                ("shadowdiff_spool_messages", one(published.spool_messages)),
                ("shadowdiff_spool_bytes", one(published.spool_bytes)),
                ("shadowdiff_publisher_connected", one(u64::from(published.connected))),
            ],
        }
    }
}

fn one(count: u64) -> Series {
    vec![(vec![], count)]
}

fn inflight_of(upstream: &Upstream) -> Vec<(Labels, u64)> {
    let target = &upstream.target().name;
    let labels = |node: &str| vec![("target", target.clone()), ("node", node.to_owned())];
    let nodes = upstream.nodes.current();
    nodes.iter().map(|state| (labels(&state.node.name), u64::from(state.load.inflight()))).collect()
}
