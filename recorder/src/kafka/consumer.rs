//! The Kafka client: its options, and what it does when the group moves partitions.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::statistics::Statistics;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, TopicPartitionList};

use super::Source;
use super::ends::Watermarks;
use super::held::Held;
use super::notice::Notice;
use crate::RecordError;

/// How long Kafka may take to say where a partition begins and ends, while the group waits for us.
const WAIT: Duration = Duration::from_secs(3);
/// The same for a later try, while messages wait.
const SHORT_WAIT: Duration = Duration::from_millis(500);
/// How long the recorder that held a partition before may take to notice that the group has taken it away.
const HANDOVER: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(100);

/// The client of a recording.
pub(super) type Consumer = BaseConsumer<Context>;

/// What the client calls back into, on the thread that polls.
pub(super) struct Context {
    topic: String,
    held: Mutex<Held>,
    trouble: Mutex<Notice>,
}

/// Makes the client and joins the group; brokers need not be there yet.
///
/// # Errors
/// When an option is not accepted.
pub(super) fn connect(source: &Source, held: Held) -> Result<Consumer, RecordError> {
    let mut config = ClientConfig::new();
    // A recorder that died is noticed within seconds, and the mock broker lets a group form without a long wait.
    config.set("session.timeout.ms", "6000").set("heartbeat.interval.ms", "500");
    config.set("client.id", "shadowdiff-record").set("queued.max.messages.kbytes", "32768");
    for (key, value) in &source.options {
        config.set(key, value);
    }
    // The set says what is recorded: nothing may be committed before it is there, nor be skipped.
    config.set("bootstrap.servers", &source.brokers).set("group.id", &source.group);
    config.set("enable.auto.commit", "false").set("enable.auto.offset.store", "false");
    config.set("auto.offset.reset", "earliest").set("statistics.interval.ms", "1000");
    let topic = source.topic.clone();
    let context = Context { topic, held: Mutex::new(held), trouble: Mutex::default() };
    let consumer: Consumer = config.create_with_context(context).map_err(refused)?;
    consumer
        .subscribe(&[&source.topic])
        .map_err(|source| RecordError::Kafka { doing: "subscribe to the topic", source })?;
    Ok(consumer)
}

/// What the client says of a property, without the value: it may be a password under a misspelt name.
fn refused(error: KafkaError) -> RecordError {
    match error {
        KafkaError::ClientConfig(_, description, name, _) if description.contains(&name) => {
            RecordError::Options(description)
        }
        KafkaError::ClientConfig(_, description, name, _) => {
            RecordError::Options(format!("{description} ({name})"))
        }
        source => RecordError::Kafka { doing: "make a Kafka client", source },
    }
}

/// Commits offsets without waiting: a commit that fails is told and repeated with the next file.
pub(super) fn commit(consumer: &Consumer, topic: &str, due: &[(i32, i64)]) {
    if due.is_empty() {
        return;
    }
    let mut offsets = TopicPartitionList::new();
    for (partition, next) in due {
        if let Err(error) = offsets.add_partition_offset(topic, *partition, Offset::Offset(*next)) {
            tracing::warn!(%error, partition, "the offset cannot be committed");
        }
    }
    if let Err(error) = consumer.commit(&offsets, CommitMode::Async) {
        consumer.context().warn(&error, "offsets are not committed; the set goes on all the same");
    }
}

/// First and last-plus-one offsets of all partitions; `None` when there is no such topic.
///
/// # Errors
/// When Kafka does not answer.
pub(super) fn ends(consumer: &Consumer, topic: &str) -> KafkaResult<Option<Watermarks>> {
    let metadata = consumer.fetch_metadata(Some(topic), WAIT)?;
    let Some(found) = metadata.topics().iter().find(|found| found.name() == topic) else { return Ok(None) };
    match found.error() {
        Some(RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) => return Ok(None),
        Some(error) => return Err(KafkaError::MetadataFetch(error.into())),
        None => {}
    }
    let ask = |partition: i32| Ok((partition, consumer.fetch_watermarks(topic, partition, WAIT)?));
    found.partitions().iter().map(|partition| ask(partition.id())).collect::<KafkaResult<_>>().map(Some)
}

/// Checks the beginnings that Kafka did not answer for when the partitions came.
///
/// # Errors
/// When the set is ahead of the topic.
pub(super) fn check_unchecked(consumer: &Consumer, topic: &str) -> Result<(), RecordError> {
    let first = consumer.context().held().unchecked().first().copied();
    let Some(partition) = first else { return Ok(()) };
    match consumer.fetch_watermarks(topic, partition, SHORT_WAIT) {
        Ok((low, high)) => {
            let mut held = consumer.context().held();
            held.unchecked().remove(&partition);
            let next = held.next(partition);
            next.map_or(Ok(()), |next| check_beginning(topic, partition, next, low, high))
        }
        Err(error) => {
            consumer.context().warn(&error, "Kafka does not say where a partition ends; asking again");
            Ok(())
        }
    }
}

/// Compares where the set ends with what Kafka has.
///
/// # Errors
/// When the set is ahead of the topic.
fn check_beginning(topic: &str, partition: i32, next: i64, low: i64, high: i64) -> Result<(), RecordError> {
    if next > high {
        return Err(RecordError::Remade { topic: topic.to_owned(), partition, next, high });
    }
    if next < low {
        let lost = low - next;
        tracing::error!(topic, partition, lost, "Kafka has deleted messages before they were recorded");
    }
    Ok(())
}

