//! One client connection, as its requests see it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use crate::idle::Moved;

/// A client connection.
#[derive(Debug)]
pub(crate) struct Client {
    /// Number of the connection within the run, from 1.
    pub(crate) number: u64,
    /// Which worker serves it.
    pub(crate) worker: usize,
    /// When bytes last moved on it.
    pub(crate) moved: Arc<Moved>,
    /// How long nothing may move on it.
    pub(crate) idle: Duration,
    /// Its place among the connections; taken until nothing of it is left.
    pub(crate) _place: OwnedSemaphorePermit,
}
