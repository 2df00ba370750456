//! Publishing to Kafka through librdkafka.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use exchange::DropReason;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError as Error, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, DeliveryResult, Header, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, PurgeConfig, ThreadedProducer};

use super::spool::{Inbox, Refusal, Sink};
use super::{Kind, Message, Publish, Published, Tally};

/// How to reach Kafka.
#[derive(Debug, Clone)]
pub struct KafkaSettings {
    /// Bootstrap brokers, `host:port[,host:port…]`.
    pub brokers: String,
    /// Topic of exchanges and ledgers.
    pub topic: String,
    /// Messages held in memory while Kafka is slow or away.
    pub queue_messages: u32,
    /// KiB held in memory.
    pub queue_kib: u32,
    /// Largest message, bytes; what the topic's `max.message.bytes` allows.
    pub max_message: usize,
    /// How long a message may wait for its acknowledgement before it counts as lost.
    pub delivery_timeout: Duration,
    /// Further librdkafka properties, which win.
    pub options: Vec<(String, String)>,
}

impl KafkaSettings {
    /// Settings with the defaults for everything but the address.
    #[must_use]
    pub fn new(brokers: impl Into<String>, topic: impl Into<String>) -> Self {
        Self {
            brokers: brokers.into(),
            topic: topic.into(),
            queue_messages: 100_000,
            queue_kib: 256 << 10,
            max_message: 1_000_000,
            delivery_timeout: Duration::from_secs(120),
            options: Vec::new(),
        }
    }
}

/// Why a producer could not be made.
#[derive(Debug, thiserror::Error)]
#[error("kafka producer for {brokers}: {error}; check the [kafka.options] table")]
pub struct KafkaError {
    brokers: String,
    error: String,
}

/// A producer with a bounded queue; it may be made while Kafka is away.
pub struct Kafka {
    producer: ThreadedProducer<Context>,
    settings: KafkaSettings,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    taken: AtomicU64,
    acknowledged: AtomicU64,
    failed: AtomicU64,
    down: AtomicBool,
    /// Goes with ledgers instead of a run's own: theirs is not counted.
    ledgers: Arc<Tally>,
    /// Where messages go that were not delivered; none without a spool.
    inbox: OnceLock<Inbox>,
}

impl Counts {
    fn set_down(&self, down: bool) -> bool {
        self.down.swap(down, Ordering::Relaxed) != down
    }
}

struct Context(Arc<Counts>);

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(?level, facility, message, "librdkafka");
    }

    fn error(&self, error: Error, reason: &str) {
        let down = matches!(
            error.rdkafka_error_code(),
            Some(
                RDKafkaErrorCode::AllBrokersDown
                    | RDKafkaErrorCode::BrokerTransportFailure
                    | RDKafkaErrorCode::Resolve
            )
        );
        if down && self.0.set_down(true) {
            tracing::warn!(%error, reason, "kafka is unreachable: the proxy serves on and holds exchanges up to its bounds");
        } else if !down {
            tracing::warn!(%error, reason, "kafka");
        }
    }
}

impl ProducerContext for Context {
    /// The tally itself: nothing is allocated for a message.
    type DeliveryOpaque = Arc<Tally>;

    fn delivery(&self, result: &DeliveryResult<'_>, tally: Arc<Tally>) {
        let counts = &self.0;
        match result {
            Ok(_) => {
                if counts.set_down(false) {
                    tracing::info!("kafka is reachable again");
                }
                tally.add_delivered(1);
            }
            Err((error, message)) => self.undelivered(error, message, &tally),
        }
        // Last: who sees that nothing waits finds everything counted.
        counts.acknowledged.fetch_add(1, Ordering::Release);
    }
}

impl Context {
    fn undelivered(&self, error: &Error, message: &BorrowedMessage<'_>, tally: &Arc<Tally>) {
        let counts = &self.0;
        let code = error.rdkafka_error_code();
        let kind = if Arc::ptr_eq(tally, &counts.ledgers) { Kind::Ledger } else { Kind::Exchange };
        let unfit = code.is_some_and(is_unfit);
        if let Some(inbox) = counts.inbox.get().filter(|_| !unfit) {
            // Whatever the cause, the next message would share it: the spool finds out with one at a time.
            let recalled =
                matches!(code, Some(RDKafkaErrorCode::PurgeQueue | RDKafkaErrorCode::PurgeInflight));
            if !recalled && counts.set_down(true) {
                tracing::warn!(%error, "kafka does not take messages: they go to the spool");
            }
            let (key, payload) = (message.key().unwrap_or_default(), message.payload().unwrap_or_default());
            // Of all others, the broker may hold a copy whose acknowledgement did not come.
            let again = code != Some(RDKafkaErrorCode::PurgeQueue);
            if inbox.take_back((kind, again), key, payload, tally) {
                return;
            }
        }
        if kind == Kind::Ledger {
            tracing::warn!(%error, "kafka did not take a ledger record");
            return;
        }
        tally.add_dropped(DropReason::DeliveryFailed, 1);
        let lost = counts.failed.fetch_add(1, Ordering::Relaxed);
        // One line for the first and then for each thousandth: a dead broker loses many.
        if lost.is_multiple_of(1000) {
            tracing::error!(%error, lost = lost + 1, "kafka did not take an exchange");
        }
    }
}

