//! Recording without Kafka: the proxy hands over its messages in the same process.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use crate::partition::{Message, Partition};
use crate::set::SetRoot;
use crate::{Progress, RecordError, Settings};

/// A recorder that numbers the messages itself: partition 0 of a topic of its own, whose offsets go on where the set
/// ends. Messages since the last closed file are lost in a crash: there is no Kafka to ask for them again.
pub struct Local {
    partition: Partition,
    /// The offset of the next message.
    next: i64,
    begun: Instant,
}

impl Local {
    /// Opens or makes the set. `topic` names the stream of messages in it, such as `local-NAME`.
    ///
    /// # Errors
    /// When the folder cannot be written, holds something else, or another recorder writes that topic there; when the
    /// topic is no legal Kafka name.
    pub fn open(settings: Settings, topic: &str) -> Result<Self, RecordError> {
        check_topic(topic)?;
        let set = SetRoot::open(&settings.out)?;
        let partition = Partition::open(&set, Arc::new(settings), topic, 0)?;
        Ok(Self { next: partition.next().unwrap_or(0), partition, begun: Instant::now() })
    }

    /// Takes an encoded message; one that cannot be read becomes a dead letter.
    ///
    /// # Errors
    /// When the file system refuses. The messages of the file that was open are lost then, and counted in the error
    /// ([`RecordError::Lost`]); the next ones go into a new file: the caller may go on once there is room again.
    pub fn append(&mut self, message: Bytes) -> Result<(), RecordError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_us = i64::try_from(since.as_micros()).ok();
        let message = Message { offset: self.next, at_us, key: None, payload: Some(message), again: false };
        self.next += 1;
        let before = self.partition.progress().messages() + 1;
        let appended = self.partition.append(message, self.begun.elapsed());
        appended.map(drop).map_err(|error| self.lost(before, error))
    }

    /// Closes the file when it is old; to be called about once a second.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn tick(&mut self) -> Result<(), RecordError> {
        let before = self.partition.progress().messages();
        let ticked = self.partition.tick(self.begun.elapsed());
        ticked.map(drop).map_err(|error| self.lost(before, error))
    }

    /// Counts so far.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.partition.progress()
    }

    /// Closes the file and ends.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn close(mut self) -> Result<Progress, RecordError> {
        let before = self.partition.progress().messages();
        self.partition.close().map_err(|error| self.lost(before, error))?;
        Ok(self.partition.progress())
    }

    /// The error with what it cost; `before` are the messages there were, the one at hand included.
    fn lost(&self, before: u64, error: RecordError) -> RecordError {
        let messages = before.saturating_sub(self.partition.progress().messages());
        RecordError::Lost { messages, source: Box::new(error) }
    }
}

/// Kafka's rule, which also makes the name safe in a file name.
pub(crate) fn check_topic(topic: &str) -> Result<(), RecordError> {
    const LONGEST: usize = 190;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if topic.is_empty() || topic.len() > LONGEST || !topic.bytes().all(legal) {
        let reason = "is no legal name: use 1 to 190 of a-z A-Z 0-9 . _ -";
        return Err(RecordError::Topic { topic: topic.to_owned(), reason });
    }
    Ok(())
}
