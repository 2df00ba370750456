//! A bound on the connections to a node, over all workers: who finds it full takes one that is free, or waits for one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::nodes::NodeState;
use crate::upstream::Connection;

/// The places of a node's connections.
#[derive(Debug)]
pub(crate) struct Room {
    places: Arc<Semaphore>,
    /// Told when a connection has become free, or one that many share has been made.
    freed: Notify,
}

/// What a request gets for its wait.
pub(crate) enum Admitted {
    /// A connection that has carried requests before.
    Free(Connection),
    /// The right to make one, held while that is open.
    Place(OwnedSemaphorePermit),
}

impl Room {
    pub(crate) fn new(connections: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(connections)), freed: Notify::new() }
    }

    /// A connection for one request has been put back.
    pub(crate) fn freed(&self) {
        self.freed.notify_one();
    }

    /// A connection has been made that many share.
    pub(crate) fn shared(&self) {
        self.freed.notify_waiters();
    }

    /// Waits for a connection or the right to make one. The wait has no end of its own: whoever waits has a deadline.
    pub(crate) async fn admit(
        &self,
        node: &NodeState,
        worker: usize,
        http2: bool,
        idle: Duration,
    ) -> Admitted {
        let has = |peer: SocketAddr| node.has(peer);
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // From here on no telling is missed.
            freed.as_mut().enable();
            let pool = node.pool(worker);
            let own = if http2 {
                pool.shared(has).map(Connection::Shared)
            } else {
                pool.take(idle, has).map(Connection::Own)
            };
            if let Some(connection) = own {
                return Admitted::Free(connection);
            }
            if let Ok(place) = self.places.clone().try_acquire_owned() {
                return Admitted::Place(place);
            }
            // The node is full: another worker's connection is better than none.
            let others = if http2 {
                node.pools().find_map(|pool| pool.crowded(has)).map(Connection::Shared)
            } else {
                node.pools().find_map(|pool| pool.take(idle, has)).map(Connection::Own)
            };
            if let Some(connection) = others {
                return Admitted::Free(connection);
            }
            // One that waits to speak the other HTTP makes room.
            node.pools().any(|pool| pool.let_go(http2));
            tokio::select! {
                place = self.places.clone().acquire_owned() => {
                    if let Ok(place) = place {
                        return Admitted::Place(place);
                    }
                }
                () = freed => {}
            }
        }
    }
}
