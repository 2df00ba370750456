//! From a recorded set to a verdict: one pass over the Parquet files into mergeable accumulators, statistics on the small
//! tables, a judgement, reports.
//!
//! Modules, top down: [`report`] renders a [`Summary`]; [`summary`] makes it, with the rules of [`verdict`], from an
//! accumulator; `scan` reads files into accumulators; [`stats`] holds the formulas. Pure but for reading the files: no clock,
//! no randomness, so the same files give the same bytes. Two answers are never compared here: the divergence columns say.

mod accumulate;
mod error;
mod number;
pub mod report;
mod row;
mod scan;
pub mod stats;
pub mod summary;
mod text;
pub mod verdict;
mod view;

use std::path::Path;

pub use error::AnalyzeError;
pub use summary::Summary;

/// What to judge by.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Load levels that the in-flight counts are divided into.
    pub load_bins: usize,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Highest rate of serious divergence that may pass.
    pub min_rate: f64,
    /// Examples kept per class and shown.
    pub worst: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { load_bins: 8, confidence: 0.95, min_rate: 1e-3, worst: 20 }
    }
}

impl Options {
    /// Out of these ranges the formulas have no value, or a report no end.
    fn check(&self) -> Result<(), AnalyzeError> {
        let checks = [
            ("load_bins", self.load_bins as f64, 1.0..=100.0, "1 to 100"),
            ("confidence", self.confidence, 0.5..=0.999_999, "0.5 to 0.999999"),
            ("min_rate", self.min_rate, 1e-9..=0.5, "1e-9 to 0.5"),
            ("worst", self.worst as f64, 0.0..=1000.0, "0 to 1000"),
        ];
        for (name, value, range, allowed) in checks {
            if !range.contains(&value) {
                return Err(AnalyzeError::Option { name, value, allowed });
            }
        }
        Ok(())
    }
}

/// How far the pass has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Files read to their end.
    pub files_done: usize,
    /// Files in the set.
    pub files: usize,
    /// Exchanges read.
    pub rows: u64,
}

/// Analyses the recorded set in `dir`; `on_progress` is called from several threads while files are read.
///
/// # Errors
/// When the folder or one of its files cannot be read as a recorded set.
pub fn analyze(
    dir: &Path,
    options: &Options,
    on_progress: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, AnalyzeError> {
    options.check()?;
    let accumulator = scan::scan(dir, options, on_progress)?;
    Ok(summary::make(&accumulator, options))
}
