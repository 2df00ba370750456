//! One file of the spool.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::frame::{self, Frame, HEADER, MARK, Next, SENT};
use crate::publish::{Kind, Tally};

/// Bytes read at once, unless one frame is larger.
const READ: usize = 1 << 20;

/// A file of frames; whole frames only lie before `end`.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    /// Its number, which orders it.
    pub(super) number: u64,
    /// After the last whole frame.
    pub(super) end: u64,
    /// The first frame that was not handed out.
    read: u64,
    /// The first frame that is not acknowledged.
    acknowledged: u64,
    /// Up to where an earlier process sent frames.
    sent_before: u64,
    /// Frames that are not acknowledged.
    pub(super) frames: u64,
    /// Whose frames were not handed out, in their order.
    runs: VecDeque<Run>,
    /// Bytes behind the last whole frame.
    pub(super) torn: u64,
}

/// Frames of one run that lie together.
#[derive(Debug)]
struct Run {
    /// None for frames that an earlier process wrote.
    tally: Option<Arc<Tally>>,
    frames: u64,
}

/// Frames of one kind and run to be sent.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) segment: u64,
    pub(super) kind: Kind,
    /// Whether they may have been delivered before.
    pub(super) again: bool,
    pub(super) run: Option<Arc<Tally>>,
    /// Each with the position after it.
    pub(super) frames: Vec<(Frame, u64)>,
}

impl Segment {
    /// Makes an empty one, open for writing.
    pub(super) fn create(path: PathBuf, number: u64) -> io::Result<(Self, File)> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        if let Err(error) = file.write_all(&frame::header()) {
            // A file without a whole header would stop the next start.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        let (end, read, acknowledged, sent_before) = (HEADER, HEADER, HEADER, HEADER);
        Ok((
            Self {
                path,
                number,
                end,
                read,
                acknowledged,
                sent_before,
                frames: 0,
                runs: VecDeque::new(),
                torn: 0,
            },
            file,
        ))
    }

    /// Opens one that an earlier process left and counts its frames.
    ///
    /// # Errors
    /// When it cannot be read, or is none: the reason as text.
    pub(super) fn open(path: &Path, number: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut header = Vec::new();
        file.take(HEADER).read_to_end(&mut header)?;
        let (mark, sent_before) = frame::read_header(&header)
            .map_err(|reason| io::Error::new(io::ErrorKind::InvalidData, reason))?;
        let mut segment = Self {
            path: path.to_owned(),
            number,
            end: length,
            read: HEADER,
            acknowledged: HEADER,
            sent_before,
            frames: 0,
            runs: VecDeque::new(),
            torn: 0,
        };
        let mut acknowledged = 0;
        loop {
            let (frames, whole) = segment.parse(usize::MAX)?;
            acknowledged += frames.iter().filter(|(_, end)| *end <= mark).count() as u64;
            segment.frames += frames.len() as u64;
            segment.read = frames.last().map_or(segment.read, |(_, end)| *end);
            // A mark that is no border of frames is damage: all of it is sent again then.
            if frames.iter().any(|(_, end)| *end == mark) {
                segment.acknowledged = mark;
            }
            if !whole || frames.is_empty() {
                break;
            }
        }
        if segment.acknowledged == HEADER {
            acknowledged = 0;
        }
        (segment.end, segment.torn) = (segment.read, length - segment.read);
        (segment.read, segment.frames) = (segment.acknowledged, segment.frames - acknowledged);
        segment.runs.push_back(Run { tally: None, frames: segment.frames });
        Ok(segment)
    }

    /// Appends whole frames of one run through `file`, which was opened for it. After an error the file is as before, as far as
    /// the file system allows.
    pub(super) fn append(
        &mut self,
        file: &mut File,
        frames: &[u8],
        count: u64,
        run: &Arc<Tally>,
    ) -> io::Result<()> {
        if let Err(error) = file.write_all(frames) {
            let _ = file.set_len(self.end).and_then(|()| file.seek(SeekFrom::Start(self.end)));
            return Err(error);
        }
        self.end += frames.len() as u64;
        self.frames += count;
        match self.runs.back_mut() {
            Some(Run { tally: Some(last), frames }) if Arc::ptr_eq(last, run) => *frames += count,
            _ => self.runs.push_back(Run { tally: Some(run.clone()), frames: count }),
        }
        Ok(())
    }

