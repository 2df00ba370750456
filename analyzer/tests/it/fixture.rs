//! Makes recorded sets: Parquet files with the columns of the contract.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use exchange::columns::{Column, DEAD_LETTERS, EXCHANGES, Kind, LEDGER, names, schema};
use exchange::ledger::load_bin;
use parquet::arrow::ArrowWriter;

/// One row; the fields that tests vary.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) target: &'static str,
    pub(crate) role: &'static str,
    pub(crate) run: &'static str,
    pub(crate) node: String,
    pub(crate) labels: String,
    pub(crate) inflight: u32,
    /// How many more came while it was under way.
    pub(crate) joined: u32,
    pub(crate) class: &'static str,
    pub(crate) detail: &'static str,
    pub(crate) serious: bool,
    pub(crate) degenerate: &'static str,
    pub(crate) units: Option<f64>,
    pub(crate) ratio: Option<f64>,
    pub(crate) primary_status: Option<i32>,
    pub(crate) shadow_status: Option<i32>,
    pub(crate) shadow_grpc_status: Option<i32>,
    pub(crate) primary_outcome: &'static str,
    pub(crate) shadow_outcome: &'static str,
    pub(crate) primary_latency_us: i64,
    pub(crate) shadow_latency_us: i64,
    pub(crate) primary_score: f64,
    pub(crate) shadow_score: f64,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            target: "candidate",
            role: "candidate",
            run: "run-1",
            node: "10.0.0.1:8000".into(),
            labels: r#"{"gpu":"A100"}"#.into(),
            inflight: 0,
            joined: 0,
            class: "BIT_EQUAL",
            detail: "",
            serious: false,
            degenerate: "",
            units: Some(0.0),
            ratio: Some(0.0),
            primary_status: Some(200),
            shadow_status: Some(200),
            shadow_grpc_status: None,
            primary_outcome: "answered",
            shadow_outcome: "answered",
            primary_latency_us: 1000,
            shadow_latency_us: 1000,
            primary_score: 0.5,
            shadow_score: 0.5,
        }
    }
}

impl Row {
    /// Ten times too large.
    pub(crate) fn gross(self) -> Self {
        let shadow_score = self.primary_score * 10.0;
        Self { class: "GROSS", serious: true, units: Some(9e4), ratio: Some(1.0), shadow_score, ..self }
    }

    /// All zeros.
    pub(crate) fn zero(self) -> Self {
        Self {
            class: "DEGENERATE",
            detail: "shadow_only:all_zero",
            degenerate: "all_zero",
            serious: true,
            units: Some(1e5),
            ratio: None,
            shadow_score: 0.0,
            ..self
        }
    }
}

/// Numbers that look random and are always the same (SplitMix64; Steele, Lea and Flood, 2014).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    pub(crate) fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// Writes `rows` into `files` files under `dir/exchanges`, and a closing ledger that agrees with them.
pub(crate) fn write_set(dir: &Path, rows: &[Row], files: usize) {
    write_exchanges(dir, rows, files);
    write_ledger(dir, &ledger_of(rows), true);
}

pub(crate) fn write_exchanges(dir: &Path, rows: &[Row], files: usize) {
    let per_file = rows.len().div_ceil(files).max(1);
    for (index, part) in rows.chunks(per_file).enumerate() {
        let folder = dir.join("exchanges/date=2026-11-30").join(format!("hour={:02}", index % 24));
        let batch = exchanges(part, index * per_file);
        write(&folder.join(format!("topic-0-{index:04}.parquet")), &batch, 700);
    }
}

/// Counts by (run, item, target, bin) that agree with the rows.
pub(crate) type Items = BTreeMap<(String, String, String, u32), i64>;

pub(crate) fn ledger_of(rows: &[Row]) -> Items {
    let mut items = Items::new();
    for row in rows {
        let mut add = |item: String, bin| {
            *items.entry((row.run.into(), item, row.target.into(), bin)).or_default() += 1;
        };
        add("mirrored".into(), load_bin(row.inflight));
        add(format!("outcome.{}", row.shadow_outcome), load_bin(row.inflight));
        add("delivered".into(), 0);
    }
    items
}

