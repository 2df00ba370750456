use super::*;
use crate::account::{Counts, Runs};
use crate::config::{Cap, Route, Schedule};
use exchange::{Item, Leg, Outcome};
use http::HeaderValue;

const POST: Method = Method::POST;

/// A sampler over two shadows, and its runs.
fn sampler(sampling: Sampling) -> (Sampler, Runs) {
    let runs = Runs::new(vec!["candidate".into(), "control".into()]);
    let run = runs.begin("r".into()).unwrap();
    let plan = Plan::new(sampling, run, runs.shadows(), None);
    (Sampler::new(plan), runs)
}

fn every_post() -> Sampling {
    Sampling { routes: vec![Route::every_post()], ..Sampling::default() }
}

fn share(fraction: &str, by: By) -> Sampling {
    Sampling { fraction: fraction.parse().unwrap(), by, seed: 7, ..every_post() }
}

fn by_user() -> By {
    By::Header("x-user".parse().unwrap())
}

fn user(name: usize) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("x-user", HeaderValue::from(name));
    headers
}

fn chosen(sampler: &Sampler, headers: &HeaderMap) -> Option<Chosen> {
    match sampler.choose(&POST, "/", headers, |_| 0) {
        Choice::Yes(chosen) => Some(chosen),
        Choice::No => None,
        Choice::ByBody(_) => panic!("decided by the body"),
    }
}

/// Copies for each of the two shadows.
fn legs(chosen: &Chosen) -> [u32; 2] {
    let begun = chosen.begin();
    [0, 1].map(|shadow| begun.iter().filter(|leg| **leg == shadow).count() as u32)
}

fn by_body(sampler: &Sampler, chunks: &[&[u8]]) -> Option<Chosen> {
    match sampler.choose(&POST, "/", &HeaderMap::new(), |_| 0) {
        Choice::ByBody(undecided) => undecided.decide(chunks.iter().copied(), |_| 0),
        other => panic!("{other:?}"),
    }
}

fn skipped(runs: &Runs, reason: SkipReason) -> u64 {
    let counts: Counts = runs.totals();
    counts.total(None, |item| item == Item::Skipped(reason))
}

#[test]
fn the_share_stays_within_the_binomial_bound() {
    let (sampler, _runs) = sampler(share("5%", By::Random));
    let taken = (0..100_000).filter(|_| chosen(&sampler, &HeaderMap::new()).is_some()).count();
    // Five standard deviations of Bin(100000, 0.05).
    assert!((4655..=5345).contains(&taken), "{taken}");
}

#[test]
fn a_tiny_share_is_one() {
    let (sampler, _runs) = sampler(share("0.002%", by_user()));
    let taken = (0..150_000).filter(|number| chosen(&sampler, &user(*number)).is_some()).count();
    // Poisson with mean 3: more than 15, or none, once in 10^6 and 20; the hash is fixed, so is the count.
    assert!((1..=15).contains(&taken), "{taken}");
}

#[test]
fn one_header_value_is_always_or_never_chosen_on_every_proxy() {
    let (one, _runs) = sampler(share("50%", by_user()));
    let (two, _others) = sampler(share("50%", by_user()));
    let mut taken = 0;
    for number in 0..1000 {
        let headers = user(number);
        let yes = chosen(&one, &headers).is_some();
        assert_eq!(yes, chosen(&one, &headers).is_some());
        assert_eq!(yes, chosen(&two, &headers).is_some());
        taken += usize::from(yes);
    }
    assert!((420..=580).contains(&taken), "{taken}");
}

#[test]
fn the_choice_is_the_same_in_every_version() {
    let (sampler, _runs) = sampler(share("50%", by_user()));
    let taken: Vec<usize> = (0..16).filter(|number| chosen(&sampler, &user(*number)).is_some()).collect();
    assert_eq!(taken, GOLDEN, "another choice after an update would mirror other users");
}

const GOLDEN: [usize; 9] = [1, 2, 4, 6, 8, 9, 12, 14, 15];

#[test]
fn one_body_is_always_or_never_chosen_however_it_is_cut() {
    let (sampler, _runs) = sampler(share("50%", By::Body));
    let mut taken = 0;
    for number in 0..1000 {
        let body = format!("{{\"inputs\": [{number}, 1.5, 2.5]}}");
        let (head, tail) = body.as_bytes().split_at(number % 9);
        let yes = by_body(&sampler, &[body.as_bytes()]).is_some();
        assert_eq!(yes, by_body(&sampler, &[head, b"", tail]).is_some());
        taken += usize::from(yes);
    }
    assert!((420..=580).contains(&taken), "{taken}");
}

#[test]
fn the_first_route_that_matches_decides_and_what_none_allows_is_counted() {
    let health = Route {
        name: "health".into(),
        paths: vec![crate::config::PathRule::Prefix("/v2/health".into())],
        mirror: false,
        ..Route::every_post()
    };
    let routes = vec![health, Route::default()];
    let (sampler, runs) = sampler(Sampling { routes, ..Sampling::default() });
    let choose = |method: &Method, path: &str| match sampler.choose(method, path, &HeaderMap::new(), |_| 0) {
        Choice::Yes(chosen) => Some(chosen.route().to_owned()),
        _ => None,
    };
    assert_eq!(choose(&POST, "/v2/models/m/infer").as_deref(), Some("inference"));
    assert_eq!(choose(&POST, "/v2/health/live"), None);
    assert_eq!(choose(&POST, "/orders"), None);
    assert_eq!(choose(&Method::DELETE, "/v2/models/m/infer"), None);
    assert_eq!(choose(&Method::GET, "/v2/models/m/infer"), None);
    assert_eq!(skipped(&runs, SkipReason::Route), 3, "a GET is no inference");
}

