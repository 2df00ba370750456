//! From a recorded set to a verdict: one pass over the Parquet files into mergeable accumulators, statistics on the small
//! tables, a judgement, reports.
//!
//! Modules, top down: [`report`] renders a [`Summary`]; `judge` makes it, with the rules of [`verdict`], from an accumulator;
//! `scan` reads files into accumulators; [`stats`] holds the formulas. Pure but for reading the files: no clock, no
//! randomness, so the same files give the same bytes. Two answers are never compared here: the set's divergence columns say.

pub mod stats;
