//! Rules for JSON of no known shape.

use serde::{Deserialize, Serialize};

use super::{Path, RulesError, Tolerance, non_negative};

/// How two JSON trees are compared. Paths that select nothing do nothing, and are reported as unused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JsonRules {
    /// Fields of the outermost object, or of each event of a stream, that are new in every answer: they are left out when it is read.
    pub volatile: Vec<String>,
    /// Values to leave out, with all that is in them.
    pub ignore: Vec<Path>,
    /// Arrays of which the order means nothing.
    pub unordered: Vec<Path>,
    /// Arrays of objects paired by a field.
    pub keyed: Vec<KeyedArray>,
    /// Tolerances of numbers, with all that is in the values the path selects; the last that matches counts. Others have that of `FP32`.
    pub tolerances: Vec<PathTolerance>,
}

/// What servers write of a single request, whatever they answer.
const VOLATILE: [&str; 11] = [
    "created",
    "created_at",
    "id",
    "metrics",
    "requestId",
    "request_id",
    "system_fingerprint",
    "timestamp",
    "timings",
    "traceId",
    "trace_id",
];

impl Default for JsonRules {
    fn default() -> Self {
        Self {
            volatile: VOLATILE.map(str::to_owned).to_vec(),
            ignore: Vec::new(),
            unordered: Vec::new(),
            keyed: Vec::new(),
            tolerances: Vec::new(),
        }
    }
}

/// An array of objects paired by a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyedArray {
    /// The array.
    pub path: Path,
    /// The field whose value names an object.
    pub key: String,
}

/// The tolerance of the numbers at a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathTolerance {
    /// The numbers, or what holds them.
    pub path: Path,
    /// Relative part, a fraction.
    pub rtol: f64,
    /// Absolute part, in the unit of the numbers.
    pub atol: f64,
}

impl PathTolerance {
    /// The tolerance.
    #[must_use]
    pub fn tolerance(&self) -> Tolerance {
        Tolerance { rtol: self.rtol, atol: self.atol }
    }
}

impl JsonRules {
    pub(super) fn validate(&self) -> Result<(), RulesError> {
        self.tolerances.iter().try_for_each(|rule| {
            non_negative(&format!("json.tolerances.{}.rtol", rule.path.as_str()), rule.rtol)?;
            non_negative(&format!("json.tolerances.{}.atol", rule.path.as_str()), rule.atol)
        })
    }
}
