//! One Parquet file being written: rows are gathered, written in batches, and made durable when the file is closed.

use std::fs::File;
use std::path::PathBuf;

use exchange::columns::{Column, Kind, SCHEMA_VERSION_KEY};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::RecordError;
use crate::rows::Rows;

/// A batch is written when it has so many rows …
const BATCH_ROWS: usize = 1024;
/// … or bytes.
const BATCH_BYTES: usize = 8 << 20;
/// A row group ends at so many rows …
const GROUP_ROWS: usize = 128 * 1024;
/// … or encoded bytes, which are held in memory until then.
const GROUP_BYTES: usize = 64 << 20;
const ZSTD_LEVEL: i32 = 3;

/// A file of one table.
pub(crate) struct TableWriter {
    path: PathBuf,
    /// Rows not yet handed to the writer.
    pub(crate) rows: Rows,
    writer: ArrowWriter<File>,
    /// Bytes the writer has written or holds encoded; asked for once a batch, as each of its columns is asked.
    encoded: usize,
}

impl TableWriter {
    /// Makes the file, or empties the one a crash left. `metadata` goes into its key-value metadata.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn create(
        path: PathBuf,
        table: &'static [Column],
        metadata: &[(&str, &str)],
    ) -> Result<Self, RecordError> {
        let rows = Rows::new(table, metadata);
        let file = File::create(&path).map_err(RecordError::io("make", &path))?;
        let writer = ArrowWriter::try_new(file, rows.schema().clone(), Some(properties(table, &rows)))
            .map_err(RecordError::parquet(&path))?;
        Ok(Self { path, rows, writer, encoded: 0 })
    }

    /// Writes the gathered rows when they make a batch.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn settle(&mut self) -> Result<(), RecordError> {
        if self.rows.len() >= BATCH_ROWS || self.rows.bytes() >= BATCH_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), RecordError> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        let batch = self.rows.take().map_err(Into::into);
        batch.and_then(|batch| self.writer.write(&batch)).map_err(RecordError::parquet(&self.path))?;
        self.encoded = self.writer.bytes_written() + self.writer.in_progress_size();
        Ok(())
    }

    /// Adds to the key-value metadata.
    pub(crate) fn note(&mut self, key: &str, value: String) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Bytes written, and about how many more the rows in memory will be.
    pub(crate) fn bytes(&self) -> usize {
        self.encoded + self.rows.bytes()
    }

    /// Bytes held in memory.
    pub(crate) fn memory(&self) -> usize {
        self.writer.memory_size() + self.rows.bytes()
    }

    /// Ends the row group, which frees the memory it takes.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn flush(&mut self) -> Result<(), RecordError> {
        self.write()?;
        self.writer.flush().map_err(RecordError::parquet(&self.path))
    }

    /// Writes what is left and the footer, and makes the file durable. Gives its path and its length in bytes.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn close(mut self) -> Result<(PathBuf, u64), RecordError> {
        self.write()?;
        let path = self.path;
        let file = self.writer.into_inner().map_err(RecordError::parquet(&path))?;
        file.sync_all().map_err(RecordError::io("sync", &path))?;
        let length = file.metadata().map_err(RecordError::io("read the length of", &path))?.len();
        Ok((path, length))
    }
}

fn properties(table: &[Column], rows: &Rows) -> WriterProperties {
    let mut pairs: Vec<KeyValue> = rows
        .schema()
        .metadata()
        .iter()
        .map(|(key, value)| KeyValue::new(key.to_string(), value.to_string()))
        .collect();
    // The order of the map is not that of the file: same rows, same bytes.
    pairs.sort_by(|a, b| a.key.cmp(&b.key));
    debug_assert!(pairs.iter().any(|pair| pair.key == SCHEMA_VERSION_KEY));
    let level = ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default();
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("shadowdiff ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(pairs));
    // Bodies are neither searched by range nor repeated.
    for column in table.iter().filter(|column| column.kind == Kind::Binary) {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_statistics_enabled(path.clone(), EnabledStatistics::None)
            .set_column_dictionary_enabled(path, false);
    }
    properties.build()
}
