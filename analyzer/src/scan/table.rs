//! One Parquet file: its version and columns checked once, its row groups read each on its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use exchange::columns::{Column, RULES_KEY, SCHEMA_VERSION, SCHEMA_VERSION_KEY, UNUSED_KEY};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use crate::error::AnalyzeError;

/// Rows decoded at a time.
const BATCH_ROWS: usize = 8192;

/// An opened file with the columns wanted of it.
pub(crate) struct Table {
    file: PathBuf,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
}

impl Table {
    /// Opens `file` and checks that it has `columns`, each with the type that the contract gives it; those of `later` are read
    /// where they are there.
    pub(crate) fn open(file: &Path, columns: &[&Column], later: &[&Column]) -> Result<Self, AnalyzeError> {
        let opened = open(file)?;
        let metadata =
            ArrowReaderMetadata::load(&opened, Default::default()).map_err(|source| broken(file, source))?;
        let schema = Arc::clone(metadata.schema());
        if let Some(version) = key_value(&metadata, SCHEMA_VERSION_KEY)
            && version.parse::<u32>().map_or(true, |version| version > SCHEMA_VERSION)
        {
            let found = crate::accumulate::clipped(&version, 40).to_owned();
            return Err(AnalyzeError::NewerSchema { file: file.to_owned(), found, known: SCHEMA_VERSION });
        }
        let there = later.iter().filter(|column| schema.field_with_name(column.name).is_ok());
        let columns: Vec<&Column> = columns.iter().chain(there).copied().collect();
        for column in &columns {
            let field = schema.field_with_name(column.name).map_err(|_| AnalyzeError::MissingColumn {
                file: file.to_owned(),
                column: column.name.to_owned(),
            })?;
            if *field.data_type() != column.kind.data_type() {
                return Err(AnalyzeError::WrongType {
                    file: file.to_owned(),
                    column: column.name.to_owned(),
                    found: field.data_type().to_string(),
                    expected: column.kind.data_type().to_string(),
                });
            }
        }
        let mask = ProjectionMask::columns(
            metadata.metadata().file_metadata().schema_descr(),
            columns.iter().map(|column| column.name),
        );
        Ok(Self { file: file.to_owned(), metadata, mask })
    }

    pub(crate) fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Hash of the rules that the file was made with.
    pub(crate) fn rules(&self) -> Option<String> {
        key_value(&self.metadata, RULES_KEY)
    }

    /// Rules that nothing in the file used; `None` where it does not say.
    pub(crate) fn unused_rules(&self) -> Option<Vec<String>> {
        serde_json::from_str(&key_value(&self.metadata, UNUSED_KEY)?).ok()
    }

    /// Gives every batch of a row group to `take`. The file is opened anew: clones of a handle share one position.
    pub(crate) fn each_batch(
        &self,
        group: usize,
        mut take: impl FnMut(&Batch<'_>) -> Result<(), AnalyzeError>,
    ) -> Result<(), AnalyzeError> {
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(open(&self.file)?, self.metadata.clone())
                .with_projection(self.mask.clone())
                .with_row_groups(vec![group])
                .with_batch_size(BATCH_ROWS)
                .build()
                .map_err(|source| broken(&self.file, source))?;
        for batch in reader {
            let batch =
                batch.map_err(|source| broken(&self.file, ParquetError::ArrowError(source.to_string())))?;
            take(&Batch { file: &self.file, batch: &batch })?;
        }
        Ok(())
    }
}

/// Some rows of the columns wanted.
pub(crate) struct Batch<'a> {
    file: &'a Path,
    batch: &'a RecordBatch,
}

impl<'a> Batch<'a> {
    pub(crate) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a StringArray, AnalyzeError> {
        self.typed(name, |array| array.as_string_opt::<i32>())
    }

    pub(crate) fn int32(&self, name: &str) -> Result<&'a Int32Array, AnalyzeError> {
        self.typed(name, |array| array.as_primitive_opt::<Int32Type>())
    }

    pub(crate) fn int64(&self, name: &str) -> Result<&'a Int64Array, AnalyzeError> {
        self.typed(name, |array| array.as_primitive_opt::<Int64Type>())
    }

    pub(crate) fn float64(&self, name: &str) -> Result<&'a Float64Array, AnalyzeError> {
        self.typed(name, |array| array.as_primitive_opt::<Float64Type>())
    }

    pub(crate) fn bool(&self, name: &str) -> Result<&'a BooleanArray, AnalyzeError> {
        self.typed(name, |array| array.as_boolean_opt())
    }

    /// Microseconds since the Unix epoch.
    pub(crate) fn timestamp(&self, name: &str) -> Result<&'a [i64], AnalyzeError> {
        self.typed(name, |array| array.as_primitive_opt::<TimestampMicrosecondType>())
            .map(|array| array.values().as_ref())
    }

    fn typed<T: ?Sized>(
        &self,
        name: &str,
        cast: impl Fn(&'a dyn Array) -> Option<&'a T>,
    ) -> Result<&'a T, AnalyzeError> {
        // `Table::open` has checked names and types; this only keeps a wrong list of columns from being a panic.
        let missing = || AnalyzeError::MissingColumn { file: self.file.to_owned(), column: name.to_owned() };
        self.batch.column_by_name(name).and_then(|array| cast(array.as_ref())).ok_or_else(missing)
    }
}

fn open(file: &Path) -> Result<File, AnalyzeError> {
    File::open(file).map_err(|source| AnalyzeError::Io { path: file.to_owned(), source })
}

fn broken(file: &Path, source: ParquetError) -> AnalyzeError {
    AnalyzeError::Broken { file: file.to_owned(), source }
}

fn key_value(metadata: &ArrowReaderMetadata, key: &str) -> Option<String> {
    // The writer of Arrow data puts the metadata of the schema into the Arrow schema, other writers into the file's.
    let of_file = metadata.metadata().file_metadata().key_value_metadata();
    let found =
        of_file.into_iter().flatten().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    found.or_else(|| metadata.schema().metadata().get(key).cloned())
}
