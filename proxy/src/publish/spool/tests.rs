//! The spool over a stand-in for Kafka.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use exchange::DropReason;

use super::log::Log;
use super::{Inbox, Message, Publish, Published, Refusal, Sink, Spool, SpoolError, SpoolSettings};
use crate::publish::{Kind, Tally};

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
struct State {
    up: bool,
    /// Holds what it takes until told.
    holds: bool,
    room: usize,
    waiting: VecDeque<Message>,
    delivered: Vec<Message>,
    inbox: Option<Inbox>,
}

#[derive(Default)]
struct Fake(Mutex<State>);

impl Fake {
    fn new(up: bool) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { up, room: 1000, ..State::default() })))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    fn deliver(&self, most: usize) {
        let mut state = self.0.lock().unwrap();
        for _ in 0..most.min(state.waiting.len()) {
            let message = state.waiting.pop_front().unwrap();
            message.tally.add_delivered(1);
            state.up = true;
            state.delivered.push(message);
        }
    }

    /// Fails what waits.
    fn fail(&self) {
        let (waiting, inbox) = {
            let mut state = self.0.lock().unwrap();
            (std::mem::take(&mut state.waiting), state.inbox.clone().unwrap())
        };
        for message in waiting {
            assert!(inbox.take_back((message.kind, true), &message.key, &message.payload, &message.tally));
        }
    }

    fn payloads(&self) -> Vec<u64> {
        let number = |message: &Message| u64::from_le_bytes(message.payload[..8].try_into().unwrap());
        self.0.lock().unwrap().delivered.iter().map(number).collect()
    }
}

impl Sink for Fake {
    fn offer(&self, message: &Message) -> Result<(), Refusal> {
        let mut state = self.0.lock().unwrap();
        if message.payload.len() > 100_000 {
            return Err(Refusal::Unfit);
        }
        if state.waiting.len() >= state.room {
            return Err(Refusal::NotNow);
        }
        state.waiting.push_back(message.clone());
        let now = state.up && !state.holds;
        drop(state);
        if now {
            self.deliver(usize::MAX);
        }
        Ok(())
    }

    fn return_to(&self, inbox: Inbox) {
        self.change(|state| state.inbox = Some(inbox));
    }

    fn wait(&self, _: Duration) -> bool {
        self.published().waiting == 0
    }

    fn recall(&self) {
        self.fail();
    }
}

impl Publish for Fake {
    fn publish(&self, _: Message) -> Result<(), DropReason> {
        unreachable!("the spool offers")
    }

    fn published(&self) -> Published {
        let state = self.0.lock().unwrap();
        Published { connected: state.up, waiting: state.waiting.len() as u64, ..Published::default() }
    }

    fn flush(&self, _: Duration) {}

    fn describe(&self) -> String {
        "fake".into()
    }
}

fn open(dir: &Path, bytes: u64, fake: &Arc<Fake>) -> Spool {
    Spool::over(SpoolSettings { dir: dir.to_owned(), bytes }, fake.clone()).unwrap()
}

fn message(number: u64, length: usize, tally: &Arc<Tally>) -> Message {
    let mut payload = number.to_le_bytes().to_vec();
    payload.resize(length.max(8), 0);
    let key = Bytes::copy_from_slice(&number.to_be_bytes());
    Message { kind: Kind::Exchange, key, payload: payload.into(), tally: tally.clone() }
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

fn written(spool: &Spool) {
    let shared = &spool.inbox.shared;
    eventually("all is written", || shared.queued.load(std::sync::atomic::Ordering::Acquire) == 0);
}

fn stored(spool: &Spool, messages: u64) {
    written(spool);
    eventually("so many are in the spool", || spool.published().spool_messages == messages);
}

fn files(dir: &Path) -> usize {
    let is_segment = |name: std::ffi::OsString| name.to_str().unwrap().ends_with(".spool");
    std::fs::read_dir(dir).unwrap().filter(|entry| is_segment(entry.as_ref().unwrap().file_name())).count()
}

#[test]
fn what_comes_while_kafka_is_away_is_delivered_in_order_when_it_is_back() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(false), Arc::<Tally>::default());
    let spool = open(dir.path(), 1 << 20, &fake);
    for number in 0..1200 {
        spool.publish(message(number, 200, &run)).unwrap();
    }
    // One of them is with Kafka, to find out when it is back.
    stored(&spool, 1200);
    assert_eq!((run.spooled(), run.delivered()), (1200, 0));
    assert!(files(dir.path()) > 1);
    eventually("one is tried", || spool.published().waiting == 1);
    fake.deliver(1);
    eventually("all is delivered", || run.delivered() == 1200);
    assert_eq!(fake.payloads(), (0..1200).collect::<Vec<_>>());
    eventually("the files are gone", || files(dir.path()) == 0);
    stored(&spool, 0);
    eventually("no bytes are left", || spool.published().spool_bytes == 0);
    assert_eq!((run.spooled(), spool.published().spooled), (0, 1200));
    // And the next one takes the short way.
    spool.publish(message(1200, 8, &run)).unwrap();
    assert_eq!((run.delivered(), spool.published().spooled), (1201, 1200));
}

