//! The rules of decoding and comparing: tolerances, paths, thresholds. They come from the configuration and are named by a hash
//! that is stored with every row they judged.

mod groups;
mod output;
mod path;
mod protocol;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{DType, Protocol};
pub use groups::{BoxFormat, DetectionRule, RankingRule};
pub use output::{OutputRule, Tolerance};
pub use path::{JsonOutput, Path};
pub use protocol::{Named, ProtocolRule};
pub use tree::{JsonRules, KeyedArray, PathTolerance};

/// Grows when a default or the meaning of a rule changes, so that rows judged differently never share a hash.
const RULES_VERSION: u32 = 2;

/// What to compare and how closely. Parsed from the `[compare]` table of the configuration file; a parsed value is valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct Rules {
    /// Names of the outputs to compare; all when empty.
    pub include: Vec<String>,
    /// Names of outputs to leave out.
    pub ignore: Vec<String>,
    /// Tolerances by type, over the defaults. Numbers with a fraction in an answer that declares no type (V1, free JSON) are
    /// judged as `FP32`: such servers print single-precision scores.
    pub tolerances: BTreeMap<DType, Tolerance>,
    /// Rules by name of output; they win over those by type.
    pub outputs: BTreeMap<String, OutputRule>,
    /// Outputs to take from JSON answers by path. They win over the known formats for the request paths they name.
    pub json_paths: Vec<JsonOutput>,
    /// Protocols of request paths whose answers do not show theirs, or seem to be of another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolRule>,
    /// Pairs of outputs that are a ranking: ids, best first, and perhaps their scores.
    pub rankings: Vec<RankingRule>,
    /// Groups of outputs that are detections: boxes, scores, classes.
    pub detections: Vec<DetectionRule>,
    /// How JSON of no known shape is compared.
    pub json: JsonRules,
    /// Depth of the overlap of rankings and rows of scores.
    pub top_k: usize,
    /// Smallest cosine of two embeddings that agree.
    pub embedding_cosine: f64,
    /// Largest |norm ratio − 1| of two embeddings that agree.
    pub embedding_norm: f64,
    /// Two generated tokens are a near tie where each is at most so many nats below the other, on both sides.
    pub near_tie_nats: f64,
    /// Gross from this |log10(|S| / |P|)| on; 0.7 is a factor of five.
    pub gross_log10_ratio: f64,
    /// Gross from this many tolerance units on.
    pub gross_tolerance_units: f64,
    /// Gross below this cosine of an output.
    pub gross_cosine: f64,
    /// Magnitude below which ratios and signs mean nothing; the absolute tolerance of the output when that is larger.
    pub floor: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            ignore: Vec::new(),
            tolerances: BTreeMap::new(),
            outputs: BTreeMap::new(),
            json_paths: Vec::new(),
            protocols: Vec::new(),
            rankings: Vec::new(),
            detections: Vec::new(),
            json: JsonRules::default(),
            top_k: 10,
            embedding_cosine: 0.999,
            embedding_norm: 0.01,
            near_tie_nats: 0.1,
            gross_log10_ratio: 0.7,
            gross_tolerance_units: 100.0,
            gross_cosine: 0.9,
            floor: 1e-9,
        }
    }
}

/// Why rules are refused.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum RulesError {
    /// A path that cannot be read.
    #[error("path `{path}`: {reason}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A number outside its range.
    #[error("{field} is {value}: give a number that is {range}")]
    Number {
        /// Name of the setting.
        field: String,
        /// Its value.
        value: String,
        /// What is allowed.
        range: &'static str,
    },
    /// Two paths for one output of one request path.
    #[error(
        "output `{name}` has two paths for the same requests: give one, or a different request_path each"
    )]
    Duplicate {
        /// Name of the output.
        name: String,
    },
    /// An output that belongs to two rankings or detections.
    #[error("output `{name}` is in two of rankings and detections: leave it in one")]
    Shared {
        /// Name of the output.
        name: String,
    },
    /// A protocol that is not known.
    #[error("protocol `{name}` is not known: give one of {known}")]
    Protocol {
        /// As it was given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// An output both included and ignored.
    #[error("output `{name}` is both in include and in ignore: take it out of one")]
    Contradiction {
        /// Name of the output.
        name: String,
    },
}

