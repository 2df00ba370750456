//! The tables `primary.identity` and `shadow.identity` of the file.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Identity {
    pub(crate) header: Option<String>,
    pub(crate) json: Option<String>,
    pub(crate) known: Option<bool>,
    pub(crate) label_headers: BTreeMap<String, String>,
    pub(crate) metadata: bool,
    pub(crate) probe: Vec<Probe>,
    pub(crate) probe_every_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    pub(crate) path: String,
    pub(crate) labels: BTreeMap<String, String>,
}
