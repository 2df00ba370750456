//! What two answers of inference servers have in common and where they part.
//!
//! [`decode()`] turns the bytes of one answer into named, typed outputs (one file per protocol);
//! [`compare()`] turns two decoded answers into a [`Divergence`]: metrics, degenerate checks and one
//! [`Class`]. Pure: no I/O, no clock, no randomness; nothing is aggregated over many exchanges.
//!
//! Modules, top down: [`mod@compare`] uses [`mod@decode`], [`metric`], [`rules`], [`class`] and [`output`]; [`mod@signature`] and
//! [`mod@decode`] use [`rules`] and [`output`]; [`rules`] uses [`output`]; all use [`json`].

pub mod calibrate;
pub mod class;
pub mod compare;
pub mod decode;
pub mod json;
pub mod metric;
pub mod output;
mod profile;
pub mod rules;
pub mod signature;
pub mod statistics;

pub use calibrate::{Added, CalibrateError, Calibration};
pub use class::Class;
pub use compare::{
    Change, Changed, Changes, Divergence, Measures, OutputReport, Side, changes, compare, report, unused,
};
pub use decode::{Answer, Decoded, Fault, Protocol, Undecodable, decode, requested_model, samples};
pub use json::{Json, JsonError, Number, Printed};
pub use output::{DType, Kind, Output};
pub use rules::{
    BoxFormat, DetectionRule, JsonOutput, JsonRules, KeyedArray, Named, OutputRule, Path, PathTolerance,
    ProtocolRule, RankingRule, Rules, RulesError, Tolerance,
};
pub use signature::{Signature, signature};
pub use statistics::{Statistics, statistics};
