//! From messages to the recorded set: decodes and compares the two answers of each exchange and writes Parquet, each
//! message exactly once, whatever stage crashes at whatever point.
//!
//! [`record`] reads a Kafka topic as a member of a consumer group; [`Local`] takes the messages of a proxy in the same
//! process. The set itself, not Kafka, says where to go on: a file is named after the offsets it covers, and the
//! `exchanges` file of a range is its commit marker. Knows no HTTP; aggregates nothing.
//!
//! Modules, top down: `kafka` and `local` drive a `partition`, which fills and publishes files through `writer`, `rows`
//! (one table row per message) and `set` (names, what is there, what a crash left); `rotation` and `settings` are plain
//! values.

mod error;
#[cfg(test)]
mod fixture;
mod kafka;
mod local;
mod partition;
mod progress;
mod rotation;
mod rows;
mod set;
mod settings;
mod writer;

pub use error::RecordError;
pub use kafka::{Control, Source, record};
pub use local::Local;
pub use progress::Progress;
pub use rotation::{Fill, Rotation};
pub use settings::{Bodies, Settings};