#[test]
fn a_full_queue_of_kafka_is_no_loss() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(true), Arc::<Tally>::default());
    fake.change(|state| (state.holds, state.room) = (true, 10));
    let spool = open(dir.path(), 1 << 20, &fake);
    for number in 0..30 {
        spool.publish(message(number, 8, &run)).unwrap();
    }
    stored(&spool, 20);
    fake.change(|state| state.holds = false);
    fake.deliver(usize::MAX);
    eventually("all is delivered", || run.delivered() == 30);
    assert_eq!(fake.payloads(), (0..30).collect::<Vec<_>>());
}

#[test]
fn what_is_left_at_a_stop_is_delivered_by_the_next_start_once() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(true), Arc::<Tally>::default());
    fake.change(|state| state.holds = true);
    let spool = open(dir.path(), 1 << 20, &fake);
    for number in 0..40 {
        spool.publish(message(number, 8, &run)).unwrap();
    }
    fake.deliver(10);
    fake.change(|state| state.up = false);
    spool.flush(PATIENCE);
    assert_eq!((run.delivered(), run.spooled(), spool.published().waiting), (10, 30, 0));
    let ledger = Message { kind: Kind::Ledger, ..message(40, 8, &run) };
    spool.publish(ledger).unwrap();
    spool.flush(PATIENCE);
    assert_eq!(run.spooled(), 30);
    drop(spool);

    let next = Fake::new(true);
    let spool = open(dir.path(), 1 << 20, &next);
    eventually("all is delivered", || next.payloads().len() == 31);
    assert_eq!(next.payloads(), (10..41).collect::<Vec<_>>());
    let kinds: Vec<Kind> = next.0.lock().unwrap().delivered.iter().map(|message| message.kind).collect();
    assert!(kinds[..30].iter().all(|kind| *kind == Kind::Exchange) && kinds[30] == Kind::Ledger);
    stored(&spool, 0);
}

#[test]
fn a_process_that_dies_in_the_middle_sends_no_acknowledged_part_again() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(false), Arc::<Tally>::default());
    let spool = open(dir.path(), 1 << 30, &fake);
    for number in 0..2000 {
        spool.publish(message(number, 8, &run)).unwrap();
    }
    stored(&spool, 2000);
    fake.change(|state| (state.holds, state.room) = (true, 5000));
    eventually("one is tried", || spool.published().waiting == 1);
    fake.deliver(1);
    eventually("more are under way", || spool.published().waiting >= 1024);
    fake.deliver(512);
    stored(&spool, 2000 - 513);
    let under_way = usize::try_from(spool.published().waiting).unwrap();
    // What the disk holds at this moment is what a killed process leaves.
    let left = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), left.path().join(entry.file_name())).unwrap();
    }
    let next = Fake::new(true);
    let _spool = open(left.path(), 1 << 30, &next);
    eventually("the rest is delivered", || next.payloads().len() == 2000 - 513);
    assert_eq!(next.payloads(), (513..2000).collect::<Vec<_>>());
    // Those that were under way may be there already, and say so; the others were never sent.
    let state = next.0.lock().unwrap();
    let again = |message: &Message| message.tally.part().is_some_and(|part| part.again);
    let marked = state.delivered.iter().take_while(|message| again(message)).count();
    assert!(marked >= under_way, "{marked} marked, {under_way} under way");
    assert!(!state.delivered[marked..].iter().any(again));
    drop(state);
}

#[test]
fn only_a_full_spool_drops_and_says_so() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(false), Arc::<Tally>::default());
    let spool = open(dir.path(), 100_000, &fake);
    let mut refused = 0;
    for number in 0..300 {
        if let Err(reason) = spool.publish(message(number, 1000, &run)) {
            assert_eq!(reason, DropReason::SpoolFull);
            refused += 1;
        }
    }
    written(&spool);
    assert_eq!(run.spooled() + run.dropped(DropReason::SpoolFull) + refused, 300);
    assert!((80..100).contains(&run.spooled()), "{}", run.spooled());
    eventually("one is tried", || spool.published().waiting == 1);
    fake.deliver(1);
    eventually("what was kept is delivered", || run.spooled() == 0);
    // There is room again.
    fake.change(|state| state.up = false);
    eventually("the files are gone", || spool.published().spool_bytes == 0);
    spool.publish(message(300, 1000, &run)).unwrap();
    stored(&spool, 1);
}

#[test]
fn messages_that_come_back_are_sent_again_and_counted_once() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(true), Arc::<Tally>::default());
    fake.change(|state| state.holds = true);
    let spool = open(dir.path(), 1 << 20, &fake);
    for number in 0..5 {
        spool.publish(message(number, 8, &run)).unwrap();
    }
    fake.change(|state| state.up = false);
    fake.fail();
    stored(&spool, 5);
    assert_eq!(run.spooled(), 5);
    // Ledgers take the same way and are counted nowhere.
    spool.publish(Message { kind: Kind::Ledger, ..message(5, 8, &run) }).unwrap();
    stored(&spool, 6);
    // The one that is tried comes back as well.
    eventually("one is tried", || spool.published().waiting == 1);
    fake.fail();
    eventually("one is tried again", || spool.published().waiting == 1);
    assert_eq!((run.spooled(), spool.published().spool_messages), (5, 6));
    fake.change(|state| state.holds = false);
    fake.deliver(1);
    eventually("all is delivered", || fake.payloads().len() == 6);
    stored(&spool, 0);
    let mut payloads = fake.payloads();
    payloads.sort_unstable();
    assert_eq!((payloads, run.delivered(), run.spooled()), ((0..6).collect(), 5, 0));
}

