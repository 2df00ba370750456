//! The partitions that this recorder holds. It knows no client: what Kafka says is told to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::ends::Ends;
use crate::partition::{Message, Partition};
use crate::set::SetRoot;
use crate::{Progress, RecordError, Settings};

/// Bound of the memory that all open files take together; beyond it, the largest row group is ended early.
const MEMORY: usize = 256 << 20;

/// Offsets to commit: (partition, next offset).
pub(super) type Due = Vec<(i32, i64)>;

/// What is held, and what was put into the set by partitions given back.
pub(super) struct Held {
    set: SetRoot,
    settings: Arc<Settings>,
    topic: String,
    partitions: BTreeMap<i32, Partition>,
    /// Ends of the partitions as the client last saw them.
    highs: BTreeMap<i32, i64>,
    /// How far nothing is left of the partitions, as the client last saw them.
    drained: BTreeMap<i32, i64>,
    /// Partitions whose beginning could not be checked against Kafka yet.
    unchecked: BTreeSet<i32>,
    /// Whether the group has given out its partitions, be it none to us.
    joined: bool,
    given_back: Progress,
    failure: Option<RecordError>,
    ended: bool,
}

impl Held {
    pub(super) fn new(set: SetRoot, settings: Arc<Settings>, topic: &str) -> Self {
        Self {
            set,
            settings,
            topic: topic.to_owned(),
            partitions: BTreeMap::new(),
            highs: BTreeMap::new(),
            drained: BTreeMap::new(),
            unchecked: BTreeSet::new(),
            joined: false,
            given_back: Progress::default(),
            failure: None,
            ended: false,
        }
    }

    /// Claims a partition the group gave us, and gives the first offset that the set does not hold.
    ///
    /// # Errors
    /// As [`Partition::open`].
    pub(super) fn claim(&mut self, number: i32) -> Result<Option<i64>, RecordError> {
        let partition = Partition::open(&self.set, self.settings.clone(), &self.topic, number)?;
        let next = partition.next();
        self.partitions.insert(number, partition);
        Ok(next)
    }

    /// Notes that the group has given out its partitions.
    pub(super) fn join(&mut self) {
        self.joined = true;
    }

    /// Says where reading begins in a partition of which the set holds nothing.
    pub(super) fn start_at(&mut self, number: i32, offset: i64) {
        if let Some(partition) = self.partitions.get_mut(&number) {
            partition.start_at(offset);
        }
    }

    /// Where the next message of a partition is expected.
    pub(super) fn next(&self, number: i32) -> Option<i64> {
        self.partitions.get(&number).and_then(Partition::next)
    }

    /// Takes a message. One of a partition that is not held is left to the recorder that holds it.
    ///
    /// # Errors
    /// As [`Partition::append`].
    pub(super) fn append(
        &mut self,
        number: i32,
        message: Message,
        now: Duration,
    ) -> Result<Option<i64>, RecordError> {
        match self.partitions.get_mut(&number) {
            Some(partition) => partition.append(message, now),
            None => Ok(None),
        }
    }

    /// Closes what is old, and frees memory when all takes too much.
    ///
    /// # Errors
    /// As [`Partition::tick`].
    pub(super) fn tick(&mut self, now: Duration) -> Result<Due, RecordError> {
        let mut due = Due::new();
        for (number, partition) in &mut self.partitions {
            due.extend(partition.tick(now)?.map(|next| (*number, next)));
        }
        if self.partitions.values().map(Partition::memory).sum::<usize>() > MEMORY
            && let Some(largest) = self.partitions.values_mut().max_by_key(|partition| partition.memory())
        {
            largest.flush()?;
        }
        Ok(due)
    }

    /// Closes all files; the partitions stay ours.
    ///
    /// # Errors
    /// As [`Partition::close`].
    pub(super) fn close_all(&mut self) -> Result<Due, RecordError> {
        let mut due = Due::new();
        for (number, partition) in &mut self.partitions {
            due.extend(partition.close()?.map(|next| (*number, next)));
        }
        Ok(due)
    }

    /// Gives partitions back: their files are closed first, or given up where `lost`, when another recorder may already
    /// read the same messages.
    pub(super) fn give_back(&mut self, numbers: &[i32], lost: bool) -> Due {
        let mut due = Due::new();
        for number in numbers {
            let Some(mut partition) = self.partitions.remove(number) else { continue };
            self.unchecked.remove(number);
            self.highs.remove(number);
            self.drained.remove(number);
            if !lost {
                match partition.close() {
                    Ok(next) => due.extend(next.map(|next| (*number, next))),
                    Err(error) => self.fail(error),
                }
            }
            self.given_back.merge(&partition.give_up());
        }
        due
    }

    /// Gives all up without closing files.
    pub(super) fn give_up(&mut self) {
        self.ended = true;
        self.partitions.clear();
    }

    /// Lets go of all, after [`close_all`](Self::close_all), and gives the counts.
    pub(super) fn end(&mut self) -> Progress {
        let progress = self.progress();
        self.give_up();
        progress
    }

    /// Whether recording has ended, so that nothing is claimed or closed any more.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Keeps an error that came up where it cannot be returned; the first one counts.
    pub(super) fn fail(&mut self, error: RecordError) {
        self.failure.get_or_insert(error);
    }

    pub(super) fn take_failure(&mut self) -> Option<RecordError> {
        self.failure.take()
    }

    /// Partitions whose beginning is still to be checked.
    pub(super) fn unchecked(&mut self) -> &mut BTreeSet<i32> {
        &mut self.unchecked
    }

    /// Notes the end of a partition.
    pub(super) fn saw_end(&mut self, number: i32, high: i64) {
        self.highs.insert(number, high);
    }

    /// Notes that all messages before `end` were given to us, of a partition that may have none there: the last offsets can
    /// be markers of transactions.
    pub(super) fn saw_drained(&mut self, number: i32, end: i64) {
        self.drained.insert(number, end);
    }

    /// Whether all that is held has been read to the ends asked for.
    pub(super) fn has_reached(&self, ends: &Ends) -> bool {
        let reached = |(number, partition): (&i32, &Partition)| {
            ends.are_reached(*number, partition.next(), self.drained.get(number).copied())
        };
        self.joined && self.partitions.iter().all(reached)
    }

    pub(super) fn progress(&self) -> Progress {
        let mut progress = self.given_back;
        for partition in self.partitions.values() {
            progress.merge(&partition.progress());
        }
        progress.lag = self.lag();
        progress
    }

    fn lag(&self) -> Option<u64> {
        let behind = |(number, partition): (&i32, &Partition)| {
            let behind = self.highs.get(number)?.saturating_sub(partition.next()?);
            Some(u64::try_from(behind).unwrap_or(0))
        };
        self.joined.then(|| self.partitions.iter().map(behind).sum()).flatten()
    }
}

#[cfg(test)]
mod tests;
