//! The rules of decoding and comparing: tolerances, paths, thresholds. They come from the configuration and are named by a hash
//! that is stored with every row they judged.

use serde::{Deserialize, Serialize};

/// What to compare and how closely. Parsed from the `[compare]` table of the configuration file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {}

impl Rules {
    /// Hash of the rules, 16 hex digits: equal rules give equal hashes on every machine and release of the same schema.
    #[must_use]
    pub fn hash(&self) -> String {
        let canonical = serde_json::to_vec(self).unwrap_or_default();
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&canonical))
    }
}
