//! The servers and the load generator through real sockets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;
mod load;
mod race;
mod server;
