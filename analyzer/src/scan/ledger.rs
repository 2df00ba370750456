//! Rows of the ledger table.

use std::path::Path;

use exchange::columns::{Column, LEDGER, names};

use super::table::Table;
use crate::accumulate::{Accumulator, ItemKey, LedgerKey, Snapshot, merge_maps};
use crate::error::AnalyzeError;

/// Reads a whole file: ledgers are small.
pub(crate) fn read(file: &Path) -> Result<Accumulator, AnalyzeError> {
    let columns: Vec<&Column> = LEDGER.iter().collect();
    let table = Table::open(file, &columns, &[])?;
    let mut sum = Accumulator::default();
    for group in 0..table.row_groups() {
        table.each_batch(group, |batch| {
            let (proxy, run) = (batch.text(names::PROXY)?, batch.text(names::RUN)?);
            let (number, closing) = (batch.int64(names::SNAPSHOT)?, batch.bool(names::CLOSING)?);
            let (item, target) = (batch.text(names::ITEM)?, batch.text(names::TARGET)?);
            let (from, count) = (batch.int32(names::INFLIGHT_FROM)?, batch.int64(names::COUNT)?);
            for index in 0..batch.rows() {
                let key = LedgerKey { proxy: proxy.value(index).into(), run: run.value(index).into() };
                let item = ItemKey {
                    item: item.value(index).into(),
                    target: target.value(index).into(),
                    inflight_from: u32::try_from(from.value(index)).unwrap_or(0),
                };
                let snapshot = Snapshot {
                    number: u64::try_from(number.value(index)).unwrap_or(0),
                    closing: closing.value(index),
                    items: [(item, u64::try_from(count.value(index)).unwrap_or(0))].into(),
                };
                merge_maps(&mut sum.ledger, [(key, snapshot)].into(), Snapshot::merge);
            }
            Ok(())
        })?;
    }
    Ok(sum)
}
