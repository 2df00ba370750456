//! Tests of the whole path, by behaviour.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_answers;
mod bad_input;
mod demo;
mod fake;
mod kafka_faults;
mod ranker;
mod real_servers;
mod recorder_crash;
mod tidy;
mod without_kafka;
