//! From Kafka: librdkafka's mock cluster, which speaks the real protocol.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer as _};
use recorder::{Control, Progress, RecordError, Rotation, Settings, Source, record};

use crate::fixture::{files, message, mixed, numbers};

/// Long enough for a group to form on a busy machine; a test that passes does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);
const TOPIC: &str = "shadow.exchanges-1";

type Cluster = MockCluster<'static, DefaultProducerContext>;

fn cluster(partitions: i32) -> Cluster {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic(TOPIC, partitions, 1).unwrap();
    cluster
}

fn produce(cluster: &Cluster, partition: i32, payloads: impl IntoIterator<Item = bytes::Bytes>) {
    send(&producer(cluster), partition, payloads);
}

fn producer(cluster: &Cluster) -> BaseProducer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.bootstrap_servers());
    config.create().unwrap()
}

fn send(producer: &BaseProducer, partition: i32, payloads: impl IntoIterator<Item = bytes::Bytes>) {
    for payload in payloads {
        let payload = payload.to_vec();
        producer
            .send(BaseRecord::<(), _>::to(TOPIC).partition(partition).payload(&payload))
            .map_err(|(error, _)| error)
            .unwrap();
    }
    producer.flush(PATIENCE).unwrap();
}

fn source(cluster: &Cluster, group: &str) -> Source {
    Source { brokers: cluster.bootstrap_servers(), topic: TOPIC.into(), group: group.into(), options: vec![] }
}

fn settings(out: &Path, rows: u64) -> Settings {
    // Age plays no part, however slow the machine.
    let age = Duration::from_secs(3600);
    Settings { rotation: Rotation { rows, age, ..Rotation::default() }, ..Settings::new(out) }
}

/// Records all that is there.
fn finish(source: &Source, settings: &Settings) -> Result<Progress, RecordError> {
    let control = Control::new();
    control.finish();
    record(source, settings, &control, &mut |_| {})
}

/// A recording in a thread, and what it tells.
struct Running {
    control: Control,
    told: Receiver<Progress>,
    thread: JoinHandle<Result<Progress, RecordError>>,
}

fn start(source: Source, settings: Settings) -> Running {
    let (tell, told) = sync_channel(1000);
    let control = Control::new();
    let inner = control.clone();
    let thread = std::thread::spawn(move || {
        record(&source, &settings, &inner, &mut |progress| {
            let _ = tell.try_send(*progress);
        })
    });
    Running { control, told, thread }
}

impl Running {
    /// Waits for a progress that fits.
    fn wait(&self, what: &str, fits: impl Fn(&Progress) -> bool) -> Progress {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let progress = self.told.recv_timeout(left).unwrap_or_else(|error| panic!("{what}: {error}"));
            if fits(&progress) {
                return progress;
            }
        }
    }

    fn stop(self) -> Progress {
        self.control.stop();
        self.thread.join().unwrap().unwrap()
    }
}

fn offsets(count: i64, keep: impl Fn(i64) -> bool) -> Vec<i64> {
    (0..count).filter(|offset| keep(*offset)).collect()
}

#[test]
fn all_is_read_once_and_the_set_says_where_to_go_on() {
    let cluster = cluster(2);
    let out = tempfile::tempdir().unwrap();
    produce(&cluster, 0, (0..30).map(mixed));
    produce(&cluster, 1, (0..5).map(message));
    let first = finish(&source(&cluster, "a"), &settings(out.path(), 8)).unwrap();
    assert_eq!((first.rows, first.ledgers, first.dead_letters), (25, 6, 4));
    assert_eq!((first.files, first.duplicates, first.lag), (5, 0, Some(0)));

    // Another group has committed nothing: the set alone says what is there.
    produce(&cluster, 1, (5..7).map(message));
    let second = finish(&source(&cluster, "b"), &settings(out.path(), 8)).unwrap();
    assert_eq!((second.rows, second.files, second.duplicates), (2, 1, 0));
    let dead = |offset: i64| offset % 5 != 4 && offset % 7 == 6;
    let mut rows = offsets(30, |offset| offset % 5 != 4 && !dead(offset));
    rows.extend(0..7);
    rows.sort_unstable();
    assert_eq!(numbers(out.path(), "exchanges", "offset"), rows);
    assert_eq!(numbers(out.path(), "dead_letters", "offset"), offsets(30, dead));

    // The group that committed goes on after its offsets in a new folder.
    let new = tempfile::tempdir().unwrap();
    let third = finish(&source(&cluster, "b"), &settings(new.path(), 8)).unwrap();
    assert_eq!(third.rows + third.ledgers + third.dead_letters, 30, "partition 0, where b committed nothing");
}

#[test]
fn the_end_of_a_partition_is_the_one_it_has_when_finishing_is_asked_for() {
    let cluster = cluster(1);
    cluster.broker_round_trip_time(-1, Duration::from_millis(100)).unwrap();
    let out = tempfile::tempdir().unwrap();
    let producer = producer(&cluster);
    send(&producer, 0, [message(0)]);
    // The broker answers that there is nothing, long after there is something again, and only then is asked once more.
    let options = vec![("fetch.wait.max.ms".into(), "3000".into())];
    let running = start(Source { options, ..source(&cluster, "a") }, settings(out.path(), 1000));
    running.wait("it reads the first message", |progress| progress.rows == 1);
    send(&producer, 0, [message(1)]);
    running.control.finish();
    assert_eq!(running.thread.join().unwrap().unwrap().rows, 2);
}

