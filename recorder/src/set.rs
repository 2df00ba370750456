//! The folder of the set: its marker, where a file belongs, what is there, and what a crash left behind.
//!
//! `OUT/shadowdiff.json` marks the folder as ours. `OUT/.tmp` holds the files being written, one for each table and
//! partition, and a lock for each partition, so that recorders of one group can share a folder and none touches what
//! another one writes.

mod name;
mod plan;

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::temporal_conversions::timestamp_us_to_datetime;
use exchange::columns::SCHEMA_VERSION;

use crate::RecordError;
pub(crate) use name::FileName;

const MARKER: &str = "shadowdiff.json";
const TEMP: &str = ".tmp";
/// `exchanges/date=…/hour=…/FILE`; deeper folders are not looked into.
const DEPTH: usize = 3;

/// A table of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Exchanges,
    Ledger,
    DeadLetters,
}

impl Table {
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Exchanges => "exchanges",
            Self::Ledger => "ledger",
            Self::DeadLetters => "dead_letters",
        }
    }
}

/// What the marker file says.
#[derive(serde::Serialize, serde::Deserialize)]
struct Marker {
    format: String,
    schema_version: u32,
}

/// The folder of a set.
#[derive(Debug, Clone)]
pub(crate) struct SetRoot {
    root: PathBuf,
}

/// One partition of the set, held by this recorder until dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    /// First offset that the set does not hold; `None` when it holds nothing of the partition.
    pub(crate) next: Option<i64>,
    /// Dropping it releases the lock.
    _lock: File,
}

impl SetRoot {
    /// Opens or makes the folder.
    ///
    /// # Errors
    /// When it cannot be made, or holds something else.
    pub(crate) fn open(root: &Path) -> Result<Self, RecordError> {
        fs::create_dir_all(root).map_err(RecordError::io("make", root))?;
        let set = Self { root: root.to_owned() };
        let marker = root.join(MARKER);
        match fs::read(&marker) {
            Ok(text) => set.check_marker(&text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                set.check_empty()?;
                set.write_marker(&marker)?;
            }
            Err(error) => return Err(RecordError::io("read", &marker)(error)),
        }
        let temp = root.join(TEMP);
        fs::create_dir_all(&temp).map_err(RecordError::io("make", &temp))?;
        Ok(set)
    }

    fn foreign(&self, reason: impl Into<String>) -> RecordError {
        RecordError::Foreign { path: self.root.clone(), reason: reason.into() }
    }

    fn check_marker(&self, text: &[u8]) -> Result<(), RecordError> {
        let marker: Marker = serde_json::from_slice(text)
            .map_err(|error| self.foreign(format!("its {MARKER} cannot be read ({error})")))?;
        if marker.format != "shadowdiff" {
            return Err(self.foreign(format!("its {MARKER} names the format {:?}", marker.format)));
        }
        if marker.schema_version != SCHEMA_VERSION {
            let version = marker.schema_version;
            return Err(
                self.foreign(format!("its columns have version {version}, this release's {SCHEMA_VERSION}"))
            );
        }
        Ok(())
    }

    /// A folder without a marker may be empty but for hidden files and what a fresh file system brings, or hold exchanges
    /// that somebody copied without the marker.
    fn check_empty(&self) -> Result<(), RecordError> {
        let mut other = None;
        for entry in entries(&self.root)? {
            let name = file_name(&entry);
            // The marker may have come since it was looked for: recorders of a group start together.
            if name == Table::Exchanges.folder() || name == MARKER {
                return Ok(());
            }
            if !name.starts_with('.') && name != "lost+found" {
                other.get_or_insert(name);
            }
        }
        other.map_or(Ok(()), |name| Err(self.foreign(format!("it holds {name:?} and no {MARKER}"))))
    }

    fn write_marker(&self, marker: &Path) -> Result<(), RecordError> {
        let content = Marker { format: "shadowdiff".into(), schema_version: SCHEMA_VERSION };
        let text = serde_json::to_vec(&content).unwrap_or_default();
        // A name of its own: recorders may make the same folder at once, in containers with the same process number.
        let temp = self.root.join(format!(".{MARKER}.{}", exchange::Uuid::now_v7()));
        let mut file = File::create(&temp).map_err(RecordError::io("make", &temp))?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(RecordError::io("write", &temp))?;
        fs::rename(&temp, marker).map_err(RecordError::io("rename", &temp))?;
        sync_folder(&self.root)
    }

