//! The nodes of a target, shared by all workers: which one gets the next request, which are passed over, and which there are
//! while names resolve to other addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use exchange::{Ending, Leg, Pairs};
use http::HeaderMap;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::config::{Balance, Ejection, Node, Target};
use crate::identity::{self, Naming};
use crate::load::{Load, Total};
use crate::notice::Notice;
use crate::pool::Pool;
use crate::resolve::Resolve;
use crate::room::Room;

/// How many times as long as the first time a node is passed over at most.
const LONGEST: u32 = 10;

/// One node with all that is known of it while the proxy runs.
#[derive(Debug)]
pub(crate) struct NodeState {
    pub(crate) node: Node,
    pub(crate) load: Arc<Load>,
    pub(crate) naming: Arc<Naming>,
    /// Those of the configuration and those that it was asked for.
    labels: ArcSwap<Pairs>,
    /// Empty until its name has been resolved.
    addresses: ArcSwap<Vec<SocketAddr>>,
    pools: Vec<Pool>,
    /// Where its connections are bounded.
    pub(crate) room: Option<Room>,
    notice: Notice,
    begun: Instant,
    failures: AtomicU32,
    ejections: AtomicU32,
    /// Milliseconds from `begun` until which it is passed over.
    ejected_until: AtomicU64,
}

impl NodeState {
    fn new(node: Node, addresses: Vec<SocketAddr>, of: &Shared) -> Arc<Self> {
        Arc::new(Self {
            labels: ArcSwap::from_pointee(node.labels.clone()),
            node,
            load: Load::new(of.total.clone()),
            naming: of.naming.clone(),
            addresses: ArcSwap::from_pointee(addresses),
            // One more, for requests of the proxy's own.
            pools: (0..=of.workers).map(|_| Pool::new()).collect(),
            room: of.connections.map(Room::new),
            notice: Notice::new(),
            begun: Instant::now(),
            failures: AtomicU32::new(0),
            ejections: AtomicU32::new(0),
            ejected_until: AtomicU64::new(0),
        })
    }

    pub(crate) fn pool(&self, worker: usize) -> &Pool {
        &self.pools[worker]
    }

    /// Those of all workers.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &Pool> {
        self.pools.iter()
    }

    /// What is known of the node, sorted by name.
    pub(crate) fn labels(&self) -> Arc<Pairs> {
        self.labels.load_full()
    }

    /// Takes what the node says of itself; what the configuration says goes before.
    pub(crate) fn asked(&self, found: &Pairs) {
        let mut labels = self.node.labels.clone();
        for (name, value) in found {
            if !self.node.labels.iter().any(|(known, _)| known == name) {
                identity::set(&mut labels, name, value.clone());
            }
        }
        if *self.labels.load().as_ref() != labels {
            let text = labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
            tracing::info!(node = self.node.name, labels = text.join(" "), "what a node says of itself");
            self.labels.store(Arc::new(labels));
        }
    }

    pub(crate) fn addresses(&self) -> Arc<Vec<SocketAddr>> {
        self.addresses.load_full()
    }

    pub(crate) fn set_addresses(&self, addresses: Vec<SocketAddr>) {
        if *self.addresses.load().as_ref() != addresses {
            self.addresses.store(Arc::new(addresses));
        }
    }

    /// Whether the node still has that address, as far as is known.
    pub(crate) fn has(&self, address: SocketAddr) -> bool {
        let addresses = self.addresses.load();
        addresses.is_empty() || addresses.contains(&address)
    }

    fn millis(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.begun).as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether it is passed over at `now`.
    pub(crate) fn ejected(&self, now: Instant) -> bool {
        self.millis(now) < self.ejected_until.load(Ordering::Relaxed)
    }

    /// Notes how a leg on it ended; tells now and then of failures.
    pub(crate) fn note(&self, target: &Target, leg: &Leg, now: Instant) {
        if leg.outcome.ending() != Ending::Failed {
            self.failures.store(0, Ordering::Relaxed);
            if leg.outcome.ending() == Ending::Answered && !self.ejected(now) {
                self.ejections.store(0, Ordering::Relaxed);
            }
            return;
        }
        self.notice.failed(&target.name, leg);
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(Ejection { failures: limit, time }) = target.eject
            && failures >= limit
            && !self.ejected(now)
        {
            let times = (self.ejections.fetch_add(1, Ordering::Relaxed) + 1).min(LONGEST);
            let until = now + time * times;
            self.failures.store(0, Ordering::Relaxed);
            self.ejected_until.store(self.millis(until), Ordering::Relaxed);
            tracing::warn!(
                target_name = target.name,
                node = self.node.name,
                for_ms = (time * times).as_millis() as u64,
                "a node keeps failing and is passed over"
            );
        }
    }
}

