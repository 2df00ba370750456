//! The proxy between real sockets: scripted servers on both sides, a publisher that keeps what it is given.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod balance;
mod bounds;
mod broken;
mod bytes;
mod calls;
mod connections;
mod deadlines;
mod faults;
mod grpc;
mod http2;
mod identity;
mod protocols;
mod redaction;
mod release;
mod requests;
mod rewrite;
mod sampling;
mod selftest;
mod spread;
mod support;
mod traces;
mod transparency;
mod upgrades;
mod uploads;
mod upstreams;
