//! The files of a recorded set.

use std::path::{Path, PathBuf};

use crate::error::AnalyzeError;

/// Folders deeper than this are not looked into: the set has two levels, date and hour.
const DEPTH: usize = 8;

/// The files of a set, each list sorted by name.
pub(crate) struct Set {
    pub(crate) exchanges: Vec<PathBuf>,
    pub(crate) ledger: Vec<PathBuf>,
    pub(crate) dead_letters: Vec<PathBuf>,
}

impl Set {
    /// Lists `dir`.
    pub(crate) fn list(dir: &Path) -> Result<Self, AnalyzeError> {
        let facts = std::fs::metadata(dir).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => AnalyzeError::NotFound(dir.to_owned()),
            _ => AnalyzeError::Io { path: dir.to_owned(), source },
        })?;
        if !facts.is_dir() {
            return Err(AnalyzeError::NotAFolder(dir.to_owned()));
        }
        if entries(dir)?.is_empty() {
            return Err(AnalyzeError::Empty(dir.to_owned()));
        }
        let set = Self {
            exchanges: files(&dir.join("exchanges"))?,
            ledger: files(&dir.join("ledger"))?,
            dead_letters: files(&dir.join("dead_letters"))?,
        };
        if set.exchanges.is_empty() {
            return Err(AnalyzeError::NoExchanges(dir.to_owned()));
        }
        Ok(set)
    }
}

/// Parquet files under `dir`, at any depth; none when it does not exist. Names that begin with a dot or an underscore are files
/// that a writer has not finished, or its marks.
fn files(dir: &Path) -> Result<Vec<PathBuf>, AnalyzeError> {
    let mut found = Vec::new();
    if dir.is_dir() {
        collect(dir, DEPTH, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), AnalyzeError> {
    for path in entries(dir)? {
        let hidden = path.file_name().is_none_or(|name| {
            let name = name.as_encoded_bytes();
            name.starts_with(b".") || name.starts_with(b"_")
        });
        if hidden {
            continue;
        }
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, found)?;
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            found.push(path);
        }
    }
    Ok(())
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, AnalyzeError> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
    };
    read().map_err(|source| AnalyzeError::Io { path: dir.to_owned(), source })
}
