//! Exchanges that a proxy says it may have sent before: whether the set holds them.
//!
//! A proxy's spool delivers at least once and marks what may be there already ([`exchange::wire::AGAIN`]). Copies of an exchange have one key, so they
//! are in one partition, the first one before the others: it is in the set's files of this partition, or
//! among the rows since the last closed file.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use exchange::Uuid;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;

use crate::RecordError;
use crate::set::{SetRoot, Table};

/// Files whose ids are held in memory: 16 bytes for each row.
const HELD: usize = 16;

const COLUMN: &str = "exchange_id";

/// What is known of the exchanges of one partition.
#[derive(Debug)]
pub(super) struct Again {
    set: SetRoot,
    topic: String,
    number: i32,
    /// Those since the last closed file.
    recent: HashSet<u128>,
    /// The files; listed anew after one was closed.
    files: Option<Vec<PathBuf>>,
    /// Lowest and highest id of files, which never change.
    ranges: BTreeMap<PathBuf, Option<(u128, u128)>>,
    /// Sorted ids of the files that were looked into last.
    held: VecDeque<(PathBuf, Vec<u128>)>,
}

/// The id of the exchange under that key.
pub(super) fn id(key: Option<&[u8]>) -> Option<u128> {
    key?.try_into().ok().map(u128::from_be_bytes)
}

impl Again {
    /// Knows what the set holds; no file of the partition may be open.
    pub(super) fn new(set: &SetRoot, topic: &str, number: i32) -> Self {
        Self {
            set: set.clone(),
            topic: topic.to_owned(),
            number,
            recent: HashSet::new(),
            files: None,
            ranges: BTreeMap::new(),
            held: VecDeque::new(),
        }
    }

    /// Notes an exchange of the open file.
    pub(super) fn note(&mut self, id: u128) {
        self.recent.insert(id);
    }

    /// Notes that the open file was closed.
    pub(super) fn closed(mut self) -> Self {
        self.recent.clear();
        self.files = None;
        self
    }

    /// Whether the set, or the open file, holds the exchange.
    ///
    /// # Errors
    /// When a file of the set cannot be read.
    pub(super) fn holds(&mut self, id: u128) -> Result<bool, RecordError> {
        if self.recent.contains(&id) {
            return Ok(true);
        }
        let files = match self.files.take() {
            Some(files) => files,
            None => {
                let listed = self.set.files(Table::Exchanges, &self.topic, self.number)?;
                listed.into_iter().map(|(_, path)| path).collect()
            }
        };
        let found = self.is_in(&files, id);
        self.files = Some(files);
        found
    }

    fn is_in(&mut self, files: &[PathBuf], id: u128) -> Result<bool, RecordError> {
        for path in files {
            let range = match self.ranges.get(path) {
                Some(range) => *range,
                None => {
                    let range = range(path).map_err(RecordError::parquet(path))?;
                    self.ranges.insert(path.clone(), range);
                    range
                }
            };
            if !range.is_some_and(|(low, high)| (low..=high).contains(&id)) {
                continue;
            }
            if !self.held.iter().any(|(held, _)| held == path) {
                let ids = ids(path).map_err(RecordError::parquet(path))?;
                self.held.truncate(HELD - 1);
                self.held.push_front((path.clone(), ids));
            }
            let held = self.held.iter().find(|(held, _)| held == path);
            if held.is_some_and(|(_, ids)| ids.binary_search(&id).is_ok()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ParquetError> {
    ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)
}

/// The lowest and the highest id, from the statistics alone; none of an empty file. Ids sort as their text does.
fn range(path: &Path) -> Result<Option<(u128, u128)>, ParquetError> {
    let builder = open(path)?;
    let mut range: Option<(u128, u128)> = None;
    for group in builder.metadata().row_groups() {
        let column = group.columns().iter().find(|column| column.column_path().string() == COLUMN);
        let (low, high) = match column.and_then(|column| column.statistics()) {
            Some(Statistics::ByteArray(values)) => {
                let bound = |bytes: Option<&[u8]>| Uuid::try_parse_ascii(bytes?).ok().map(|id| id.as_u128());
                (bound(values.min_bytes_opt()), bound(values.max_bytes_opt()))
            }
            _ => (None, None),
        };
        let (low, high) = (low.unwrap_or(u128::MIN), high.unwrap_or(u128::MAX));
        range = Some(range.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
    }
    Ok(range)
}

/// All ids of a file, sorted.
fn ids(path: &Path) -> Result<Vec<u128>, ParquetError> {
    let builder = open(path)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), [COLUMN]);
    let mut ids = Vec::new();
    for batch in builder.with_projection(mask).build()? {
        let batch = batch?;
        let texts = batch.column(0).as_string_opt::<i32>();
        ids.extend(
            texts.into_iter().flatten().filter_map(|text| Some(Uuid::parse_str(text?).ok()?.as_u128())),
        );
    }
    ids.sort_unstable();
    Ok(ids)
}
