//! One partition: Filling → Closing → Committed.
//!
//! While [`Filling`] takes messages, nothing of them is in the set. Closing it makes its temporary files durable
//! ([`closing::Closing`]); publishing moves them to their places, the commit marker last. A crash at any point leaves either a
//! whole range or nothing that a reader sees, and the next claim of the partition goes on where the set ends.

mod again;
mod closing;
mod filling;
mod unused;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::set::{Claim, SetRoot};
use crate::{Fill, Progress, RecordError, Settings};
use again::Again;
#[cfg(test)]
pub(crate) use closing::Step;
pub(crate) use filling::Filling;

/// A message of a partition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    pub(crate) offset: i64,
    /// Kafka's time of the message, microseconds since the Unix epoch.
    pub(crate) at_us: Option<i64>,
    pub(crate) key: Option<Bytes>,
    pub(crate) payload: Option<Bytes>,
    /// It may be in the partition already, says who sent it.
    pub(crate) again: bool,
}

/// A partition that this recorder holds.
pub(crate) struct Partition {
    set: SetRoot,
    settings: Arc<Settings>,
    topic: String,
    number: i32,
    _claim: Claim,
    /// First offset not yet taken; `None` until the first message of a partition of which the set holds nothing.
    next: Option<i64>,
    filling: Option<Filling>,
    /// What is known of the exchanges of the set, once one came that may be in it.
    again: Option<Again>,
    /// What was put into the set.
    done: Progress,
}

impl Partition {
    /// Claims the partition.
    ///
    /// # Errors
    /// As [`SetRoot::claim`].
    pub(crate) fn open(
        set: &SetRoot,
        settings: Arc<Settings>,
        topic: &str,
        number: i32,
    ) -> Result<Self, RecordError> {
        let claim = set.claim(topic, number)?;
        let (set, topic, next) = (set.clone(), topic.to_owned(), claim.next);
        Ok(Self {
            set,
            settings,
            topic,
            number,
            _claim: claim,
            next,
            filling: None,
            again: None,
            done: Progress::default(),
        })
    }

    /// First offset not yet taken, where known.
    pub(crate) fn next(&self) -> Option<i64> {
        self.next
    }

    /// Says where reading begins in a partition of which the set holds nothing.
    pub(crate) fn start_at(&mut self, offset: i64) {
        self.next.get_or_insert(offset);
    }

    /// Takes a message; `now` is the time since any fixed point. Gives the offset to commit when this closed a file. A
    /// message that was taken before is counted and left out, and so is an exchange that was sent a second time.
    ///
    /// # Errors
    /// When the file system refuses. The messages of the open file are given up: from Kafka they come again.
    pub(crate) fn append(&mut self, message: Message, now: Duration) -> Result<Option<i64>, RecordError> {
        if self.next.is_some_and(|next| message.offset < next) {
            self.done.duplicates += 1;
            return Ok(None);
        }
        self.next = Some(message.offset.saturating_add(1));
        let appended = self.append_new(message, now);
        if appended.is_err() {
            // Rows of the open file are given up: what was known of them is no longer true.
            self.again = None;
        }
        appended
    }

    fn append_new(&mut self, message: Message, now: Duration) -> Result<Option<i64>, RecordError> {
        let id = again::id(message.key.as_deref());
        let mut closed = None;
        if let (true, Some(id)) = (message.again, id) {
            if self.again.is_none() {
                closed = self.close()?;
                self.again = Some(Again::new(&self.set, &self.topic, self.number));
            }
            if let Some(again) = &mut self.again
                && again.holds(id)?
            {
                self.done.duplicates += 1;
                return Ok(self.tick(now)?.or(closed));
            }
        }
        let mut filling = match self.filling.take() {
            Some(filling) => filling,
            None => Filling::open(&self.set, &self.settings, &self.topic, self.number, message.offset, now)?,
        };
        filling.append(message)?;
        self.filling = Some(filling);
        if let (Some(again), Some(id)) = (&mut self.again, id) {
            again.note(id);
        }
        Ok(self.tick(now)?.or(closed))
    }

    /// Closes the file when it is full or old. Gives the offset to commit.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub(crate) fn tick(&mut self, now: Duration) -> Result<Option<i64>, RecordError> {
        let fill = self.filling.as_ref().map_or_else(Fill::default, |filling| filling.fill(now));
        if self.settings.rotation.is_due(fill) { self.close() } else { Ok(None) }
    }

    /// Closes the file and puts it into the set. Gives the offset to commit, if a file was open.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub(crate) fn close(&mut self) -> Result<Option<i64>, RecordError> {
        self.close_by_steps(|_| Ok(()))
    }

    /// [`close`](Self::close), `reached` called between its steps; when it fails, nothing more is done, as in a crash.
    pub(crate) fn close_by_steps(
        &mut self,
        reached: impl FnMut(closing::Step) -> Result<(), RecordError>,
    ) -> Result<Option<i64>, RecordError> {
        let Some(filling) = self.filling.take() else { return Ok(None) };
        // Rows that are given up must not be known.
        let again = self.again.take();
        let committed = filling.close()?.publish(&self.set, reached)?;
        self.again = again.map(Again::closed);
        self.done.add(committed.counts);
        self.done.files += 1;
        self.done.bytes += committed.bytes;
        Ok(Some(committed.next))
    }

    /// Bytes held in memory.
    pub(crate) fn memory(&self) -> usize {
        self.filling.as_ref().map_or(0, Filling::memory)
    }

    /// Frees most of the memory, at the price of a smaller row group.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn flush(&mut self) -> Result<(), RecordError> {
        self.filling.as_mut().map_or(Ok(()), Filling::flush)
    }

    /// Counts since the claim, the open file's included.
    pub(crate) fn progress(&self) -> Progress {
        let mut progress = self.done;
        progress.add(self.filling.as_ref().map(Filling::counts).unwrap_or_default());
        progress
    }

    /// Counts of what is in the set; the open file is given up.
    pub(crate) fn give_up(self) -> Progress {
        self.done
    }
}

#[cfg(test)]
mod tests;
