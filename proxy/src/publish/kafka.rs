//! Publishing to Kafka through librdkafka.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use exchange::DropReason;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError as Error, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};

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
        if down && !self.0.down.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, reason, "kafka is unreachable: the proxy serves on and holds exchanges up to its bound");
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
        counts.acknowledged.fetch_add(1, Ordering::Relaxed);
        let ledger = Arc::ptr_eq(&tally, &counts.ledgers);
        match result {
            Ok(_) => {
                if counts.down.swap(false, Ordering::Relaxed) {
                    tracing::info!("kafka is reachable again");
                }
                tally.add_delivered(1);
            }
            Err((error, _)) if ledger => tracing::warn!(%error, "kafka did not take a ledger record"),
            Err((error, _)) => {
                tally.add_dropped(DropReason::DeliveryFailed, 1);
                let lost = counts.failed.fetch_add(1, Ordering::Relaxed);
                // One line for the first and then for each thousandth: a dead broker loses many.
                if lost.is_multiple_of(1000) {
                    tracing::error!(%error, lost = lost + 1, "kafka did not take an exchange");
                }
            }
        }
    }
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
            // Two threads compete with the proxy for its cores: fewer, larger batches cost less.
            .set("linger.ms", "50")
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

impl Publish for Kafka {
    fn publish(&self, message: Message) -> Result<(), DropReason> {
        let tally = match message.kind {
            Kind::Exchange => message.tally,
            Kind::Ledger => self.counts.ledgers.clone(),
        };
        let record = BaseRecord::with_opaque_to(&self.settings.topic, tally)
            .key(&message.key[..])
            .payload(&message.payload[..]);
        match self.producer.send(record) {
            Ok(()) => {
                self.counts.taken.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err((error, _)) => match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::QueueFull) => Err(DropReason::QueueFull),
                _ => {
                    tracing::error!(%error, "kafka producer refused a message");
                    Err(DropReason::DeliveryFailed)
                }
            },
        }
    }

    fn published(&self) -> Published {
        let counts = &self.counts;
        // Read in this order: an acknowledgement between the two reads must not make the difference negative.
        let acknowledged = counts.acknowledged.load(Ordering::Relaxed);
        Published {
            waiting: counts.taken.load(Ordering::Relaxed).saturating_sub(acknowledged),
            connected: !counts.down.load(Ordering::Relaxed),
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
