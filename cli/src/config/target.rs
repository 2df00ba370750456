//! The listener and the targets of the file, and the nodes of the flags, as the proxy's validated configuration.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use proxy::config::{
    Balance, ClientTls, Ejection, HostPolicy, Listener, Node, Protocol, Rewrite, ServerTls, Target, Verify,
};

use super::{identity, raw, rewrite};

/// Deadline of the head of the primary's answer without a word about it.
const PRIMARY_TIMEOUT: Duration = Duration::from_secs(60);

/// Deadline of a shadow's whole answer without a word about it.
const SHADOW_TIMEOUT: Duration = Duration::from_secs(30);

/// Requests under way at once on a shadow without a word about it; more wait.
const SHADOW_INFLIGHT: usize = 1024;

/// Failures in a row after which a node of the primary is passed over, without a word about it.
const EJECT_FAILURES: u32 = 5;

/// For how long, the first time.
const EJECT_TIME: Duration = Duration::from_secs(10);

/// How clients are served.
///
/// # Errors
/// When a certificate has no key or the other way round.
pub(crate) fn listener(raw: &raw::Listener) -> anyhow::Result<Listener> {
    let default = Listener::default();
    let tls = match (&raw.cert, &raw.key) {
        (Some(cert), Some(key)) => {
            Some(ServerTls { cert: cert.clone(), key: key.clone(), client_ca: raw.client_ca.clone() })
        }
        (None, None) if raw.client_ca.is_some() => {
            bail!("client_ca of [listener]: it needs cert and key as well")
        }
        (None, None) => None,
        _ => bail!("cert and key of [listener]: give both or none"),
    };
    Ok(Listener {
        tls,
        head_bytes: raw.head_bytes.unwrap_or(default.head_bytes),
        head_timeout: raw.head_timeout_ms.map_or(default.head_timeout, Duration::from_millis),
        streams: raw.streams.unwrap_or(default.streams),
    })
}

/// The primary: `timeout_ms` is the deadline of the head of its answer, and nodes that keep failing are passed over.
///
/// # Errors
/// When a value is none.
pub(crate) fn primary(raw: &raw::Target, urls: &[String]) -> anyhow::Result<Target> {
    let mut target = target(raw, urls, "primary")?;
    let first_byte = raw.first_byte_timeout_ms.or(raw.timeout_ms);
    target.first_byte_timeout = Some(first_byte.map_or(PRIMARY_TIMEOUT, Duration::from_millis));
    if let Some(upload) = raw.upload_timeout_ms {
        target.upload_timeout = Some(Duration::from_millis(upload));
    }
    target.eject = ejection(raw, EJECT_FAILURES);
    target.rewrite = rewrite_of(raw, false, &target.name)?;
    Ok(target)
}

/// A shadow: `timeout_ms` is the deadline of its whole answer, and a node that fails is asked again, as every failure is data.
///
/// # Errors
/// When a value is none.
pub(crate) fn shadow_target(raw: &raw::Target, urls: &[String], name: &str) -> anyhow::Result<Target> {
    let mut target = target(raw, urls, name)?;
    ensure!(
        raw.upload_timeout_ms.is_none(),
        "upload_timeout_ms of {}: it is for clients, so give it to the primary",
        target.name
    );
    let total = raw.total_timeout_ms.or(raw.timeout_ms);
    target.total_timeout = Some(total.map_or(SHADOW_TIMEOUT, Duration::from_millis));
    // What would wait for a connection waits in order of arrival instead.
    let default = match raw.max_connections {
        Some(connections)
            if target.protocol != Protocol::Http2 && !target.nodes.iter().any(|node| node.expand) =>
        {
            connections.saturating_mul(target.nodes.len()).min(SHADOW_INFLIGHT)
        }
        _ => SHADOW_INFLIGHT,
    };
    target.inflight = Some(raw.max_inflight.unwrap_or(default));
    target.eject = ejection(raw, 0);
    target.rewrite = rewrite_of(raw, true, &target.name)?;
    Ok(target)
}

fn rewrite_of(raw: &raw::Target, copies: bool, name: &str) -> anyhow::Result<Rewrite> {
    rewrite::rewrite(&raw.rewrite, copies).with_context(|| format!("rewrite of {name}"))
}

