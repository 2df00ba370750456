//! The ends of the partitions at the moment a recording was asked to finish.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdkafka::error::KafkaResult;

use crate::RecordError;

const RETRY: Duration = Duration::from_millis(500);

/// First and last-plus-one offsets by partition.
pub(super) type Watermarks = BTreeMap<i32, (i64, i64)>;

/// The ends, once known, and which of them were reached.
#[derive(Debug, Default)]
pub(super) struct Ends {
    known: Option<Watermarks>,
    asked: Option<Instant>,
    /// Partitions read to their end since the ends are known.
    reached: BTreeSet<i32>,
    /// Partitions read to some end before that.
    idle: BTreeSet<i32>,
}

impl Ends {
    /// Asks Kafka through `fetch`, once; while Kafka does not answer, again at each call, with a pause. `fetch` gives `None`
    /// when there is no such topic.
    ///
    /// # Errors
    /// When there is no such topic: it would never be finished.
    pub(super) fn ask(
        &mut self,
        topic: &str,
        fetch: impl FnOnce() -> KafkaResult<Option<Watermarks>>,
    ) -> Result<(), RecordError> {
        let waits = self.asked.is_some_and(|asked| asked.elapsed() < RETRY);
        if self.known.is_some() || waits {
            return Ok(());
        }
        match fetch() {
            Ok(Some(known)) => self.known = Some(known),
            Ok(None) => {
                let reason = "does not exist on these brokers: check its name, or record without an end";
                return Err(RecordError::Topic { topic: topic.to_owned(), reason });
            }
            Err(error) => {
                tracing::warn!(%error, "the ends of the partitions are not known yet; asking again")
            }
        }
        self.asked = Some(Instant::now());
        Ok(())
    }

    /// Notes that a partition was read to its end: where the last offsets hold no messages (markers of transactions),
    /// none with the last offset comes.
    pub(super) fn reached(&mut self, partition: i32) {
        let past = if self.known.is_some() { &mut self.reached } else { &mut self.idle };
        past.insert(partition);
    }

    /// Whether reading at `next` is past the end of the partition. A partition that was not there when the ends were
    /// asked for is.
    pub(super) fn are_reached(&self, partition: i32, next: Option<i64>) -> bool {
        let Some(known) = &self.known else { return false };
        known.get(&partition).is_none_or(|(low, high)| {
            // Nothing came at all, and nothing is to come: the group has committed the end.
            let is_idle = || self.idle.contains(&partition);
            low >= high
                || next.map_or_else(is_idle, |next| next >= *high)
                || self.reached.contains(&partition)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_reached_by_offset_by_emptiness_or_by_kafkas_word() {
        let mut ends = Ends::default();
        ends.reached(3);
        assert!(!ends.are_reached(3, None), "nothing is known yet");
        ends.ask("t", || Ok(Some([(0, (0, 10)), (1, (7, 7)), (2, (0, 10)), (3, (0, 10))].into()))).unwrap();
        assert!(ends.are_reached(3, None) && !ends.are_reached(3, Some(9)));
        assert!(!ends.are_reached(0, Some(9)) && !ends.are_reached(0, None));
        assert!(ends.are_reached(0, Some(10)));
        assert!(ends.are_reached(1, None) && ends.are_reached(9, None));
        assert!(!ends.are_reached(2, Some(8)));
        ends.reached(2);
        assert!(ends.are_reached(2, Some(8)));
    }

    #[test]
    fn a_topic_that_is_not_there_is_never_finished_and_silence_is_asked_again() {
        let mut ends = Ends::default();
        let error = ends.ask("t", || Ok(None)).unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{error}");
        let code = rdkafka::error::RDKafkaErrorCode::AllBrokersDown;
        ends.ask("t", || Err(rdkafka::error::KafkaError::MetadataFetch(code))).unwrap();
        assert!(!ends.are_reached(0, Some(0)));
        ends.ask("t", || unreachable!("asked again at once")).unwrap();
    }
}
