//! Names of nodes to addresses.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

/// The addresses of a name, when they are there.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Resolves names.
pub trait Resolve: Debug + Send + Sync {
    /// The addresses of `host` with the port; an empty list counts as an error.
    fn resolve(&self, host: &str, port: u16) -> Resolving;
}

/// What the operating system says: hosts file, DNS, and what else it is set up to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Resolve for System {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((host.as_str(), port)).await?.collect()) })
    }
}