    /// Path of the file being written for a table of a partition.
    pub(crate) fn temp(&self, table: Table, topic: &str, partition: i32) -> PathBuf {
        self.root.join(TEMP).join(format!("{topic}-{partition:05}.{}", table.folder()))
    }

    /// Where a finished file belongs. `at_us` (microseconds since the Unix epoch) gives the date and hour of an
    /// `exchanges` file; a time before 1970 or after 9999 counts as that bound.
    pub(crate) fn place(&self, table: Table, name: &FileName, at_us: i64) -> PathBuf {
        let folder = self.root.join(table.folder());
        match table {
            Table::Exchanges => {
                const LAST_OF_9999: i64 = 253_402_300_799_999_999;
                let at = timestamp_us_to_datetime(at_us.clamp(0, LAST_OF_9999)).unwrap_or_default();
                let (date, hour) = (at.format("date=%Y-%m-%d"), at.format("hour=%H"));
                folder.join(date.to_string()).join(hour.to_string()).join(name.to_string())
            }
            Table::Ledger | Table::DeadLetters => folder.join(name.to_string()),
        }
    }

    /// Moves a finished file to its place, durably.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn move_in(&self, temp: &Path, place: &Path) -> Result<(), RecordError> {
        let folder = place.parent().unwrap_or(&self.root);
        let is_new = !folder.is_dir();
        fs::create_dir_all(folder).map_err(RecordError::io("make", folder))?;
        fs::rename(temp, place).map_err(RecordError::io("move a finished file to", place))?;
        sync_folder(folder)?;
        if is_new {
            // A new folder is an entry of its parent, and so on up to the root.
            let mut above = folder.ancestors().skip(1).take_while(|above| above.starts_with(&self.root));
            above.try_for_each(sync_folder)?;
        }
        Ok(())
    }

    /// Takes a partition: locks it, removes what a crash left of it, and finds where to go on.
    ///
    /// # Errors
    /// When another recorder holds it, two files overlap, or the file system refuses.
    pub(crate) fn claim(&self, topic: &str, partition: i32) -> Result<Claim, RecordError> {
        let lock = self.lock(topic, partition)?;
        let exchanges = self.files(Table::Exchanges, topic, partition)?;
        let next = plan::next_offset(exchanges.into_iter().map(|(name, _)| name).collect())?;
        for table in [Table::Exchanges, Table::Ledger, Table::DeadLetters] {
            remove(&self.temp(table, topic, partition))?;
        }
        for table in [Table::Ledger, Table::DeadLetters] {
            for (name, path) in self.files(table, topic, partition)? {
                if plan::is_orphan(&name, next) {
                    tracing::warn!(file = %path.display(), "removing a file of a range that was not finished");
                    remove(&path)?;
                }
            }
        }
        Ok(Claim { next, _lock: lock })
    }

    fn lock(&self, topic: &str, partition: i32) -> Result<File, RecordError> {
        let path = self.root.join(TEMP).join(format!("{topic}-{partition:05}.lock"));
        let file = File::create(&path).map_err(RecordError::io("make", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RecordError::Busy { path }),
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, path = %path.display(), "this file system has no locks: see that only one recorder writes each partition");
            }
        }
        Ok(file)
    }

    /// Files of a table that belong to a partition, in no order.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn files(
        &self,
        table: Table,
        topic: &str,
        partition: i32,
    ) -> Result<Vec<(FileName, PathBuf)>, RecordError> {
        let mut found = Vec::new();
        let mut folders = vec![(self.root.join(table.folder()), DEPTH)];
        while let Some((folder, depth)) = folders.pop() {
            if !folder.is_dir() {
                continue;
            }
            for entry in entries(&folder)? {
                if let Some(name) = FileName::parse(&file_name(&entry)) {
                    if name.topic == topic && name.partition == partition {
                        found.push((name, entry.path()));
                    }
                } else if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push((entry.path(), depth - 1));
                }
            }
        }
        Ok(found)
    }
}

fn file_name(entry: &fs::DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>, RecordError> {
    let list = fs::read_dir(folder).and_then(Iterator::collect);
    list.map_err(RecordError::io("list", folder))
}

fn remove(path: &Path) -> Result<(), RecordError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(RecordError::io("remove the leftover", path)(error))
        }
        _ => Ok(()),
    }
}

fn sync_folder(folder: &Path) -> Result<(), RecordError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(RecordError::io("sync", folder))
}

#[cfg(test)]
mod tests;
