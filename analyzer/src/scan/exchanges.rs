//! Rows of the exchanges table.

use arrow_array::{Array, Float64Array, Int32Array, Int64Array, StringArray};
use divergence::Class;
use exchange::Outcome;
use exchange::columns::{Column, EXCHANGES, names};

use super::table::{Batch, Table};
use crate::accumulate::Accumulator;
use crate::error::AnalyzeError;
use crate::row::{Row, RowLeg};

const NAMES: [&str; 28] = [
    names::EXCHANGE_ID,
    names::REQUEST_ID,
    names::RUN,
    names::PROXY,
    names::RECEIVED_AT,
    names::SHADOW_TARGET,
    names::SHADOW_ROLE,
    names::PRIMARY_NODE,
    names::PRIMARY_STATUS,
    names::PRIMARY_OUTCOME,
    names::PRIMARY_LATENCY_US,
    names::PRIMARY_INFLIGHT,
    names::PRIMARY_SCORE,
    names::SHADOW_NODE,
    names::SHADOW_LABELS,
    names::SHADOW_STATUS,
    names::SHADOW_OUTCOME,
    names::SHADOW_LATENCY_US,
    names::SHADOW_INFLIGHT,
    names::SHADOW_INFLIGHT_PEAK,
    names::SHADOW_SCORE,
    names::SHADOW_DEGENERATE,
    names::CLASS,
    names::CLASS_DETAIL,
    names::SERIOUS,
    names::TOLERANCE_UNITS,
    names::LOG10_RATIO,
    names::WORST_OUTPUT,
];

/// Columns that came after the first release: a set recorded before has none of them.
const LATER: [&str; 2] = [names::PRIMARY_GRPC_STATUS, names::SHADOW_GRPC_STATUS];

/// The columns read.
pub(crate) fn columns() -> Vec<&'static Column> {
    EXCHANGES.iter().filter(|column| NAMES.contains(&column.name)).collect()
}

/// The columns read where the file has them.
pub(crate) fn later_columns() -> Vec<&'static Column> {
    EXCHANGES.iter().filter(|column| LATER.contains(&column.name)).collect()
}

struct LegColumns<'a> {
    node: &'a StringArray,
    status: &'a Int32Array,
    grpc_status: Option<&'a Int32Array>,
    outcome: &'a StringArray,
    latency_us: &'a Int64Array,
    inflight: &'a Int32Array,
    score: &'a Float64Array,
}

impl<'a> LegColumns<'a> {
    fn row(&self, index: usize) -> Option<RowLeg<'a>> {
        Some(RowLeg {
            node: self.node.value(index),
            status: self.status.is_valid(index).then(|| self.status.value(index)),
            grpc_status: self.grpc_status.and_then(|array| array.is_valid(index).then(|| array.value(index))),
            outcome: Outcome::from_name(self.outcome.value(index))?,
            latency_us: self
                .latency_us
                .is_valid(index)
                .then(|| u64::try_from(self.latency_us.value(index)).unwrap_or(0)),
            inflight: u32::try_from(self.inflight.value(index)).unwrap_or(0),
            score: float(self.score, index),
        })
    }
}

fn float(array: &Float64Array, index: usize) -> Option<f64> {
    array.is_valid(index).then(|| array.value(index))
}

fn text(array: &StringArray, index: usize) -> Option<&str> {
    array.is_valid(index).then(|| array.value(index))
}

/// Reads a row group; tells `on_rows` how many rows each batch had.
pub(crate) fn read(
    table: &Table,
    group: usize,
    keep: usize,
    on_rows: &(dyn Fn(usize) + Sync),
) -> Result<Accumulator, AnalyzeError> {
    let mut sum = Accumulator::default();
    table.each_batch(group, |batch| {
        add(batch, keep, &mut sum)?;
        on_rows(batch.rows());
        Ok(())
    })?;
    Ok(sum)
}

fn add(batch: &Batch<'_>, keep: usize, sum: &mut Accumulator) -> Result<(), AnalyzeError> {
    let primary = LegColumns {
        node: batch.text(names::PRIMARY_NODE)?,
        status: batch.int32(names::PRIMARY_STATUS)?,
        grpc_status: batch.int32(names::PRIMARY_GRPC_STATUS).ok(),
        outcome: batch.text(names::PRIMARY_OUTCOME)?,
        latency_us: batch.int64(names::PRIMARY_LATENCY_US)?,
        inflight: batch.int32(names::PRIMARY_INFLIGHT)?,
        score: batch.float64(names::PRIMARY_SCORE)?,
    };
    let shadow = LegColumns {
        node: batch.text(names::SHADOW_NODE)?,
        status: batch.int32(names::SHADOW_STATUS)?,
        grpc_status: batch.int32(names::SHADOW_GRPC_STATUS).ok(),
        outcome: batch.text(names::SHADOW_OUTCOME)?,
        latency_us: batch.int64(names::SHADOW_LATENCY_US)?,
        inflight: batch.int32(names::SHADOW_INFLIGHT)?,
        score: batch.float64(names::SHADOW_SCORE)?,
    };
    let (exchange_id, request_id) = (batch.text(names::EXCHANGE_ID)?, batch.text(names::REQUEST_ID)?);
    let (run, proxy) = (batch.text(names::RUN)?, batch.text(names::PROXY)?);
    let received = batch.timestamp(names::RECEIVED_AT)?;
    let (target, role) = (batch.text(names::SHADOW_TARGET)?, batch.text(names::SHADOW_ROLE)?);
    let (labels, degenerate) = (batch.text(names::SHADOW_LABELS)?, batch.text(names::SHADOW_DEGENERATE)?);
    let (class, detail) = (batch.text(names::CLASS)?, batch.text(names::CLASS_DETAIL)?);
    let (serious, units) = (batch.bool(names::SERIOUS)?, batch.float64(names::TOLERANCE_UNITS)?);
    let (ratio, worst_output) = (batch.float64(names::LOG10_RATIO)?, batch.text(names::WORST_OUTPUT)?);
    let peaks = batch.int32(names::SHADOW_INFLIGHT_PEAK)?;
    for (index, received_us) in received.iter().copied().enumerate() {
        let legs = (primary.row(index), shadow.row(index), Class::from_name(class.value(index)));
        let (Some(primary), Some(shadow), Some(class)) = legs else {
            sum.rows += 1;
            sum.unreadable += 1;
            continue;
        };
        let row = Row {
            exchange_id: exchange_id.value(index),
            request_id: text(request_id, index),
            run: run.value(index),
            proxy: proxy.value(index),
            received_us,
            target: target.value(index),
            role: role.value(index),
            primary,
            peak: if peaks.is_valid(index) {
                u32::try_from(peaks.value(index)).unwrap_or(0)
            } else {
                shadow.inflight
            },
            shadow,
            labels: labels.value(index),
            degenerate: degenerate.value(index),
            class,
            detail: detail.value(index),
            serious: serious.value(index),
            tolerance_units: float(units, index),
            log10_ratio: float(ratio, index),
            worst_output: text(worst_output, index),
        };
        sum.add(&row, keep);
    }
    Ok(())
}