/// What the nodes of a target have in common.
#[derive(Debug)]
struct Shared {
    workers: usize,
    naming: Arc<Naming>,
    total: Total,
    connections: Option<usize>,
}

/// The nodes.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub(crate) target: Target,
    shared: Shared,
    set: ArcSwap<Vec<Arc<NodeState>>>,
    next: AtomicUsize,
}

/// The address that a node's host is, when it is no name.
fn literal(node: &Node) -> Option<SocketAddr> {
    let host = node.authority.host().trim_start_matches('[').trim_end_matches(']');
    let ip: IpAddr = host.parse().ok()?;
    Some(SocketAddr::new(ip, node.authority.port_u16()?))
}

impl Nodes {
    pub(crate) fn new(target: Target, workers: usize) -> Self {
        let fixed = target.nodes.iter().filter(|node| !node.expand || literal(node).is_some());
        let naming = Arc::new(Naming::new(target.identity.clone()));
        let shared = Shared { workers, naming, total: Total::default(), connections: target.connections };
        let state = |node: &Node| NodeState::new(node.clone(), literal(node).into_iter().collect(), &shared);
        let set = fixed.map(state).collect();
        Self { target, shared, set: ArcSwap::from_pointee(set), next: AtomicUsize::new(0) }
    }

    /// What gives the nodes their names.
    pub(crate) fn naming(&self) -> &Naming {
        &self.shared.naming
    }

    /// Requests under way per node, rounded down.
    pub(crate) fn inflight(&self) -> u32 {
        self.shared.total.inflight() / u32::try_from(self.set.load().len().max(1)).unwrap_or(u32::MAX)
    }

    /// Whether any node has a name, not an address.
    pub(crate) fn has_names(&self) -> bool {
        self.target.nodes.iter().any(|node| literal(node).is_none())
    }

    /// The nodes there are now.
    pub(crate) fn current(&self) -> Arc<Vec<Arc<NodeState>>> {
        self.set.load_full()
    }

    /// The node for a request with those headers; `None` while there is none.
    pub(crate) fn choose(&self, headers: &HeaderMap) -> Option<Arc<NodeState>> {
        let set = self.set.load();
        let first = match set.len() {
            0 => return None,
            1 => 0,
            count => self.first(&set, headers) % count,
        };
        if self.target.eject.is_none() || set.len() == 1 {
            return Some(set[first].clone());
        }
        let now = Instant::now();
        let turn = (0..set.len()).map(|step| &set[(first + step) % set.len()]);
        // Where all are passed over, none is.
        Some(turn.clone().find(|node| !node.ejected(now)).unwrap_or(&set[first]).clone())
    }

