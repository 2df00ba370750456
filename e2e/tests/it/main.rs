//! Tests of the whole path, by behaviour.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_answers;
mod bad_input;
mod clients;
mod delivery;
mod demo;
mod fake;
mod http2;
mod isolation;
mod kafka_faults;
mod ranker;
mod real_servers;
mod recorder_crash;
mod reload;
mod spool_faults;
mod three_ways;
mod tidy;
mod tls;
mod wire;
mod without_kafka;
