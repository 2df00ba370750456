//! Room for open connections: the limit of open files is raised as far as the system lets us, and bounds that it cannot hold are
//! lowered. A proxy without a descriptor left can serve nobody, whoever holds them.

use proxy::Config;

/// Logs, listeners, Kafka, the spool.
const OWN: usize = 64;

/// Raises the soft limit of open files to the hard one and makes the bounds of a proxy fit it.
pub(crate) fn fit(config: &mut Config) {
    // Where the system has no such limit, there is nothing to fit.
    let Ok(limit) = rlimit::increase_nofile_limit(u64::MAX) else { return };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let shadows = config.shadows.iter().filter_map(|shadow| shadow.target.inflight);
    let Some(fitted) = fitted(limit, config.limits.connections, shadows.sum()) else { return };
    tracing::warn!(
        open_files = limit,
        connections = fitted.connections,
        copies = fitted.copies,
        "the limit of open files is too low for the configured bounds, so connections of clients and copies under way are bounded \
         lower; raise it (ulimit -n, LimitNOFILE), or lower limits.connections and max_inflight"
    );
    config.limits.connections = fitted.connections;
    let each = (fitted.copies / config.shadows.len().max(1)).max(1);
    for shadow in &mut config.shadows {
        shadow.target.inflight = Some(shadow.target.inflight.map_or(each, |inflight| inflight.min(each)));
    }
}

/// Bounds that a limit can hold.
#[derive(Debug, PartialEq, Eq)]
struct Fitted {
    connections: usize,
    copies: usize,
}

/// The bounds that hold under a limit of open files; `None` when those given do. Each client may need a connection to the primary.
fn fitted(limit: usize, connections: usize, copies: usize) -> Option<Fitted> {
    let needed = connections.saturating_mul(2).saturating_add(copies).saturating_add(OWN);
    if needed <= limit {
        return None;
    }
    let room = limit.saturating_sub(OWN);
    let copies = copies.min(room / 5).max(1);
    Some(Fitted { connections: connections.min(room.saturating_sub(copies) / 2).max(1), copies })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_the_limit_holds_stay_and_others_leave_most_to_the_clients() {
        assert_eq!(fitted(1 << 20, 10_000, 1024), None);
        assert_eq!(fitted(1024, 10_000, 1024), Some(Fitted { connections: 384, copies: 192 }));
        assert_eq!(fitted(1024, 100, 900), Some(Fitted { connections: 100, copies: 192 }));
        assert_eq!(fitted(0, 10_000, 0), Some(Fitted { connections: 1, copies: 1 }));
    }
}