    fn first(&self, set: &[Arc<NodeState>], headers: &HeaderMap) -> usize {
        let turn = || self.next.fetch_add(1, Ordering::Relaxed);
        match &self.target.balance {
            Balance::RoundRobin => turn(),
            Balance::LeastOfTwo => {
                let draw = xxh3_64(&turn().to_le_bytes()) as usize;
                let (one, other) = (draw % set.len(), (draw >> 32) % (set.len() - 1));
                let other = if other >= one { other + 1 } else { other };
                if set[other].load.inflight() < set[one].load.inflight() { other } else { one }
            }
            Balance::Hash(name) => match headers.get(name) {
                Some(value) => {
                    let weight = |node: &Arc<NodeState>| {
                        xxh3_64_with_seed(value.as_bytes(), xxh3_64(node.node.name.as_bytes()))
                    };
                    (0..set.len()).max_by_key(|index| weight(&set[*index])).unwrap_or(0)
                }
                None => turn(),
            },
        }
    }

    /// The node after the one that refused, if there is another.
    pub(crate) fn after(&self, refused: &Arc<NodeState>) -> Option<Arc<NodeState>> {
        let set = self.set.load();
        let at = set.iter().position(|node| Arc::ptr_eq(node, refused)).unwrap_or(0);
        set.get((at + 1) % set.len().max(1)).filter(|next| !Arc::ptr_eq(next, refused)).cloned()
    }

    /// Resolves all names once more. What cannot be resolved stays as it was.
    pub(crate) async fn resolve(&self, resolver: &dyn Resolve) {
        let mut set = Vec::new();
        let known: BTreeMap<String, Arc<NodeState>> =
            self.current().iter().map(|node| (node.node.name.clone(), node.clone())).collect();
        for node in &self.target.nodes {
            if literal(node).is_some() {
                set.extend(known.get(&node.name).cloned());
                continue;
            }
            let port = node.authority.port_u16().unwrap_or(80);
            let found = match resolver.resolve(node.authority.host(), port).await {
                Ok(addresses) => addresses,
                Err(error) => {
                    tracing::debug!(target_name = self.target.name, name = node.name, %error, "not resolved");
                    Vec::new()
                }
            };
            if node.expand {
                set.extend(self.expanded(node, found, &known));
            } else if let Some(known) = known.get(&node.name) {
                if !found.is_empty() {
                    known.set_addresses(found);
                }
                set.push(known.clone());
            }
        }
        let before = self.current();
        let same = before.len() == set.len() && before.iter().zip(&set).all(|(a, b)| Arc::ptr_eq(a, b));
        if !same {
            let names: Vec<&str> = set.iter().map(|node| node.node.name.as_str()).collect();
            tracing::info!(target_name = self.target.name, nodes = names.join(","), "nodes by name");
            self.set.store(Arc::new(set));
        }
    }

    /// One node per address of a name, those that are known as they are.
    fn expanded(
        &self,
        node: &Node,
        mut found: Vec<SocketAddr>,
        known: &BTreeMap<String, Arc<NodeState>>,
    ) -> Vec<Arc<NodeState>> {
        let origin = |state: &NodeState| {
            state.node.labels.iter().any(|(name, value)| name == "dns" && *value == node.name)
        };
        if found.is_empty() {
            return known.values().filter(|state| origin(state)).cloned().collect();
        }
        found.sort_unstable();
        found.dedup();
        let one = |address: SocketAddr| {
            let name = address.to_string();
            if let Some(known) = known.get(&name) {
                return known.clone();
            }
            let mut labels = node.labels.clone();
            labels.push(("dns".into(), node.name.clone()));
            let node = Node { name, ..node.clone() }.with_labels(labels);
            NodeState::new(node, vec![address], &self.shared)
        };
        found.into_iter().map(one).collect()
    }

    /// The number of the pool for requests of the proxy's own.
    pub(crate) fn own(&self) -> usize {
        self.shared.workers
    }

    /// Closes connections that nobody needs any more.
    pub(crate) fn sweep(&self, worker: usize, idle: Duration) {
        for node in self.set.load().iter() {
            node.pool(worker).sweep(idle, |peer| node.has(peer));
        }
    }
}

#[cfg(test)]
mod tests;
