//! One row of the set, as far as the analysis looks at it.

use divergence::Class;
use exchange::{Ending, Outcome};

/// One leg of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowLeg<'a> {
    pub(crate) node: &'a str,
    pub(crate) status: Option<i32>,
    pub(crate) grpc_status: Option<i32>,
    pub(crate) outcome: Outcome,
    pub(crate) latency_us: Option<u64>,
    pub(crate) inflight: u32,
    pub(crate) score: Option<f64>,
}

impl RowLeg<'_> {
    /// Whether the leg gave a whole answer with a 2xx status and, of a gRPC call, status OK.
    pub(crate) fn succeeded(&self) -> bool {
        // A gRPC call that failed has HTTP status 200 all the same.
        self.outcome.is_answer()
            && self.status.is_some_and(|status| (200..300).contains(&status))
            && self.grpc_status.is_none_or(|status| status == 0)
    }

    /// Whether the request went, or was meant to go, to the node; false when a bound of the proxy held it back.
    pub(crate) fn sent(&self) -> bool {
        self.outcome.ending() != Ending::Dropped
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) exchange_id: &'a str,
    pub(crate) request_id: Option<&'a str>,
    pub(crate) run: &'a str,
    pub(crate) proxy: &'a str,
    pub(crate) received_us: i64,
    pub(crate) target: &'a str,
    pub(crate) role: &'a str,
    pub(crate) primary: RowLeg<'a>,
    pub(crate) shadow: RowLeg<'a>,
    /// Most requests under way on the shadow's node at once meanwhile, this one not counted; those at dispatch where not known.
    pub(crate) peak: u32,
    /// Labels of the shadow's node, a JSON object.
    pub(crate) labels: &'a str,
    /// Signs of degeneration of the shadow's answer.
    pub(crate) degenerate: &'a str,
    pub(crate) class: Class,
    pub(crate) detail: &'a str,
    pub(crate) serious: bool,
    pub(crate) tolerance_units: Option<f64>,
    pub(crate) log10_ratio: Option<f64>,
    pub(crate) worst_output: Option<&'a str>,
}
