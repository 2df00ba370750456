//! The table `redact` of the file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Redact {
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) key_env: Option<String>,
    pub(crate) json: Vec<Json>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Json {
    pub(crate) path: String,
    pub(crate) action: String,
    #[serde(default)]
    pub(crate) route: Option<String>,
    #[serde(default)]
    pub(crate) body: Option<String>,
}