#[test]
fn a_route_has_a_share_of_its_own() {
    let none = Route { sample: Some(Fraction::NONE), ..Route::every_post() };
    let (sampler, _runs) = sampler(Sampling { routes: vec![none], ..Sampling::default() });
    assert!(chosen(&sampler, &HeaderMap::new()).is_none());
}

#[test]
fn a_bound_on_the_rate_counts_every_copy_and_what_it_keeps_away_by_load() {
    let cap = Some(Cap { per_second: 1e-6, burst: 4.0 });
    let (sampler, runs) = sampler(Sampling { cap, ..every_post() });
    let load = |shadow| [5, 0][shadow];
    let taken = (0..10)
        .filter(|_| matches!(sampler.choose(&POST, "/", &HeaderMap::new(), load), Choice::Yes(_)))
        .count();
    assert_eq!(taken, 2, "two copies each");
    let capped = |shadow, from| {
        let items = runs.totals().items(runs.shadows());
        let wanted = Item::Skipped(SkipReason::RateCap);
        items
            .into_iter()
            .filter(|entry| entry.item == wanted && entry.target == shadow && entry.inflight_from == from)
            .map(|entry| entry.count)
            .sum::<u64>()
    };
    assert_eq!((capped("candidate", 4), capped("control", 0)), (8, 8));
    assert_eq!(skipped(&runs, SkipReason::RateCap), 16);
}

#[test]
fn a_bound_that_stays_the_same_goes_on_where_it_is() {
    let cap = Some(Cap { per_second: 1e-6, burst: 2.0 });
    let (sampler, runs) = sampler(Sampling { cap, ..every_post() });
    assert!(chosen(&sampler, &HeaderMap::new()).is_some());
    let before = sampler.plan();
    let sampling = Sampling { seed: 1, ..before.sampling.clone() };
    sampler.follow(Plan::new(sampling, before.run.clone(), runs.shadows(), Some(&before)));
    assert!(chosen(&sampler, &HeaderMap::new()).is_none(), "no new burst for each change");
    let sampling = Sampling { cap: Some(Cap { per_second: 1.0, burst: 2.0 }), ..before.sampling.clone() };
    sampler.follow(Plan::new(sampling, before.run.clone(), runs.shadows(), Some(&before)));
    assert!(chosen(&sampler, &HeaderMap::new()).is_some());
}

#[test]
fn copies_are_whole_ones_and_a_share_of_one_more() {
    let copies = [("candidate".to_owned(), 2.25), ("control".to_owned(), 0.25)].into();
    let (sampler, _runs) = sampler(Sampling { copies, by: by_user(), ..every_post() });
    let mut sums = [0, 0];
    for number in 0..10_000 {
        let Some(chosen) = chosen(&sampler, &user(number)) else { panic!("the candidate gets each") };
        let copies = legs(&chosen);
        assert_eq!(copies[0], 2 + copies[1], "both get one more of the same requests");
        sums.iter_mut().zip(copies).for_each(|(sum, copies)| *sum += copies);
    }
    // Five standard deviations of Bin(10000, 0.25).
    assert!((2283..=2717).contains(&sums[1]), "{sums:?}");
}

#[test]
fn a_share_of_copies_is_taken_of_the_chosen_alone_and_not_of_their_hash() {
    let copies = [("candidate".to_owned(), 0.5), ("control".to_owned(), 0.0)].into();
    let (sampler, _runs) = sampler(Sampling { copies, ..share("10%", by_user()) });
    let taken = (0..100_000).filter(|number| chosen(&sampler, &user(*number)).is_some()).count();
    // Five standard deviations of Bin(100000, 0.05): the two choices are independent.
    assert!((4655..=5345).contains(&taken), "{taken}");
}

#[test]
fn outside_its_schedule_nothing_is_mirrored_and_it_is_counted() {
    let schedule = Schedule { start_us: None, stop_us: Some(1) };
    for by in [By::Random, By::Body] {
        let (sampler, runs) = sampler(Sampling { schedule, ..share("50%", by) });
        assert!(matches!(sampler.choose(&POST, "/", &HeaderMap::new(), |_| 0), Choice::No));
        assert_eq!(skipped(&runs, SkipReason::OutsideSchedule), 1);
    }
    let schedule = Schedule { start_us: Some(1), stop_us: Some(i64::MAX) };
    let (sampler, _runs) = sampler(Sampling { schedule, ..every_post() });
    assert!(chosen(&sampler, &HeaderMap::new()).is_some());
}

#[test]
fn a_plan_holds_for_the_requests_that_began_under_it() {
    let (sampler, runs) = sampler(every_post());
    let under_way = chosen(&sampler, &HeaderMap::new()).unwrap();
    let run = runs.begin("next".into()).unwrap();
    let copies = [("candidate".to_owned(), 3.0)].into();
    let before = sampler.plan();
    sampler.follow(Plan::new(Sampling { copies, ..every_post() }, run, runs.shadows(), Some(&before)));
    drop(before);
    assert_eq!((under_way.run().id.as_str(), legs(&under_way)[0]), ("r", 1));
    let next = chosen(&sampler, &HeaderMap::new()).unwrap();
    assert_eq!((next.run().id.as_str(), legs(&next)[0]), ("next", 3));
    assert!(runs.take_ended().is_empty());
    let leg = Leg::unsent(Outcome::Refused, "");
    for shadow in [0, 1] {
        under_way.run().account.ended(shadow, &leg, &leg);
    }
    under_way.run().account.tally().add_delivered(2);
    assert!(runs.take_ended().is_empty(), "its request may begin more");
    drop(under_way);
    assert_eq!(runs.take_ended().len(), 1);
}
