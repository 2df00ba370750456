use super::*;

fn leg(outcome: Outcome, inflight: u32, status: Option<u16>) -> Leg {
    Leg { inflight, status, ..Leg::unsent(outcome, "") }
}

#[test]
fn the_ledger_balances() {
    let account = Account::new(&["candidate".into()]);
    let primary = leg(Outcome::Answered, 0, Some(200));
    for inflight in 0..10 {
        account.mirrored(0, 1);
        let outcome = if inflight == 3 { Outcome::TimedOut } else { Outcome::Answered };
        account.ended(0, &primary, &leg(outcome, inflight, None));
    }
    account.not_taken(DropReason::QueueFull);
    account.tally().add_delivered(8);
    assert!(!account.counts().settled());
    account.tally().add_dropped(DropReason::DeliveryFailed, 1);
    assert!(account.counts().settled());
    let ledger = account.ledger("p", "r", true);
    let mirrored = ledger.total(|item| item == Item::Mirrored);
    let ended = ledger.total(|item| matches!(item, Item::Outcome(_)));
    let accounted = ledger.total(|item| matches!(item, Item::Delivered | Item::Dropped(_)));
    assert_eq!((mirrored, ended, accounted), (10, 10, 10));
    assert_eq!(ledger.total(|item| item == Item::Outcome(Outcome::TimedOut)), 1);
}

#[test]
fn endings_and_what_a_bound_kept_away_are_counted_by_load() {
    let account = Account::new(&["a".into(), "b".into()]);
    let answered = |inflight| leg(Outcome::Answered, inflight, Some(200));
    for inflight in [0, 1, 2, 3, 4, 1000, u32::MAX] {
        account.ended(1, &answered(0), &answered(inflight));
        account.capped(1, 2, inflight);
    }
    let items = account.items();
    let bins = |wanted: Item| -> Vec<(u32, u64)> {
        let of = |entry: &&LedgerItem| entry.item == wanted && entry.target == "b";
        items.iter().filter(of).map(|entry| (entry.inflight_from, entry.count)).collect()
    };
    assert_eq!(
        bins(Item::Outcome(Outcome::Answered)),
        [(0, 1), (1, 1), (2, 2), (4, 1), (512, 1), (1 << 31, 1)]
    );
    assert_eq!(
        bins(Item::Skipped(SkipReason::RateCap)),
        [(0, 2), (1, 2), (2, 4), (4, 2), (512, 2), (1 << 31, 2)]
    );
}

#[test]
fn an_answer_that_only_the_shadow_refuses_is_told_apart() {
    let account = Account::new(&["candidate".into()]);
    let with = |status| leg(Outcome::Answered, 0, Some(status));
    account.ended(0, &with(200), &with(404));
    account.ended(0, &with(404), &with(404));
    account.ended(0, &with(200), &Leg { grpc_status: Some(12), ..with(200) });
    account.ended(0, &with(200), &leg(Outcome::Refused, 0, None));
    let seen = account.counts().seen(0);
    assert_eq!(seen, Seen { answers: [1, 0, 0, 0, 3, 0], only_here: 2 });
    assert_eq!(seen.answered(), 3);
}

#[test]
fn every_outcome_and_reason_has_a_count_of_its_own() {
    let account = Account::new(&["candidate".into()]);
    for (number, outcome) in (1..).zip(Outcome::ALL) {
        let ended = leg(outcome, 0, None);
        (0..number).for_each(|_| account.ended(0, &ended, &ended));
    }
    for (number, reason) in (1..).zip(SkipReason::ALL) {
        (0..number).for_each(|_| account.skipped(reason));
    }
    let counts = account.counts();
    for (number, outcome) in (1..).zip(Outcome::ALL) {
        assert_eq!(counts.ended(0, outcome), number, "{outcome}");
    }
    for (number, reason) in (1..).zip(SkipReason::ALL) {
        assert_eq!(counts.total(None, |item| item == Item::Skipped(reason)), number, "{reason:?}");
    }
}

#[test]
fn snapshots_and_sequences_are_numbered_without_gaps() {
    let account = Account::new(&[]);
    assert_eq!([account.next_sequence(), account.next_sequence()], [0, 1]);
    let number = || account.ledger("p", "r", false).snapshot;
    assert_eq!([number(), number()], [0, 1]);
}
