//! The ends of the partitions at the moment a recording was asked to finish.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::error::KafkaResult;

use crate::RecordError;

const RETRY: Duration = Duration::from_millis(500);

/// First and last-plus-one offsets by partition.
pub(super) type Watermarks = BTreeMap<i32, (i64, i64)>;

/// The ends, once known.
#[derive(Debug, Default)]
pub(super) struct Ends {
    known: Option<Watermarks>,
    asked: Option<Instant>,
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

    /// Whether a partition is read to its end: its next message is expected at `next`, or Kafka had none before `drained`. A partition
    /// that was not there when the ends were asked for is.
    pub(super) fn are_reached(&self, partition: i32, next: Option<i64>, drained: Option<i64>) -> bool {
        let Some(known) = &self.known else { return false };
        known.get(&partition).is_none_or(|(low, high)| low >= high || next.max(drained) >= Some(*high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_reached_by_offset_by_emptiness_or_by_kafkas_word() {
        let mut ends = Ends::default();
        assert!(!ends.are_reached(3, None, Some(10)), "nothing is known yet");
        ends.ask("t", || Ok(Some([(0, (0, 10)), (1, (7, 7))].into()))).unwrap();
        assert!(!ends.are_reached(0, Some(9), None) && !ends.are_reached(0, None, None));
        assert!(ends.are_reached(0, Some(10), None));
        assert!(ends.are_reached(1, None, None) && ends.are_reached(9, None, None));
        // Markers of transactions: no message has the last offset. Where the group has committed the end, none comes at all.
        assert!(ends.are_reached(0, Some(8), Some(10)) && ends.are_reached(0, None, Some(10)));
    }

    #[test]
    fn an_earlier_end_that_is_told_late_is_none() {
        let mut ends = Ends::default();
        ends.ask("t", || Ok(Some([(0, (0, 10))].into()))).unwrap();
        assert!(!ends.are_reached(0, Some(9), Some(9)), "the last message is on its way");
    }

    #[test]
    fn a_topic_that_is_not_there_is_never_finished_and_silence_is_asked_again() {
        let mut ends = Ends::default();
        let error = ends.ask("t", || Ok(None)).unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{error}");
        let code = rdkafka::error::RDKafkaErrorCode::AllBrokersDown;
        ends.ask("t", || Err(rdkafka::error::KafkaError::MetadataFetch(code))).unwrap();
        assert!(!ends.are_reached(0, Some(0), None));
        ends.ask("t", || unreachable!("asked again at once")).unwrap();
    }
}
