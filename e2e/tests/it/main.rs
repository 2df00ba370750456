//! Tests of the whole path, by behaviour.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod tidy;
