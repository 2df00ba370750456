//! What a demonstration and the end-to-end tests need on both sides of the proxy: model servers with planted faults, and
//! the load that brings the faults out.
//!
//! [`server`] answers the Open Inference Protocol V2 with the click ranker of [`model`]; [`load`] sends it made-up
//! impressions at rising concurrency over [`client`] connections. It knows nothing of the proxy, Kafka or the analyzer:
//! the faults are in the servers alone, and must be found from the recorded answers.
//!
//! Modules, top down: [`server`] and [`load`] use [`model`] and [`client`], which use [`random`].

pub mod client;
pub mod load;
pub mod model;
pub mod random;
pub mod server;

pub use load::{LoadError, LoadReport, Progress, Step, StepReport};
pub use model::Ranker;
pub use server::{Fault, FaultError, ServerOptions, serve};
