//! The ends of the partitions at the moment a recording was asked to finish.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaResult;
use rdkafka::types::RDKafkaRespErr;

use super::consumer::Consumer;
use crate::RecordError;

const WAIT: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(500);

/// First and last-plus-one offsets of the partitions, once known.
#[derive(Debug, Default)]
pub(super) struct Ends {
    known: Option<BTreeMap<i32, (i64, i64)>>,
    asked: Option<Instant>,
    /// Partitions read to their end since the ends are known.
    reached: BTreeSet<i32>,
}

impl Ends {
    /// Asks Kafka, once; while Kafka does not answer, again at each call, with a pause.
    ///
    /// # Errors
    /// When there is no such topic: it would never be finished.
    pub(super) fn ask(&mut self, consumer: &Consumer, topic: &str) -> Result<(), RecordError> {
        let waits = self.asked.is_some_and(|asked| asked.elapsed() < RETRY);
        if self.known.is_some() || waits {
            return Ok(());
        }
        match ends(consumer, topic) {
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
        if self.known.is_some() {
            self.reached.insert(partition);
        }
    }

    /// Whether reading at `next` is past the end of the partition. A partition that was not there when the ends were
    /// asked for is.
    pub(super) fn are_reached(&self, partition: i32, next: Option<i64>) -> bool {
        let Some(known) = &self.known else { return false };
        known.get(&partition).is_none_or(|(low, high)| {
            low >= high || next.is_some_and(|next| next >= *high) || self.reached.contains(&partition)
        })
    }
}

/// `None` when there is no such topic.
fn ends(consumer: &Consumer, topic: &str) -> KafkaResult<Option<BTreeMap<i32, (i64, i64)>>> {
    let metadata = consumer.fetch_metadata(Some(topic), WAIT)?;
    let Some(found) = metadata.topics().iter().find(|found| found.name() == topic) else { return Ok(None) };
    if found.error() == Some(RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        return Ok(None);
    }
    let ask = |partition: i32| Ok((partition, consumer.fetch_watermarks(topic, partition, WAIT)?));
    found.partitions().iter().map(|partition| ask(partition.id())).collect::<KafkaResult<_>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_reached_by_offset_by_emptiness_or_by_kafkas_word() {
        let mut ends = Ends::default();
        ends.reached(0);
        assert!(!ends.are_reached(0, Some(5)), "nothing is known yet");
        ends.known = Some([(0, (0, 10)), (1, (7, 7)), (2, (0, 10))].into());
        assert!(!ends.are_reached(0, Some(9)) && !ends.are_reached(0, None));
        assert!(ends.are_reached(0, Some(10)));
        assert!(ends.are_reached(1, None) && ends.are_reached(9, None));
        assert!(!ends.are_reached(2, Some(8)));
        ends.reached(2);
        assert!(ends.are_reached(2, Some(8)));
    }
}
