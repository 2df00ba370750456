//! Recording from Kafka, as a member of a consumer group.
//!
//! One thread polls and writes. The set says where each partition begins, so what the group has committed matters only
//! for partitions of which the set holds nothing; offsets are committed all the same, for tools that show the lag.
//! Brokers that cannot be reached are waited for.

mod consumer;
mod control;
mod ends;
mod held;
mod notice;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};

use crate::local::check_topic;
use crate::partition::Message;
use crate::set::SetRoot;
use crate::{Progress, RecordError, Settings};
use consumer::Consumer;
pub use control::Control;
use control::Wish;
use ends::Ends;
use held::Held;
use notice::Notice;

/// How long a poll waits, and so how late a wish to stop is seen.
const POLL: Duration = Duration::from_millis(50);
/// How often ages, memory and ends are looked at.
const TICK: Duration = Duration::from_millis(50);
/// How often progress is told when no file was closed.
const TELL: Duration = Duration::from_millis(200);

/// Where the messages are.
#[derive(Debug, Clone)]
pub struct Source {
    /// Brokers to start from, `host:port`, comma-separated.
    pub brokers: String,
    /// Topic.
    pub topic: String,
    /// Consumer group.
    pub group: String,
    /// Further options of librdkafka, such as `security.protocol`; they overrule the recorder's defaults but not what
    /// recording once depends on.
    pub options: Vec<(String, String)>,
}

/// Records until `control` says otherwise. Blocks: call it from a thread of its own. `on_progress` is called about five
/// times a second and whenever a file was put into the set.
///
/// # Errors
/// When the set cannot be written, belongs to another topic of that name, or the client's options are not accepted. What
/// was in open files is not lost: the next recording reads it again.
///
/// When brokers are gone at the end, leaving the group takes up to `session.timeout.ms`; the files are closed before.
pub fn record(
    source: &Source,
    settings: &Settings,
    control: &Control,
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<Progress, RecordError> {
    check_topic(&source.topic)?;
    let set = SetRoot::open(&settings.out)?;
    let held = Held::new(set, Arc::new(settings.clone()), &source.topic);
    let consumer = consumer::connect(source, held)?;
    let result = run(&consumer, source, control, on_progress);
    if result.is_err() {
        // Leaving the group below asks for the partitions back; there is nothing to close any more.
        consumer.context().held().give_up();
    }
    drop(consumer);
    result
}

fn run(
    consumer: &Consumer,
    source: &Source,
    control: &Control,
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<Progress, RecordError> {
    let begun = Instant::now();
    let mut ticked = begun;
    let mut told = Told::default();
    let mut ends = Ends::default();
    let mut trouble = Notice::default();
    loop {
        match consumer.poll(POLL) {
            Some(Ok(message)) => append(consumer, &message, begun)?,
            Some(Err(source @ KafkaError::MessageConsumptionFatal(_))) => {
                return Err(RecordError::Kafka { doing: "read from Kafka", source });
            }
            Some(Err(error)) => trouble.warn(&error, "Kafka answers with an error; waiting for it"),
            None => {}
        }
        if let Some(error) = consumer.context().held().take_failure() {
            return Err(error);
        }
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            let due = consumer.context().held().tick(begun.elapsed())?;
            consumer::commit(consumer, &source.topic, &due);
            consumer::check_unchecked(consumer, &source.topic)?;
            let finished = match control.wish() {
                Wish::Record => false,
                Wish::Finish => {
                    ends.ask(&source.topic, || consumer::ends(consumer, &source.topic))?;
                    consumer.context().held().has_reached(&ends)
                }
                Wish::Stop => true,
            };
            if finished {
                let due = consumer.context().held().close_all()?;
                consumer::commit(consumer, &source.topic, &due);
            }
            told.tell(&consumer.context().held().progress(), finished, on_progress);
            if finished {
                return Ok(consumer.context().held().end());
            }
        }
    }
}

fn append(consumer: &Consumer, message: &BorrowedMessage<'_>, begun: Instant) -> Result<(), RecordError> {
    let taken = Message {
        offset: message.offset(),
        at_us: message.timestamp().to_millis().map(|millis| millis.saturating_mul(1000)),
        key: message.key().map(bytes::Bytes::copy_from_slice),
        payload: message.payload().map(bytes::Bytes::copy_from_slice),
        again: message
            .headers()
            .is_some_and(|headers| headers.iter().any(|header| header.key == exchange::wire::AGAIN)),
    };
    let number = message.partition();
    let next = consumer.context().held().append(number, taken, begun.elapsed())?;
    if let Some(next) = next {
        consumer::commit(consumer, message.topic(), &[(number, next)]);
    }
    Ok(())
}

/// What the caller was told, and when.
#[derive(Default)]
struct Told {
    at: Option<Instant>,
    files: u64,
}

impl Told {
    fn tell(&mut self, progress: &Progress, last: bool, on_progress: &mut dyn FnMut(&Progress)) {
        let is_due = self.at.is_none_or(|at| at.elapsed() >= TELL);
        if last || is_due || progress.files != self.files {
            self.at = Some(Instant::now());
            self.files = progress.files;
            on_progress(progress);
        }
    }
}
