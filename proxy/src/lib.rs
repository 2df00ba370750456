//! The reverse proxy: forwards each request to the primary, sends copies of some to the shadows, and publishes both
//! answers as one exchange.
//!
//! What it promises: the client never waits for a shadow or for the publisher; everything is bounded, and at a bound the copy is
//! dropped, never the primary; every ending of a leg makes a record. It does not decode answers and writes no files.
//!
//! Modules, top down: `server` accepts, with `idle` to notice who is gone; `forward` is one request; `mirror` its copies and their pairing; both use
//! `upstream` (one target), `tee` (a body and its capture), `load`, `budget`, `sample`, `headers`, `notice` and `account`;
//! [`publish`] takes what is finished; `admin` and `metrics` tell how it goes; [`config`] is what all are told.

mod account;
mod admin;
mod budget;
pub mod config;
mod forward;
mod headers;
mod idle;
mod load;
mod metrics;
mod mirror;
mod notice;
pub mod publish;
mod reply;
mod sample;
mod server;
mod state;
mod tee;
mod upstream;

pub use config::Config;
pub use metrics::METRICS;
pub use server::{RunError, run};

/// Microseconds since the Unix epoch.
pub(crate) fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
