//! The reverse proxy: forwards each request to the primary, sends copies of some to the shadows, and publishes both
//! answers as one exchange.
//!
//! What it promises: the client never waits for a shadow or for the publisher; everything is bounded, and at a bound the copy is
//! dropped, never the primary; every ending of a leg makes a record. It does not decode answers and writes no files.
//!
//! Modules, top down: `server` starts and stops; `worker` accepts and serves, with `idle` to notice who is gone; `forward` is one request, with
//! `deadline`, `finish` and `upgrade`; `mirror` its copies and their pairing, `shadow` one copy; both use `head` and `upstream` (one target), which
//! uses `nodes`, `pool` and `dial`; below are `tee` (a body and its capture), `load`, `budget`, `sample`, `headers`, `grpc`, `orca`, `identity`, `notice` and `account`,
//! `rewrite` (what is changed for a target) and `redact` (what must not be recorded), both on `json`;
//! [`publish`] takes what is finished, `ledgers` their count; `probe` asks nodes what they are; `admin` and `metrics` tell how it goes; [`selftest`] asks all targets before;
//! [`config`] is what all are told,
//! and [`Control`] changes a part of it while they run.

mod account;
mod admin;
mod budget;
mod client;
pub mod config;
mod control;
mod deadline;
mod dial;
mod finish;
mod forward;
mod grpc;
mod head;
mod headers;
mod identity;
mod idle;
mod json;
mod ledgers;
mod load;
mod metrics;
mod mirror;
mod nodes;
mod notice;
mod orca;
mod own;
mod pool;
mod probe;
pub mod publish;
mod redact;
mod refuse;
mod reply;
pub mod resolve;
mod rewrite;
mod room;
mod sample;
pub mod selftest;
mod server;
mod shadow;
mod state;
mod tee;
mod traces;
mod unused;
mod upgrade;
mod upstream;
mod worker;

pub use config::Config;
pub use control::{ChangeError, Control};
pub use metrics::METRICS;
pub use server::{RunError, run, run_with};

/// Microseconds since the Unix epoch.
pub(crate) fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
