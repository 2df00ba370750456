//! The tables `primary.rewrite` and `shadow.rewrite` of the file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rewrite {
    pub(crate) set_headers: BTreeMap<String, String>,
    pub(crate) remove_headers: Vec<String>,
    pub(crate) authorization_file: Option<PathBuf>,
    pub(crate) authorization_env: Option<String>,
    pub(crate) strip_prefix: Option<String>,
    pub(crate) add_prefix: Option<String>,
    pub(crate) models: BTreeMap<String, Model>,
    pub(crate) mark: Option<String>,
    pub(crate) idempotency_suffix: Option<String>,
    pub(crate) trace: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a model is \"NAME\" or { name = \"NAME\", version = \"VERSION\" }")]
pub(crate) enum Model {
    Name(String),
    Table(ModelTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelTable {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}