#[test]
fn what_a_crash_left_half_done_is_done_again_to_the_same_bytes() {
    let cluster = cluster(1);
    let out = tempfile::tempdir().unwrap();
    produce(&cluster, 0, (0..20).map(mixed));
    finish(&source(&cluster, "a"), &settings(out.path(), 10)).unwrap();
    let whole: Vec<_> = files(out.path()).into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect();
    assert_eq!(whole.len(), 6);

    // As a crash before the commit marker leaves it, the offsets committed or not.
    let exchanges = files(&out.path().join("exchanges"));
    fs::rename(&exchanges[1], out.path().join(format!(".tmp/{TOPIC}-00000.exchanges"))).unwrap();
    fs::write(out.path().join(format!(".tmp/{TOPIC}-00000.ledger")), "torn").unwrap();
    let again = finish(&source(&cluster, "a"), &settings(out.path(), 10)).unwrap();
    assert_eq!((again.files, again.rows + again.ledgers + again.dead_letters), (1, 10));
    for (content, path) in &whole {
        assert!(fs::read(path).unwrap() == *content, "{}", path.display());
    }
    assert_eq!(files(out.path()).len(), whole.len());
    assert!(!out.path().join(format!(".tmp/{TOPIC}-00000.ledger")).exists());
}

#[test]
fn recorders_that_come_and_go_share_a_folder_without_loss_or_repeat() {
    // All partitions are given back and dealt out anew.
    come_and_go("range", 4);
}

#[test]
fn recorders_that_come_and_go_cooperatively_do_so_too() {
    come_and_go("cooperative-sticky", 2);
}

/// `given_back`: how many partitions the first recorder gives back when the second comes.
fn come_and_go(strategy: &str, given_back: u64) {
    let cluster = cluster(4);
    let source = |cluster: &Cluster, group: &str| Source {
        options: vec![("partition.assignment.strategy".into(), strategy.into())],
        ..source(cluster, group)
    };
    let out = tempfile::tempdir().unwrap();
    let each = |range: std::ops::Range<u64>| {
        (0..4).for_each(|partition| produce(&cluster, partition, range.clone().map(message)));
    };
    each(0..10);
    let first = start(source(&cluster, "a"), settings(out.path(), 1000));
    first.wait("the first recorder reads", |progress| progress.rows == 40);
    assert!(files(&out.path().join("exchanges")).is_empty(), "files are open when the group changes");
    let second = start(source(&cluster, "a"), settings(out.path(), 1000));
    first.wait("the first recorder closes its files", |progress| progress.files == given_back);
    second.wait("the second recorder joins", |progress| progress.lag.is_some());
    each(10..20);
    second.wait("the second recorder reads", |progress| progress.rows == 20);
    let by_second = second.stop();
    each(20..25);
    let by_first = first.wait("the first recorder takes over", |progress| progress.rows == 80);
    assert_eq!((by_first.duplicates, by_second.rows), (0, 20));
    first.stop();
    let mut all: Vec<i64> = (0..25).flat_map(|offset| [offset; 4]).collect();
    all.sort_unstable();
    assert_eq!(numbers(out.path(), "exchanges", "offset"), all);
}

#[test]
fn a_set_ahead_of_its_topic_is_refused_by_name() {
    let out = tempfile::tempdir().unwrap();
    let old = cluster(1);
    produce(&old, 0, (0..5).map(message));
    finish(&source(&old, "a"), &settings(out.path(), 100)).unwrap();

    let new = cluster(1);
    produce(&new, 0, (0..2).map(message));
    let error = finish(&source(&new, "a"), &settings(out.path(), 100)).unwrap_err();
    assert!(matches!(error, RecordError::Remade { next: 5, high: 2, partition: 0, .. }), "{error}");
    assert!(error.to_string().contains("new folder"), "{error}");
    assert_eq!(numbers(out.path(), "exchanges", "offset"), [0, 1, 2, 3, 4]);
}

#[test]
fn brokers_that_cannot_be_reached_are_waited_for_until_stopped() {
    let out = tempfile::tempdir().unwrap();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let brokers = unused.local_addr().unwrap().to_string();
    drop(unused);
    let source = Source { brokers, topic: TOPIC.into(), group: "a".into(), options: vec![] };
    let running = start(source, settings(out.path(), 100));
    running.wait("it runs on", |progress| progress.lag.is_none());
    running.wait("it still runs", |progress| progress.rows == 0);
    assert_eq!(running.stop(), Progress::default());
}

#[test]
fn a_stop_closes_the_files_though_the_brokers_are_gone() {
    let cluster = cluster(1);
    let out = tempfile::tempdir().unwrap();
    produce(&cluster, 0, (0..5).map(message));
    let running = start(source(&cluster, "a"), settings(out.path(), 1000));
    running.wait("it reads", |progress| progress.rows == 5);
    drop(cluster);
    let progress = running.stop();
    assert_eq!((progress.rows, progress.files), (5, 1));
    assert_eq!(numbers(out.path(), "exchanges", "offset"), [0, 1, 2, 3, 4]);
}

#[test]
fn an_option_that_the_client_does_not_know_is_an_error() {
    let out = tempfile::tempdir().unwrap();
    let mut source = source(&cluster(1), "a");
    source.options.push(("no.such.option".into(), "hunter2".into()));
    let error = finish(&source, &settings(out.path(), 100)).unwrap_err();
    assert!(error.to_string().contains("no.such.option"), "{error}");
    assert!(!error.to_string().contains("hunter2"), "a value may be a password: {error}");
}