impl Context {
    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn(&self, error: &KafkaError, event: &'static str) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).warn(error, event);
    }

    /// Claims what the group gives us, and reads each partition from where the set ends.
    fn take(
        &self,
        consumer: &Consumer,
        given: &TopicPartitionList,
    ) -> Result<TopicPartitionList, RecordError> {
        let kafka = |source| RecordError::Kafka { doing: "set where to read from", source };
        let mut beginnings = TopicPartitionList::new();
        let committed = consumer.committed_offsets(given.clone(), WAIT);
        let mut answers = committed.is_ok();
        for element in given.elements_for_topic(&self.topic) {
            let number = element.partition();
            let next = self.claim(number)?;
            let committed = committed.as_ref().ok().and_then(|list| list.find_partition(&self.topic, number));
            let committed = committed.and_then(|element| element.offset().to_raw()).filter(|raw| *raw >= 0);
            // Once Kafka is silent, the other partitions do not wait for it one after the other.
            let wait = if answers { WAIT } else { Duration::ZERO };
            let watermarks = consumer.fetch_watermarks(&self.topic, number, wait);
            answers &= watermarks.is_ok();
            if let Ok((_, high)) = watermarks {
                self.held().saw_end(number, high);
            }
            let beginning = match (next, watermarks) {
                (Some(next), Ok((low, high))) => {
                    check_beginning(&self.topic, number, next, low, high)?;
                    Offset::Offset(next)
                }
                (Some(next), Err(error)) => {
                    self.warn(&error, "Kafka does not say where a partition ends; asking again");
                    self.held().unchecked().insert(number);
                    Offset::Offset(next)
                }
                (None, Ok((low, high))) => {
                    let begin = committed.filter(|offset| (low..=high).contains(offset)).unwrap_or(low);
                    self.held().start_at(number, begin);
                    Offset::Offset(begin)
                }
                // What the group has committed, or the beginning.
                (None, Err(_)) => Offset::Invalid,
            };
            tracing::info!(topic = self.topic, partition = number, ?beginning, "recording a partition");
            beginnings.add_partition_offset(&self.topic, number, beginning).map_err(kafka)?;
        }
        let is_cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        let assign = if is_cooperative { Consumer::incremental_assign } else { Consumer::assign };
        assign(consumer, &beginnings).map_err(kafka)?;
        self.held().join();
        Ok(beginnings)
    }

    /// Claims a partition, waiting for a recorder on this machine that lost it by a time-out and does not know yet.
    fn claim(&self, number: i32) -> Result<Option<i64>, RecordError> {
        let deadline = Instant::now() + HANDOVER;
        loop {
            match self.held().claim(number) {
                Err(RecordError::Busy { .. }) if Instant::now() < deadline => std::thread::sleep(RETRY),
                claimed => return claimed,
            }
        }
    }

    /// Closes the files of what the group takes away, then lets go.
    fn give_back(&self, consumer: &Consumer, taken: &TopicPartitionList) -> KafkaResult<()> {
        if !self.held().has_ended() {
            let numbers: Vec<i32> =
                taken.elements_for_topic(&self.topic).iter().map(|element| element.partition()).collect();
            let lost = consumer.assignment_lost();
            if lost {
                tracing::warn!(topic = self.topic, partitions = ?numbers, "left the group by a time-out: open files are given up and read again");
            }
            let due = self.held().give_back(&numbers, lost);
            commit(consumer, &self.topic, &due);
        }
        match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => consumer.incremental_unassign(taken),
            _ => consumer.unassign(),
        }
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &Consumer, cause: RDKafkaRespErr, partitions: &mut TopicPartitionList) {
        let assigns = cause == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        if assigns && !self.held().has_ended() {
            if let Err(error) = self.take(consumer, partitions) {
                self.held().fail(error);
            }
        } else if let Err(source) = self.give_back(consumer, partitions) {
            self.held().fail(RecordError::Kafka { doing: "give partitions back", source });
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _offsets: &TopicPartitionList) {
        if let Err(error) = result {
            self.warn(&error, "offsets are not committed; the set goes on all the same");
        }
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        match level {
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error
            | RDKafkaLogLevel::Warning => tracing::warn!(facility, "librdkafka: {text}"),
            RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => tracing::info!(facility, "librdkafka: {text}"),
            RDKafkaLogLevel::Debug => tracing::debug!(facility, "librdkafka: {text}"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.warn(&error, "Kafka cannot be reached or refuses; trying again");
        tracing::debug!(%error, reason, "librdkafka reports an error");
    }

    fn stats(&self, statistics: Statistics) {
        let Some(topic) = statistics.topics.get(&self.topic) else { return };
        let mut held = self.held();
        for partition in topic.partitions.values() {
            if partition.hi_offset >= 0 {
                held.saw_end(partition.partition, partition.hi_offset);
            }
            // An event of the end says neither which end it was nor whether it is one still.
            if partition.eof_offset >= 0 && partition.fetchq_cnt == 0 {
                held.saw_drained(partition.partition, partition.eof_offset);
            }
        }
    }
}
