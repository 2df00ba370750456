//! The segments of a spool, oldest first.

use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SpoolError;
use super::frame::HEADER;
use super::segment::{Chunk, Segment};
use crate::publish::Tally;

const LOCK: &str = "lock";
const EXTENSION: &str = "spool";

/// All segments of a folder; the last one may be open for writing.
#[derive(Debug)]
pub(super) struct Log {
    dir: PathBuf,
    segment_bytes: u64,
    segments: VecDeque<Segment>,
    writing: Option<File>,
    next_number: u64,
    _lock: File,
}

impl Log {
    /// Takes the folder, which is made when it is not there, and looks at what an earlier process left in it.
    ///
    /// # Errors
    /// When it cannot be used, another process uses it, or it holds segments that this release cannot read.
    pub(super) fn open(dir: &Path, segment_bytes: u64) -> Result<Self, SpoolError> {
        let failed = |action: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| SpoolError::Io { action, path, source }
        };
        std::fs::create_dir_all(dir).map_err(failed("make", dir))?;
        let lock = lock(&dir.join(LOCK))?;
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(failed("list", dir))? {
            let name = entry.map_err(failed("list", dir))?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.strip_suffix('.'));
            numbers.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        let next_number = numbers.last().map_or(0, |last| last + 1);
        let mut log = Self {
            dir: dir.to_owned(),
            segment_bytes,
            segments: VecDeque::new(),
            writing: None,
            next_number,
            _lock: lock,
        };
        for number in numbers {
            let path = log.path(number);
            // Killed while it was made: there is nothing in it.
            if std::fs::metadata(&path).is_ok_and(|facts| facts.len() < HEADER) {
                std::fs::remove_file(&path).map_err(failed("remove", &path))?;
                continue;
            }
            let segment = Segment::open(&path, number).map_err(failed("read", &path))?;
            if segment.torn > 0 {
                let (file, bytes) = (segment.path().display(), segment.torn);
                tracing::warn!(%file, bytes, "the end of a segment of the spool is not whole, as after a crash: it is left out");
            }
            log.segments.push_back(segment);
        }
        log.remove_done();
        Ok(log)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:020}.{EXTENSION}"))
    }

    /// Bytes after which a segment is closed.
    pub(super) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Bytes that the files take.
    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.end + segment.torn).sum()
    }

    /// Messages that are not acknowledged.
    pub(super) fn messages(&self) -> u64 {
        self.segments.iter().map(|segment| segment.frames).sum()
    }

    /// Appends frames of one run.
    ///
    /// # Errors
    /// When the file system refuses: none of them is in the spool then.
    pub(super) fn append(&mut self, frames: &[u8], count: u64, run: &Arc<Tally>) -> io::Result<()> {
        let full = self.segments.back().is_some_and(|segment| segment.end >= self.segment_bytes);
        if full && self.writing.is_some() {
            self.sync()?;
            self.writing = None;
        }
        if self.writing.is_none() {
            let (segment, file) = Segment::create(self.path(self.next_number), self.next_number)?;
            self.next_number += 1;
            self.segments.push_back(segment);
            self.writing = Some(file);
        }
        let (Some(file), Some(segment)) = (&mut self.writing, self.segments.back_mut()) else {
            return Ok(());
        };
        segment.append(file, frames, count, run)
    }

    /// Makes what was written outlive the machine.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(file) = &self.writing else { return Ok(()) };
        file.sync_data()?;
        File::open(&self.dir)?.sync_all()
    }

    /// The next frames to send, at most so many.
    pub(super) fn next(&mut self, most: usize) -> io::Result<Option<Chunk>> {
        for segment in &mut self.segments {
            if let Some(chunk) = segment.next(most)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// Writes down that frames of a segment, up to `end`, are about to be sent.
    pub(super) fn will_send(&self, segment: u64, end: u64) -> io::Result<()> {
        let known = self.segments.iter().find(|known| known.number == segment);
        known.map_or(Ok(()), |segment| segment.will_send(end))
    }

    /// Notes that so many frames of a segment, up to `end`, are on their way.
    pub(super) fn sent(&mut self, segment: u64, frames: u64, end: u64) {
        if let Some(segment) = self.segments.iter_mut().find(|known| known.number == segment) {
            segment.sent(frames, end);
        }
    }

    /// Notes that so many frames of a segment, up to `end`, need not be sent again; a segment of which that is true for all is
    /// removed.
    pub(super) fn acknowledge(&mut self, segment: u64, frames: u64, end: u64) {
        let Some(segment) = self.segments.iter_mut().find(|known| known.number == segment) else { return };
        if let Err(error) = segment.acknowledge(frames, end) {
            let file = segment.path().display();
            tracing::warn!(%error, %file, "a mark in the spool was not written: a crash now would send messages twice");
        }
        self.remove_done();
    }

    fn remove_done(&mut self) {
        while self.segments.front().is_some_and(Segment::is_done) {
            let Some(segment) = self.segments.pop_front() else { return };
            if self.segments.is_empty() {
                self.writing = None;
            }
            if let Err(error) = segment.remove() {
                let file = segment.path().display();
                tracing::warn!(%error, %file, "a segment of the spool cannot be removed: the next start sends it again");
            }
        }
    }
}

fn lock(path: &Path) -> Result<File, SpoolError> {
    let failed = |source| SpoolError::Io { action: "make", path: path.to_owned(), source };
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let dir = path.parent().unwrap_or(path).to_owned();
            return Err(SpoolError::Busy(dir));
        }
        Err(TryLockError::Error(error)) => {
            tracing::warn!(%error, path = %path.display(), "this file system has no locks: see that only one proxy uses this spool");
        }
    }
    Ok(file)
}
