//! The `ledger` table: cumulative counts of the proxies, one row per count and snapshot.

use super::Kind::{Bool, Int32, Int64, Text, Timestamp};
use super::{Column, column};

/// Columns of `ledger/`, in file order.
pub const LEDGER: &[Column] = &[
    column("proxy", Text, "", "name of the proxy"),
    column("run", Text, "", "name of the run"),
    column("at", Timestamp, "", "when the counts were read"),
    column(
        "snapshot",
        Int64,
        "",
        "number of the snapshot within the run; counts are cumulative, so the highest one tells all",
    ),
    column("closing", Bool, "", "whether it is the last one of an orderly stop"),
    column(
        "item",
        Text,
        "",
        "what is counted: mirrored, outcome.NAME, delivered, spooled, dropped.REASON, skipped.REASON",
    ),
    column("target", Text, "", "name of the shadow; empty for counts over all shadows"),
    column(
        "inflight_from",
        Int32,
        "requests",
        "lower bound of the power-of-two load bin (shadow in-flight at dispatch)",
    ),
    column("count", Int64, "", "count since the run began; of spooled, the count at that moment"),
];
