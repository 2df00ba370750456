//! What the tests of the whole path run on: real processes (the `shadowdiff` binary, an Apache Kafka broker,
//! Triton, Python) that die with the test, and readers of what they leave behind.
//!
//! Owns no product logic and calls none: it sees the product as its users do, through the command line,
//! HTTP, Kafka and Parquet. Everything waits on conditions with a deadline, and panics with what went wrong,
//! for a broken environment is a failed test.
//!
//! Modules, top down: [`broker`], [`triton`], [`python`] and [`shadowdiff`] use [`process`] and [`cache`];
//! [`load`] asks what [`faulty`] answers, both on [`scripted`]; [`set`], [`http`], [`ports`], [`wait`] and [`wire`] stand alone.

pub mod broker;
pub mod cache;
pub mod faulty;
pub mod http;
pub mod load;
pub mod ports;
pub mod process;
pub mod python;
pub mod scripted;
pub mod set;
pub mod shadowdiff;
pub mod triton;
pub mod wait;
pub mod wire;
