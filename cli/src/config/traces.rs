//! Where traces go.

use anyhow::{Context, bail};
use proxy::config::{Fraction, Node, Target, Traces};

use super::raw;
use super::target::tls;

/// The path of an OTLP receiver over HTTP.
const PATH: &str = "/v1/traces";

/// The collector of the file, if there is one. Its path is that of OTLP unless the endpoint has one.
///
/// # Errors
/// When the endpoint is no URL, or the share none.
pub(crate) fn traces(raw: &raw::Traces) -> anyhow::Result<Option<Traces>> {
    let Some(endpoint) = &raw.endpoint else {
        if raw.sample.is_some() {
            bail!("sample of [traces]: it needs endpoint, the collector's URL");
        }
        return Ok(None);
    };
    let begins = endpoint.find("://").map_or(0, |at| at + 3);
    let (node, path) = match endpoint[begins..].find('/') {
        Some(at) if endpoint.len() > begins + at + 1 => endpoint.split_at(begins + at),
        Some(at) => (&endpoint[..begins + at], PATH),
        None => (endpoint.as_str(), PATH),
    };
    let node: Node = node.parse().context("endpoint of [traces]")?;
    if node.expand {
        bail!("endpoint `{endpoint}` of [traces]: one collector, so without dns+");
    }
    let mut collector = Target::new("traces", vec![node]);
    collector.tls = tls(&raw.tls, "traces")?;
    Ok(Some(Traces { collector, path: path.to_owned(), sample: raw.sample.unwrap_or(Fraction::NONE) }))
}
