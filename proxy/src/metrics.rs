//! Prometheus metrics, all named here. Counts are read from the account when they are scraped, so that metrics, ledger and
//! status never disagree. Labels take their values from the configuration and from enums only.

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use exchange::Item;

use crate::state::State;
use crate::upstream::Upstream;

/// Names of the metrics, without the `_total` of counters, and what they say.
pub const METRICS: [(&str, &str); 13] = [
    ("shadowdiff_responses", "Answers given to clients, by class of status"),
    ("shadowdiff_mirrored", "Requests chosen for a shadow"),
    ("shadowdiff_exchanges", "Exchanges ended, by how the shadow leg ended"),
    ("shadowdiff_delivered", "Exchanges acknowledged by the publisher"),
    ("shadowdiff_dropped", "Exchanges lost before they were acknowledged"),
    ("shadowdiff_bodies_withheld", "Bodies not recorded because they could not be redacted"),
    ("shadowdiff_inflight", "Requests under way, by leg and node"),
    ("shadowdiff_mirror_inflight", "Mirrored requests under way"),
    ("shadowdiff_mirror_bytes", "Bytes of captured bodies held"),
    ("shadowdiff_publisher_waiting", "Messages taken by the publisher and not yet acknowledged"),
    ("shadowdiff_spooled", "Exchanges put into the disk spool"),
    ("shadowdiff_spool_messages", "Messages in the disk spool"),
    ("shadowdiff_spool_bytes", "Bytes of the disk spool"),
];

/// The metrics as OpenMetrics text.
pub(crate) fn render(state: &State) -> String {
    let mut registry = prometheus_client::registry::Registry::default();
    registry.register_collector(Box::new(Scrape::of(state)));
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

type Labels = Vec<(&'static str, String)>;

/// All series of one metric.
type Series = Vec<(Labels, u64)>;

/// One scrape: series by metric name.
#[derive(Debug)]
struct Scrape {
    counters: Vec<(&'static str, Series)>,
    gauges: Vec<(&'static str, Series)>,
}

impl Scrape {
    fn of(state: &State) -> Self {
        let published = state.publisher.published();
        let snapshot = state.account.snapshot();
        let (mut mirrored, mut exchanges) = (Vec::new(), Vec::new());
        let (mut delivered, mut dropped) = (Vec::new(), Vec::new());
        for entry in &snapshot.items {
            let target = ("target", entry.target.clone());
            match entry.item {
                Item::Mirrored => mirrored.push((vec![target], entry.count)),
                Item::Outcome(outcome) => {
                    let labels = vec![target, ("outcome", outcome.to_string())];
                    // The account counts by load bin too; a metric would have too many series of it.
                    match exchanges.iter_mut().find(|(known, _): &&mut (Labels, u64)| *known == labels) {
                        Some((_, count)) => *count += entry.count,
                        None => exchanges.push((labels, entry.count)),
                    }
                }
                Item::Dropped(reason) => {
                    dropped.push((vec![("reason", reason.as_str().into())], entry.count))
                }
                Item::Delivered => delivered.push((vec![], entry.count)),
                Item::Spooled | Item::Skipped(_) => {}
            }
        }
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        let responses = classes
            .into_iter()
            .zip(snapshot.answers.into_iter().skip(1))
            .map(|(class, n)| (vec![("status", class.into())], n));
        let withheld = state.redaction.unreadable();
        let withheld = withheld.map(|(reason, n)| (vec![("reason", reason.to_string())], n));
        let inflight = state.upstreams().flat_map(inflight_of).collect();
        Self {
            counters: vec![
                ("shadowdiff_responses", responses.collect()),
                ("shadowdiff_mirrored", mirrored),
                ("shadowdiff_exchanges", exchanges),
                ("shadowdiff_delivered", delivered),
                ("shadowdiff_dropped", dropped),
                ("shadowdiff_spooled", vec![(vec![], published.spooled)]),
                ("shadowdiff_bodies_withheld", withheld.collect()),
            ],
            gauges: vec![
                ("shadowdiff_inflight", inflight),
                ("shadowdiff_mirror_inflight", vec![(vec![], state.mirrors.used() as u64)]),
                ("shadowdiff_mirror_bytes", vec![(vec![], state.bytes.used() as u64)]),
                ("shadowdiff_publisher_waiting", vec![(vec![], published.waiting)]),
                ("shadowdiff_spool_messages", vec![(vec![], published.spool_messages)]),
                ("shadowdiff_spool_bytes", vec![(vec![], published.spool_bytes)]),
            ],
        }
    }
}

fn inflight_of(upstream: &Upstream) -> Vec<(Labels, u64)> {
    let target = &upstream.target().name;
    let labels = |node: &str| vec![("target", target.clone()), ("node", node.to_owned())];
    let nodes = upstream.nodes.current();
    nodes.iter().map(|state| (labels(&state.node.name), u64::from(state.load.inflight()))).collect()
}

impl prometheus_client::collector::Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, series) in &self.counters {
            family(&mut encoder, name, series, ConstCounter::new)?;
        }
        for (name, series) in &self.gauges {
            family(&mut encoder, name, series, ConstGauge::new)?;
        }
        Ok(())
    }
}

fn family<M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &'static str,
    series: &[(Labels, u64)],
    metric: impl Fn(u64) -> M,
) -> Result<(), std::fmt::Error> {
    let Some((_, first)) = series.first() else { return Ok(()) };
    let help = METRICS.iter().find(|(known, _)| *known == name).map_or("", |(_, help)| help);
    let mut encoder = encoder.encode_descriptor(name, help, None, metric(*first).metric_type())?;
    for (labels, value) in series {
        let labels = LabelSet(labels);
        metric(*value).encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

#[derive(Debug)]
struct LabelSet<'a>(&'a Labels);

impl EncodeLabelSet for LabelSet<'_> {
    fn encode(
        &self,
        encoder: &mut prometheus_client::encoding::LabelSetEncoder<'_>,
    ) -> Result<(), std::fmt::Error> {
        use prometheus_client::encoding::EncodeLabel;
        self.0.iter().try_for_each(|(name, value)| (*name, value.as_str()).encode(encoder.encode_label()))
    }
}
