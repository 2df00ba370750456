//! A scrape as OpenMetrics text.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, LabelSetEncoder};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{METRICS, Scrape};

/// Labels of one series.
pub(super) type Labels = Vec<(&'static str, String)>;

/// All series of one metric.
pub(super) type Series = Vec<(Labels, u64)>;

/// The metrics as OpenMetrics text.
pub(crate) fn text(scrape: Scrape) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(scrape));
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

impl Collector for Scrape {
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
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        use prometheus_client::encoding::EncodeLabel;
        self.0.iter().try_for_each(|(name, value)| (*name, value.as_str()).encode(encoder.encode_label()))
    }
}