#[test]
fn a_message_that_kafka_will_never_take_is_dropped_and_holds_up_nothing() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(false), Arc::<Tally>::default());
    let spool = open(dir.path(), 1 << 20, &fake);
    for (number, length) in [(0, 8), (1, 200_000), (2, 8)] {
        spool.publish(message(number, length, &run)).unwrap();
    }
    eventually("one is tried", || spool.published().waiting == 1);
    fake.deliver(1);
    eventually("the others are delivered", || run.delivered() == 2);
    assert_eq!((run.dropped(DropReason::DeliveryFailed), run.spooled()), (1, 0));
    let refused = spool.publish(message(3, 200_000, &run));
    assert_eq!(refused, Err(DropReason::DeliveryFailed));
}

#[test]
fn the_end_of_a_segment_that_a_crash_cut_off_is_left_out() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(false), Arc::<Tally>::default());
    let spool = open(dir.path(), 1 << 20, &fake);
    for number in 0..10 {
        spool.publish(message(number, 100, &run)).unwrap();
    }
    stored(&spool, 10);
    drop(spool);
    let segment = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.into_iter().find(|path| path.extension().is_some()).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&segment).unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();

    let next = Fake::new(true);
    let spool = open(dir.path(), 1 << 20, &next);
    eventually("the whole ones are delivered", || next.payloads().len() == 9);
    stored(&spool, 0);
    assert_eq!(next.payloads(), (0..9).collect::<Vec<_>>());
    assert_eq!(files(dir.path()), 0);
}

#[test]
fn a_disk_that_fails_loses_exchanges_that_are_counted() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(false), Arc::<Tally>::default());
    let folder = dir.path().join("spool");
    let spool = open(&folder, 1 << 20, &fake);
    std::fs::remove_dir_all(&folder).unwrap();
    for number in 0..3 {
        spool.publish(message(number, 8, &run)).unwrap();
    }
    eventually("they are lost", || run.dropped(DropReason::DeliveryFailed) == 3);
    stored(&spool, 0);
    assert_eq!(run.spooled(), 0);
}

#[test]
fn a_spool_of_another_proxy_or_of_another_kind_is_refused_by_name() {
    let (dir, fake) = (tempfile::tempdir().unwrap(), Fake::new(true));
    let settings = SpoolSettings { dir: dir.path().to_owned(), bytes: 1 << 20 };
    let spool = open(dir.path(), 1 << 20, &fake);
    let second = Spool::over(settings.clone(), Fake::new(true)).err().unwrap();
    assert!(matches!(second, SpoolError::Busy(_)), "{second}");
    assert!(second.to_string().contains(dir.path().to_str().unwrap()), "{second}");
    drop(spool);
    let name = "00000000000000000007.spool";
    std::fs::write(dir.path().join(name), "something else altogether, and no spool").unwrap();
    let foreign = Spool::over(settings, Fake::new(true)).err().unwrap().to_string();
    assert!(foreign.contains(name) && foreign.contains("not a segment"), "{foreign}");
}

#[test]
fn what_was_ever_sent_stays_marked_over_any_number_of_crashes() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = Log::open(dir.path(), 1 << 20).unwrap();
    let mut frames = Vec::new();
    for _ in 0..4 {
        assert!(super::frame::put(Kind::Exchange, false, b"key", b"payload", &mut frames));
    }
    log.append(&frames, 4, &Arc::default()).unwrap();
    let mut send = |most: usize, marked: usize| {
        let chunk = log.next(most).unwrap().unwrap();
        log.will_send(chunk.segment, chunk.frames.last().unwrap().1).unwrap();
        // The process dies here.
        std::fs::remove_file(dir.path().join("lock")).unwrap();
        log = Log::open(dir.path(), 1 << 20).unwrap();
        let chunk = log.next(4).unwrap().unwrap();
        assert_eq!((chunk.again, chunk.frames.len()), (true, marked));
    };
    send(3, 3);
    send(1, 3);
    send(2, 3);
}

#[test]
fn a_stop_while_kafka_hangs_ends_in_time_with_all_in_the_spool() {
    let (dir, fake, run) = (tempfile::tempdir().unwrap(), Fake::new(true), Arc::<Tally>::default());
    fake.change(|state| state.holds = true);
    let spool = open(dir.path(), 1 << 20, &fake);
    for number in 0..5 {
        spool.publish(message(number, 8, &run)).unwrap();
    }
    spool.flush(Duration::from_millis(200));
    assert_eq!((run.spooled(), spool.published().waiting, spool.published().spool_messages), (5, 0, 5));
}