pub(crate) fn write_ledger(dir: &Path, items: &Items, closing: bool) {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (names::PROXY, text(items.keys().map(|_| "proxy-1"))),
        (names::RUN, text(items.keys().map(|key| key.0.as_str()))),
        (names::SNAPSHOT, Arc::new(Int64Array::from(vec![3; items.len()]))),
        (names::CLOSING, Arc::new(BooleanArray::from(vec![closing; items.len()]))),
        (names::ITEM, text(items.keys().map(|key| key.1.as_str()))),
        (names::TARGET, text(items.keys().map(|key| key.2.as_str()))),
        (names::INFLIGHT_FROM, int32(items.keys().map(|key| key.3 as i32))),
        (names::COUNT, Arc::new(Int64Array::from_iter_values(items.values().copied()))),
    ];
    let batch = table(LEDGER, items.len(), columns);
    write(&dir.join("ledger/date=2026-11-30/hour=00/ledger.parquet"), &batch, 1000);
}

pub(crate) fn write_dead_letters(dir: &Path, count: usize) {
    let batch = table(DEAD_LETTERS, count, Vec::new());
    write(&dir.join("dead_letters/dead.parquet"), &batch, 1000);
}

pub(crate) fn exchanges(rows: &[Row], first: usize) -> RecordBatch {
    let ids: Vec<String> = (first..first + rows.len()).map(|i| format!("0195-{i:06}")).collect();
    let optional = |values: Vec<Option<f64>>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    let time = (0..rows.len()).map(|i| 1_796_000_000_000_000 + (first + i) as i64 * 1000);
    let columns: Vec<(&str, ArrayRef)> = vec![
        (names::EXCHANGE_ID, text(ids.iter().map(String::as_str))),
        (names::PROXY, text(rows.iter().map(|_| "proxy-1"))),
        (names::RUN, text(rows.iter().map(|row| row.run))),
        (
            names::RECEIVED_AT,
            Arc::new(TimestampMicrosecondArray::from_iter_values(time).with_timezone("UTC")),
        ),
        (names::SHADOW_TARGET, text(rows.iter().map(|row| row.target))),
        (names::SHADOW_ROLE, text(rows.iter().map(|row| row.role))),
        (names::PRIMARY_NODE, text(rows.iter().map(|_| "10.0.1.1:8000"))),
        (names::PRIMARY_STATUS, Arc::new(rows.iter().map(|row| row.primary_status).collect::<Int32Array>())),
        (names::PRIMARY_OUTCOME, text(rows.iter().map(|row| row.primary_outcome))),
        (names::PRIMARY_LATENCY_US, int64(rows.iter().map(|row| row.primary_latency_us))),
        (names::PRIMARY_INFLIGHT, int32(rows.iter().map(|row| row.inflight as i32 / 2))),
        (names::PRIMARY_SCORE, optional(rows.iter().map(|row| Some(row.primary_score)).collect())),
        (names::SHADOW_NODE, text(rows.iter().map(|row| row.node.as_str()))),
        (names::SHADOW_LABELS, text(rows.iter().map(|row| row.labels.as_str()))),
        (names::SHADOW_STATUS, Arc::new(rows.iter().map(|row| row.shadow_status).collect::<Int32Array>())),
        (
            names::SHADOW_GRPC_STATUS,
            Arc::new(rows.iter().map(|row| row.shadow_grpc_status).collect::<Int32Array>()),
        ),
        (names::SHADOW_OUTCOME, text(rows.iter().map(|row| row.shadow_outcome))),
        (names::SHADOW_LATENCY_US, int64(rows.iter().map(|row| row.shadow_latency_us))),
        (names::SHADOW_INFLIGHT, int32(rows.iter().map(|row| row.inflight as i32))),
        (names::SHADOW_INFLIGHT_PEAK, int32(rows.iter().map(|row| (row.inflight + row.joined) as i32))),
        (names::SHADOW_SCORE, optional(rows.iter().map(|row| Some(row.shadow_score)).collect())),
        (names::SHADOW_DEGENERATE, text(rows.iter().map(|row| row.degenerate))),
        (names::CLASS, text(rows.iter().map(|row| row.class))),
        (names::CLASS_DETAIL, text(rows.iter().map(|row| row.detail))),
        (names::SERIOUS, Arc::new(rows.iter().map(|row| Some(row.serious)).collect::<BooleanArray>())),
        (names::TOLERANCE_UNITS, optional(rows.iter().map(|row| row.units).collect())),
        (names::LOG10_RATIO, optional(rows.iter().map(|row| row.ratio).collect())),
    ];
    table(EXCHANGES, rows.len(), columns)
}