fn ejection(raw: &raw::Target, default: u32) -> Option<Ejection> {
    let failures = raw.eject_failures.unwrap_or(default);
    let time = raw.eject_ms.map_or(EJECT_TIME, Duration::from_millis);
    (failures > 0).then_some(Ejection { failures, time })
}

fn target(raw: &raw::Target, urls: &[String], name: &str) -> anyhow::Result<Target> {
    let name = raw.name.clone().unwrap_or_else(|| name.to_owned());
    let nodes = if urls.is_empty() {
        raw.nodes.iter().map(node).collect::<anyhow::Result<Vec<_>>>()
    } else {
        urls.iter().map(|url| Ok(url.parse::<Node>()?)).collect()
    };
    let mut target = Target::new(name, Vec::new());
    target.nodes = nodes.with_context(|| format!("nodes of {}", target.name))?;
    let millis = |value: Option<u64>, default| value.map_or(default, Duration::from_millis);
    target.balance = balance(raw, &target.name)?;
    target.inflight = raw.max_inflight;
    target.connections = raw.max_connections;
    target.first_byte_timeout = raw.first_byte_timeout_ms.map(Duration::from_millis);
    target.total_timeout = raw.total_timeout_ms.map(Duration::from_millis);
    target.connect_timeout = millis(raw.connect_timeout_ms, target.connect_timeout);
    target.idle_timeout = millis(raw.idle_timeout_ms, target.idle_timeout);
    target.resolve_every = millis(raw.resolve_every_ms, target.resolve_every).max(Duration::from_millis(100));
    target.host = match raw.host.as_deref() {
        None | Some("preserve") => HostPolicy::Preserve,
        Some("node") => HostPolicy::Node,
        Some(name) => HostPolicy::Fixed(name.parse().with_context(|| {
            format!("host `{name}` of {}: write preserve, node, or a host name", target.name)
        })?),
    };
    target.protocol = match raw.protocol.as_deref() {
        None | Some("auto") => Protocol::Auto,
        Some("http1") => Protocol::Http1,
        Some("http2") => Protocol::Http2,
        Some(other) => bail!("protocol `{other}` of {}: write auto, http1 or http2", target.name),
    };
    target.tls = tls(&raw.tls, &target.name)?;
    target.identity =
        identity::identity(&raw.identity).with_context(|| format!("identity of {}", target.name))?;
    Ok(target)
}

fn balance(raw: &raw::Target, name: &str) -> anyhow::Result<Balance> {
    Ok(match (raw.balance.as_deref(), &raw.balance_header) {
        (None | Some("round_robin"), None) => Balance::RoundRobin,
        (Some("least_of_two"), None) => Balance::LeastOfTwo,
        (None | Some("hash"), Some(header)) => Balance::Hash(
            header
                .parse()
                .with_context(|| format!("balance_header `{header}` of {name} is no header name"))?,
        ),
        (Some("hash"), None) => {
            bail!("balance of {name}: hash needs balance_header, the header that is hashed")
        }
        (Some("round_robin" | "least_of_two"), Some(_)) => {
            bail!("balance_header of {name}: it belongs to balance = \"hash\"")
        }
        (Some(other), _) => bail!("balance `{other}` of {name}: write round_robin, least_of_two or hash"),
    })
}

pub(crate) fn tls(raw: &raw::Tls, name: &str) -> anyhow::Result<ClientTls> {
    let verify = match (&raw.ca, raw.verify) {
        (Some(_), Some(false)) => bail!("tls of {name}: ca and verify = false contradict each other"),
        (Some(ca), _) => Verify::Ca(ca.clone()),
        (None, Some(false)) => Verify::Off,
        (None, _) => Verify::System,
    };
    let identity = match (&raw.cert, &raw.key) {
        (Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
        (None, None) => None,
        _ => bail!("tls of {name}: give cert and key, or none of them"),
    };
    Ok(ClientTls { verify, server_name: raw.server_name.clone(), identity })
}

fn node(raw: &raw::Node) -> anyhow::Result<Node> {
    match raw {
        raw::Node::Url(url) => Ok(url.parse()?),
        raw::Node::Table(table) => {
            let labels = table.labels.clone().into_iter().collect();
            let mut node = table.url.parse::<Node>()?.with_labels(labels);
            if let Some(name) = &table.name {
                node.name.clone_from(name);
            }
            Ok(node)
        }
    }
}
