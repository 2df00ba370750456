//! Why a set cannot be analysed.

use std::path::PathBuf;

use parquet::errors::ParquetError;

/// Why a set cannot be analysed; each names the file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// An option out of its range.
    #[error("{name} is {value}: give {allowed}")]
    Option {
        /// Name of the option.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// There is no such folder.
    #[error("{} does not exist: give the folder that the recorder writes to", .0.display())]
    NotFound(PathBuf),
    /// It is a file.
    #[error("{} is not a folder: give the folder that holds exchanges/, not a file of it", .0.display())]
    NotAFolder(PathBuf),
    /// There is nothing in it.
    #[error("{} is empty: nothing has been recorded there yet", .0.display())]
    Empty(PathBuf),
    /// It holds other things.
    #[error("{} holds no exchanges/*.parquet: give the folder that the recorder writes to, or wait for its first file", .0.display())]
    NoExchanges(PathBuf),
    /// A Parquet file of another kind.
    #[error("{} lacks the column {column}: it is not a file of the recorder; move it out of the set", .file.display())]
    MissingColumn {
        /// The file.
        file: PathBuf,
        /// First column that is missing.
        column: String,
    },
    /// A column of another type.
    #[error("{} has {found} in column {column}, not {expected}: write the set with the recorder, without casting", .file.display())]
    WrongType {
        /// The file.
        file: PathBuf,
        /// The column.
        column: String,
        /// Arrow type found.
        found: String,
        /// Arrow type needed.
        expected: String,
    },
    /// Written by a later release.
    #[error("{} has schema version {found}, this program knows up to {known}: analyse with the release that recorded it, or a later one", .file.display())]
    NewerSchema {
        /// The file.
        file: PathBuf,
        /// Version in the file.
        found: String,
        /// Highest version known here.
        known: u32,
    },
    /// Not readable as Parquet.
    #[error("{} is broken or cut short ({source}): restore it, or move it out of the set", .file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// What the reader met.
        source: ParquetError,
    },
    /// The system would not read it.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// More nodes than a report could show.
    #[error(
        "the set names more than {limit} nodes of one shadow: a node must be a server, not a request; check the node rule of the proxy"
    )]
    TooManyNodes {
        /// How many are allowed.
        limit: usize,
    },
}