/// A batch of the table with these columns; null where allowed, else zero or empty, in all others.
pub(crate) fn table(table: &[Column], rows: usize, columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let given: BTreeMap<&str, ArrayRef> = columns.into_iter().collect();
    let arrays = table.iter().map(|c| given.get(c.name).cloned().unwrap_or_else(|| blank(c, rows)));
    RecordBatch::try_new(Arc::new(schema(table)), arrays.collect()).unwrap()
}

fn blank(column: &Column, rows: usize) -> ArrayRef {
    if column.nullable {
        return arrow_array::new_null_array(&column.kind.data_type(), rows);
    }
    match column.kind {
        Kind::Text => text((0..rows).map(|_| "")),
        Kind::Int32 => int32((0..rows).map(|_| 0)),
        Kind::Int64 => int64((0..rows).map(|_| 0)),
        Kind::Float64 => Arc::new(Float64Array::from(vec![0.0; rows])),
        Kind::Bool => Arc::new(BooleanArray::from(vec![false; rows])),
        Kind::Timestamp => Arc::new(TimestampMicrosecondArray::from(vec![0; rows]).with_timezone("UTC")),
        Kind::Binary => Arc::new(BinaryArray::from_iter_values((0..rows).map(|_| b""))),
        Kind::TextList => {
            let field = Field::new("item", DataType::Utf8, false);
            let mut list = ListBuilder::new(StringBuilder::new()).with_field(field);
            (0..rows).for_each(|_| list.append(true));
            Arc::new(list.finish())
        }
        Kind::Float64List => {
            let field = Field::new("item", DataType::Float64, false);
            let mut list = ListBuilder::new(Float64Builder::new()).with_field(field);
            (0..rows).for_each(|_| list.append(true));
            Arc::new(list.finish())
        }
    }
}

pub(crate) fn write(path: &Path, batch: &RecordBatch, group_rows: usize) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    path.to_owned()
}

fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn int32(values: impl Iterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

fn int64(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

/// A set with two faults: of four nodes one gives zeros at every load, the others show a race once 8 are in flight at the same
/// time; each may see up to three more join it.
pub(crate) fn two_faults(rows: usize) -> Vec<Row> {
    let mut chance = Chance(7);
    let row = |i: usize| {
        let (node, inflight) = (i % 4, chance.below(24) as u32);
        let latency = 2000 + 300 * i64::from(inflight) + chance.below(900) as i64;
        let (gpu, driver) = if node == 2 { ("Tesla M10", "450.80") } else { ("A100", "550.54") };
        let row = Row {
            node: format!("10.0.0.{node}:8000"),
            labels: format!(r#"{{"driver":"{driver}","gpu":"{gpu}"}}"#),
            inflight,
            joined: chance.below(4) as u32,
            primary_latency_us: latency,
            shadow_latency_us: latency + chance.below(1200) as i64,
            primary_score: chance.below(1000) as f64 / 1000.0,
            ..Row::default()
        };
        let row = Row { shadow_score: row.primary_score, ..row };
        match () {
            () if node == 2 => row.zero(),
            () if row.inflight + row.joined >= 8 && chance.happens(60) => row.gross(),
            () => row,
        }
    };
    (0..rows).map(row).collect()
}

/// A set without a fault, over four nodes and a range of loads.
pub(crate) fn sound(rows: usize) -> Vec<Row> {
    let mut chance = Chance(11);
    let row = |i: usize| {
        let inflight = chance.below(24) as u32;
        let score = chance.below(1000) as f64 / 1000.0;
        let latency = 2000 + 300 * i64::from(inflight);
        Row {
            node: format!("10.0.0.{}:8000", i % 4),
            inflight,
            primary_score: score,
            shadow_score: score,
            primary_latency_us: latency,
            shadow_latency_us: latency + 50,
            ..Row::default()
        }
    };
    (0..rows).map(row).collect()
}