impl Rules {
    /// Hash of the rules, 16 hex digits: equal rules give equal hashes on every machine and release of the same schema.
    #[must_use]
    pub fn hash(&self) -> String {
        let defaults = DType::ALL.map(Tolerance::default_of);
        // Own fields only, all of them serializable: an error cannot happen, and would give one constant hash.
        let canonical = serde_json::to_vec(&(RULES_VERSION, defaults, self)).unwrap_or_default();
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&canonical))
    }

    /// Checks what single fields cannot: ranges, duplicates, contradictions. Deserialized rules have passed it.
    ///
    /// # Errors
    /// The first setting that is wrong, by name.
    pub fn validate(&self) -> Result<(), RulesError> {
        for (dtype, tolerance) in &self.tolerances {
            let name = dtype.as_str();
            non_negative(&format!("tolerances.{name}.rtol"), tolerance.rtol)?;
            non_negative(&format!("tolerances.{name}.atol"), tolerance.atol)?;
        }
        for (name, rule) in &self.outputs {
            rule.validate(name)?;
        }
        self.detections.iter().try_for_each(DetectionRule::validate)?;
        self.json.validate()?;
        number("top_k", self.top_k as f64, self.top_k > 0, "above 0")?;
        let cosine = self.embedding_cosine;
        number("embedding_cosine", cosine, (-1.0..1.0).contains(&cosine), "from -1 to below 1")?;
        let norm = self.embedding_norm;
        number("embedding_norm", norm, norm > 0.0 && norm.is_finite(), "above 0")?;
        non_negative("near_tie_nats", self.near_tie_nats)?;
        let ratio = self.gross_log10_ratio;
        number("gross_log10_ratio", ratio, ratio > 0.0 && ratio.is_finite(), "above 0")?;
        let units = self.gross_tolerance_units;
        number("gross_tolerance_units", units, units >= 1.0 && units.is_finite(), "1 or more")?;
        let cosine = self.gross_cosine;
        number("gross_cosine", cosine, (-1.0..=1.0).contains(&cosine), "from -1 to 1")?;
        non_negative("floor", self.floor)?;
        if let Some(name) = self.include.iter().find(|name| self.ignore.contains(name)) {
            return Err(RulesError::Contradiction { name: name.clone() });
        }
        let mut seen = BTreeSet::new();
        let groups = self.rankings.iter().flat_map(RankingRule::names);
        for name in groups.chain(self.detections.iter().flat_map(DetectionRule::names)) {
            if !seen.insert(name) {
                return Err(RulesError::Shared { name: name.to_owned() });
            }
        }
        let mut seen = BTreeSet::new();
        for output in &self.json_paths {
            if !seen.insert((&output.name, &output.request_path)) {
                return Err(RulesError::Duplicate { name: output.name.clone() });
            }
        }
        Ok(())
    }

    /// The protocol that a rule says the answers to requests of `path` are of.
    #[must_use]
    pub fn protocol(&self, path: &str) -> Option<Protocol> {
        let fit = self.protocols.iter().filter(|rule| path.starts_with(&rule.request_path));
        fit.max_by_key(|rule| rule.request_path.len()).map(|rule| rule.named.0)
    }

    /// Whether the output of that name is compared.
    #[must_use]
    pub fn compares(&self, name: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|entry| entry == name);
        (self.include.is_empty() || named(&self.include)) && !named(&self.ignore)
    }

    /// Tolerance of an output. `declared` says whether the answer gave the type itself.
    #[must_use]
    pub fn tolerance(&self, name: &str, dtype: DType, declared: bool) -> Tolerance {
        let dtype = if declared || dtype != DType::Fp64 { dtype } else { DType::Fp32 };
        let by_type = self.tolerances.get(&dtype).copied().unwrap_or_else(|| Tolerance::default_of(dtype));
        let rule = self.output(name);
        // Rounding of a quantised value may go either way by one step.
        let (rtol, atol) = rule.step.map_or((by_type.rtol, by_type.atol), |step| (0.0, 1.01 * step));
        Tolerance { rtol: rule.rtol.unwrap_or(rtol), atol: rule.atol.unwrap_or(atol) }
    }

    /// What is special about an output.
    #[must_use]
    pub fn output(&self, name: &str) -> OutputRule {
        self.outputs.get(name).copied().unwrap_or_default()
    }
}

fn number(field: &str, value: f64, right: bool, range: &'static str) -> Result<(), RulesError> {
    if right {
        return Ok(());
    }
    Err(RulesError::Number { field: field.to_owned(), value: value.to_string(), range })
}

fn non_negative(field: &str, value: f64) -> Result<(), RulesError> {
    number(field, value, value >= 0.0 && value.is_finite(), "0 or more and finite")
}

// `remote = "Self"` derives the field-wise code as inherent functions; these add the check of the whole.
impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rules = Self::deserialize(deserializer)?;
        rules.validate().map_err(serde::de::Error::custom)?;
        Ok(rules)
    }
}

impl Serialize for Rules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}