/// Whether a message is refused for what it is: it would be refused again.
fn is_unfit(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode::{InvalidMessage, InvalidMessageSize, InvalidRecord, MessageSizeTooLarge};
    matches!(code, InvalidMessage | InvalidMessageSize | InvalidRecord | MessageSizeTooLarge)
}

impl Kafka {
    /// Makes a producer; does not wait for a broker.
    ///
    /// # Errors
    /// When librdkafka refuses a property.
    pub fn connect(settings: KafkaSettings) -> Result<Self, KafkaError> {
        let counts = Arc::new(Counts::default());
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &settings.brokers)
            .set("client.id", "shadowdiff")
            .set("compression.type", "zstd")
            // Of a large tensor compression is what costs most, and higher levels save little of it.
            .set("compression.level", "1")
            // The producer's thread competes with the proxy for its cores. Fewer, larger batches cost less; and while a batch is due on a
            // partition whose last one is not acknowledged, librdkafka polls without a pause, so batches are due later than that.
            .set("linger.ms", "300")
            .set("batch.size", "1000000")
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("queue.buffering.max.messages", settings.queue_messages.to_string())
            .set("queue.buffering.max.kbytes", settings.queue_kib.to_string())
            .set("message.max.bytes", (settings.max_message + 1024).to_string())
            .set("delivery.timeout.ms", settings.delivery_timeout.as_millis().to_string())
            .set("reconnect.backoff.max.ms", "1000");
        for (name, value) in &settings.options {
            config.set(name, value);
        }
        let producer = config.create_with_context(Context(counts.clone())).map_err(|error| KafkaError {
            brokers: settings.brokers.clone(),
            error: without_value(&error),
        })?;
        Ok(Self { producer, settings, counts })
    }
}

/// What librdkafka says of a property, without the value: it may be a password under a misspelt name.
fn without_value(error: &Error) -> String {
    match error {
        Error::ClientConfig(_, description, name, _) if description.contains(name.as_str()) => {
            description.clone()
        }
        Error::ClientConfig(_, description, name, _) => format!("{description} ({name})"),
        other => other.to_string(),
    }
}

impl Sink for Kafka {
    fn offer(&self, message: &Message) -> Result<(), Refusal> {
        let tally = match message.kind {
            Kind::Ledger if message.tally.part().is_none() => &self.counts.ledgers,
            _ => &message.tally,
        };
        let mut record = BaseRecord::with_opaque_to(&self.settings.topic, tally.clone())
            .key(&message.key[..])
            .payload(&message.payload[..]);
        if tally.part().is_some_and(|part| part.again) {
            let again = Header { key: exchange::wire::AGAIN, value: None::<&[u8]> };
            record = record.headers(OwnedHeaders::new_with_capacity(1).insert(again));
        }
        self.counts.taken.fetch_add(1, Ordering::Relaxed);
        let Err((error, _)) = self.producer.send(record) else { return Ok(()) };
        self.counts.taken.fetch_sub(1, Ordering::Relaxed);
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::QueueFull) => Err(Refusal::NotNow),
            code => {
                tracing::error!(%error, "kafka producer refused a message");
                Err(if code.is_some_and(is_unfit) { Refusal::Unfit } else { Refusal::Fails })
            }
        }
    }

    fn return_to(&self, inbox: Inbox) {
        // One spool at most is put over a producer, which it owns.
        let _ = self.counts.inbox.set(inbox);
    }

    fn wait(&self, within: Duration) -> bool {
        let _ = self.producer.flush(within);
        self.published().waiting == 0
    }

    fn recall(&self) {
        self.producer.purge(PurgeConfig::default().queue().inflight());
    }
}

impl Publish for Kafka {
    fn publish(&self, message: Message) -> Result<(), DropReason> {
        self.offer(&message).map_err(|refusal| match refusal {
            Refusal::NotNow => DropReason::QueueFull,
            Refusal::Unfit | Refusal::Fails => DropReason::DeliveryFailed,
        })
    }

    fn published(&self) -> Published {
        let counts = &self.counts;
        // Read in this order: an acknowledgement between the two reads must not make the difference negative.
        let acknowledged = counts.acknowledged.load(Ordering::Acquire);
        Published {
            waiting: counts.taken.load(Ordering::Relaxed).saturating_sub(acknowledged),
            connected: !counts.down.load(Ordering::Relaxed),
            ..Published::default()
        }
    }

    fn flush(&self, within: Duration) {
        if let Err(error) = self.producer.flush(within) {
            let waiting = self.published().waiting;
            tracing::error!(%error, waiting, "kafka did not take everything before the deadline");
        }
    }

    fn describe(&self) -> String {
        format!("kafka {} topic {}", self.settings.brokers, self.settings.topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_that_is_none_is_named_and_its_value_is_not() {
        let mut settings = KafkaSettings::new("k:9092", "t");
        settings.options = vec![("sasl.pasword".into(), "hunter2".into())];
        let error = Kafka::connect(settings).err().unwrap();
        let text = format!("{error} {error:?}");
        assert!(text.contains("sasl.pasword") && !text.contains("hunter2"), "{text}");
    }
}