    /// The next frames to send, at most so many; none when all were handed out. They stay where they are until
    /// [`sent`](Self::sent).
    pub(super) fn next(&mut self, most: usize) -> io::Result<Option<Chunk>> {
        if self.read >= self.end {
            return Ok(None);
        }
        let (mut frames, _) = self.parse(most)?;
        let Some(first) = frames.first() else {
            self.cut();
            return Ok(None);
        };
        let alike = |(frame, end): &(Frame, u64)| (frame.kind, frame.again || *end <= self.sent_before);
        let (kind, again) = alike(first);
        let run = self.runs.front();
        let of_run = run.map_or(usize::MAX, |run| usize::try_from(run.frames).unwrap_or(usize::MAX));
        let of_kind = frames.iter().take_while(|frame| alike(frame) == (kind, again)).count();
        frames.truncate(of_kind.min(of_run.max(1)));
        let run = run.and_then(|run| run.tally.clone());
        Ok(Some(Chunk { segment: self.number, kind, again, run, frames }))
    }

    /// Notes that so many frames, up to `end`, are on their way.
    pub(super) fn sent(&mut self, frames: u64, end: u64) {
        self.read = end;
        if let Some(run) = self.runs.front_mut() {
            run.frames = run.frames.saturating_sub(frames);
            if run.frames == 0 {
                self.runs.pop_front();
            }
        }
    }

    /// Notes that so many frames, up to `end`, need not be sent again. An error costs no more than that they may be.
    pub(super) fn acknowledge(&mut self, frames: u64, end: u64) -> io::Result<()> {
        self.acknowledged = end;
        self.frames = self.frames.saturating_sub(frames);
        if self.is_done() {
            return Ok(());
        }
        self.write_mark(MARK, end)
    }

    /// Writes down that frames up to `end` are about to be sent: after a crash they are sent as possible second copies.
    pub(super) fn will_send(&self, end: u64) -> io::Result<()> {
        // What an earlier process sent beyond stays noted.
        if end <= self.sent_before { Ok(()) } else { self.write_mark(SENT, end) }
    }

    fn write_mark(&self, at: u64, position: u64) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&position.to_le_bytes())
    }

    /// Whether all frames are acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.acknowledged >= self.end
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes what cannot be read any more out of the count: the file was changed under the running process.
    fn cut(&mut self) {
        let lost: u64 = self.runs.iter().map(|run| run.frames).sum();
        for run in self.runs.drain(..) {
            if let Some(tally) = run.tally {
                tally.take_back_spooled(run.frames);
                tally.add_dropped(exchange::DropReason::DeliveryFailed, run.frames);
            }
        }
        self.frames = self.frames.saturating_sub(lost);
        self.torn += self.end - self.read;
        self.end = self.read;
        tracing::error!(file = %self.path.display(), lost, "a segment of the spool was damaged while it was in use");
    }

    /// Whole frames from the read position on, at most `most` and of about [`READ`] bytes; whether nothing damaged ended them.
    fn parse(&self, most: usize) -> io::Result<(Vec<(Frame, u64)>, bool)> {
        let mut bytes = self.bytes(READ)?;
        if let Next::Needs(needed) = frame::take(&bytes, 0)
            && needed > READ
        {
            bytes = self.bytes(needed)?;
        }
        let (mut frames, mut at) = (Vec::new(), 0);
        while frames.len() < most {
            match frame::take(&bytes, at) {
                Next::Frame(frame, end) => {
                    frames.push((frame, self.read + end as u64));
                    at = end;
                }
                Next::Needs(_) => break,
                Next::Damaged => return Ok((frames, false)),
            }
        }
        Ok((frames, true))
    }

    fn bytes(&self, most: usize) -> io::Result<Bytes> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let length = (self.end - self.read).min(most as u64);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}
