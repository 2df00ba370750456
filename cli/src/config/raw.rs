//! The file as it is written: every key optional, unknown keys refused, units in the names.
//! `docs/shadowdiff.toml` explains each key; a test holds the two together.

pub(crate) mod identity;
pub(crate) mod redact;
pub(crate) mod rewrite;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use proxy::config::{Fraction, Route};
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Raw {
    pub(crate) proxy: Proxy,
    pub(crate) listener: Listener,
    pub(crate) limits: Limits,
    pub(crate) traces: Traces,
    pub(crate) primary: Target,
    pub(crate) shadow: Vec<Target>,
    pub(crate) sampling: Sampling,
    pub(crate) route: Vec<Route>,
    pub(crate) redact: redact::Redact,
    pub(crate) self_test: SelfTest,
    pub(crate) kafka: Kafka,
    pub(crate) record: Record,
    pub(crate) compare: divergence::Rules,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Proxy {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) name: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) secrets: Vec<String>,
    pub(crate) ledger_every_ms: Option<u64>,
    pub(crate) drain_ms: Option<u64>,
    pub(crate) threads: Option<usize>,
    pub(crate) runtime: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SelfTest {
    pub(crate) method: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body_file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Listener {
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) head_bytes: Option<usize>,
    pub(crate) head_timeout_ms: Option<u64>,
    pub(crate) streams: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    pub(crate) connections: Option<usize>,
    pub(crate) mirror_inflight: Option<usize>,
    pub(crate) mirror_bytes: Option<usize>,
    pub(crate) body_bytes: Option<usize>,
    pub(crate) message_bytes: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Target {
    pub(crate) name: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) balance: Option<String>,
    pub(crate) balance_header: Option<String>,
    pub(crate) eject_failures: Option<u32>,
    pub(crate) eject_ms: Option<u64>,
    pub(crate) max_inflight: Option<usize>,
    pub(crate) max_connections: Option<usize>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) upload_timeout_ms: Option<u64>,
    pub(crate) first_byte_timeout_ms: Option<u64>,
    pub(crate) total_timeout_ms: Option<u64>,
    pub(crate) connect_timeout_ms: Option<u64>,
    pub(crate) idle_timeout_ms: Option<u64>,
    pub(crate) resolve_every_ms: Option<u64>,
    pub(crate) host: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) rewrite: rewrite::Rewrite,
    pub(crate) identity: identity::Identity,
    pub(crate) tls: Tls,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tls {
    pub(crate) ca: Option<PathBuf>,
    pub(crate) server_name: Option<String>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) verify: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Traces {
    pub(crate) endpoint: Option<String>,
    pub(crate) sample: Option<Fraction>,
    pub(crate) tls: Tls,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a node is \"http://HOST:PORT\" or { url = \"http://HOST:PORT\", name = \"…\", labels = { … } }"
)]
pub(crate) enum Node {
    Url(String),
    Table(NodeTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeTable {
    pub(crate) url: String,
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sampling {
    pub(crate) sample: Option<Fraction>,
    pub(crate) by: Option<String>,
    pub(crate) seed: Option<u64>,
    pub(crate) max_per_second: Option<f64>,
    pub(crate) burst: Option<f64>,
    pub(crate) start_at: Option<String>,
    pub(crate) stop_at: Option<String>,
    pub(crate) for_ms: Option<u64>,
    pub(crate) copies: BTreeMap<String, f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Kafka {
    pub(crate) brokers: Option<String>,
    pub(crate) topic: Option<String>,
    pub(crate) queue_messages: Option<u32>,
    pub(crate) queue_kib: Option<u32>,
    pub(crate) delivery_timeout_ms: Option<u64>,
    pub(crate) spool: Option<PathBuf>,
    pub(crate) spool_bytes: Option<u64>,
    pub(crate) options: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Record {
    pub(crate) out: Option<PathBuf>,
    pub(crate) group: Option<String>,
    pub(crate) file_rows: Option<u64>,
    pub(crate) file_bytes: Option<u64>,
    pub(crate) file_age_ms: Option<u64>,
    pub(crate) bodies: Option<String>,
    pub(crate) values_cap: Option<usize>,
}
