use super::*;
use crate::{Body, HttpVersion, Item, LedgerItem, Leg, Outcome, Request, Role, SkipReason, Uuid};
use proptest::prelude::*;

fn exchange(request: Vec<u8>, primary: Vec<u8>, shadow: Vec<u8>) -> Exchange {
    let leg = |body: Vec<u8>| Leg {
        node: "127.0.0.1:8000".into(),
        labels: vec![("gpu".into(), "Tesla M10".into())],
        status: Some(200),
        grpc_status: Some(14),
        http_version: Some(HttpVersion::Http2),
        reported_queue_us: Some(0),
        reported_utilization: Some(0.0),
        reused: Some(false),
        stream: Some(0),
        trailers: vec![("grpc-status".into(), "14".into()), ("grpc-status".into(), "14".into())],
        queued_us: Some(0),
        first_byte_us: Some(1),
        latency_us: Some(2),
        inflight: 7,
        rate_1s: 1.5,
        attempts: 1,
        headers: vec![("content-type".into(), "application/json".into())],
        body: Body::whole(body.into()),
        ..Leg::unsent(Outcome::Answered, "")
    };
    Exchange {
        id: Uuid::from_u128(7),
        run: "r".into(),
        proxy: "p".into(),
        sequence: 3,
        request: Request {
            received_at_us: 1_700_000_000_000_000,
            method: "POST".into(),
            path: "/v2/models/m/infer".into(),
            body: Body::whole(request.into()),
            ..Request::default()
        },
        primary: leg(primary),
        shadow: leg(shadow),
        shadow_target: "candidate".into(),
        shadow_role: Role::Candidate,
    }
}

fn decoded(bytes: Bytes) -> Exchange {
    match decode(bytes).unwrap() {
        Record::Exchange(exchange) => exchange,
        Record::Ledger(_) => panic!("not an exchange"),
    }
}

proptest! {
    #[test]
    fn an_exchange_comes_back_as_it_was(a: Vec<u8>, b: Vec<u8>, c: Vec<u8>) {
        let exchange = exchange(a, b, c);
        prop_assert_eq!(decoded(encode_exchange(exchange.clone(), usize::MAX)), exchange);
    }

    #[test]
    fn any_bytes_decode_or_fail_without_panic(bytes: Vec<u8>) {
        let _ = decode(bytes.into());
    }

    #[test]
    fn a_large_exchange_is_cut_under_the_limit(a in 0usize..9000, b in 0usize..9000, c in 0usize..9000) {
        let encoded = encode_exchange(exchange(vec![1; a], vec![2; b], vec![3; c]), 8000);
        prop_assert!(encoded.len() <= 8000, "{} bytes", encoded.len());
        let back = decoded(encoded);
        for (body, length) in [(back.request.body, a), (back.primary.body, b), (back.shadow.body, c)] {
            prop_assert_eq!(body.length, length as u64);
            prop_assert_eq!(body.truncated, body.bytes.len() < length);
            prop_assert!(body.digest.is_some());
        }
    }
}

#[test]
fn small_bodies_survive_the_cut_of_a_large_one() {
    let back = decoded(encode_exchange(exchange(vec![1; 100_000], vec![2; 50], vec![3; 60]), 10_000));
    assert!(back.request.body.truncated);
    assert!(!back.primary.body.truncated && !back.shadow.body.truncated);
}

#[test]
fn a_ledger_comes_back_as_it_was() {
    let items = vec![
        LedgerItem { item: Item::Mirrored, target: "candidate".into(), inflight_from: 0, count: 5 },
        LedgerItem {
            item: Item::Outcome(Outcome::Shed),
            target: "candidate".into(),
            inflight_from: 8,
            count: 2,
        },
        LedgerItem {
            item: Item::Skipped(SkipReason::RateCap),
            target: String::new(),
            inflight_from: 8,
            count: 1,
        },
        LedgerItem { item: Item::Spooled, target: String::new(), inflight_from: 0, count: 4 },
    ];
    let ledger = Ledger { proxy: "p".into(), run: "r".into(), at_us: 9, snapshot: 1, closing: true, items };
    assert_eq!(decode(encode_ledger(ledger.clone())), Ok(Record::Ledger(ledger)));
}

#[test]
fn what_is_not_an_envelope_says_so() {
    assert_eq!(decode(Bytes::new()), Err(DecodeError::Missing("a version")));
    let newer = Envelope { version: VERSION + 1, payload: None }.encode_to_vec();
    assert_eq!(decode(newer.into()), Err(DecodeError::Version(VERSION + 1)));
    let hollow =
        Envelope { version: 1, payload: Some(Payload::Exchange(Default::default())) }.encode_to_vec();
    assert!(matches!(decode(hollow.into()), Err(DecodeError::Unknown { field: "exchange id", .. })));
    assert!(matches!(decode(Bytes::from_static(b"hello, world")), Err(DecodeError::Protobuf(_))));
}

#[test]
fn an_unknown_outcome_is_refused() {
    let mut message = generated::Exchange::from(exchange(vec![], vec![], vec![]));
    message.shadow.as_mut().unwrap().outcome = 99;
    let bytes = Envelope { version: 1, payload: Some(Payload::Exchange(message)) }.encode_to_vec();
    assert_eq!(decode(bytes.into()), Err(DecodeError::Unknown { field: "outcome", value: "99".into() }));
}

#[test]
fn every_outcome_and_protocol_version_comes_back_as_it_was() {
    let versions = std::iter::once(None).chain(HttpVersion::ALL.map(Some)).cycle();
    for (outcome, version) in Outcome::ALL.into_iter().zip(versions) {
        let mut exchange = exchange(vec![], vec![], vec![]);
        (exchange.shadow.outcome, exchange.shadow.http_version) = (outcome, version);
        assert_eq!(decoded(encode_exchange(exchange.clone(), usize::MAX)), exchange);
    }
}

#[test]
fn an_unknown_protocol_version_is_refused() {
    let mut message = generated::Exchange::from(exchange(vec![], vec![], vec![]));
    message.primary.as_mut().unwrap().http_version = 9;
    let bytes = Envelope { version: 1, payload: Some(Payload::Exchange(message)) }.encode_to_vec();
    let unknown = DecodeError::Unknown { field: "http_version", value: "9".into() };
    assert_eq!(decode(bytes.into()), Err(unknown));
}

#[test]
fn trailers_count_towards_the_limit() {
    let mut exchange = exchange(vec![7; 9000], vec![7; 9000], vec![7; 9000]);
    exchange.shadow.trailers = vec![("grpc-message".into(), "m".repeat(8000))];
    let encoded = encode_exchange(exchange, 20_000);
    assert!(encoded.len() <= 20_000, "{}", encoded.len());
}

#[test]
fn a_long_method_is_counted_too() {
    let mut exchange = exchange(vec![7; 40_000], vec![7; 9000], vec![7; 9000]);
    exchange.request.method = "M".repeat(8000);
    let encoded = encode_exchange(exchange, 30_000);
    assert!(encoded.len() <= 30_000, "{}", encoded.len());
}

#[test]
fn answers_of_the_same_bytes_are_written_once() {
    let body = vec![7; 100_000];
    let same = exchange(vec![1], body.clone(), body.clone());
    let encoded = encode_exchange(same.clone(), usize::MAX);
    assert!(encoded.len() < 101_000, "{} bytes", encoded.len());
    assert_eq!(Envelope::decode(encoded.clone()).unwrap().version, 2);
    let back = decoded(encoded);
    assert_eq!(back, same);
    assert_eq!(back.primary.body.bytes.as_ptr(), back.shadow.body.bytes.as_ptr(), "read without a copy");
    // Room for one is room for both.
    assert_eq!(decoded(encode_exchange(same.clone(), 105_000)), same);
    let mut other = body;
    other[99_999] = 8;
    let other = exchange(vec![1], vec![7; 100_000], other);
    let encoded = encode_exchange(other.clone(), usize::MAX);
    assert!(encoded.len() > 200_000);
    // A reader of the first version can read what needs no more.
    assert_eq!(Envelope::decode(encoded.clone()).unwrap().version, 1);
    assert_eq!(decoded(encoded), other);
}

#[test]
fn answers_of_the_same_bytes_are_cut_under_the_limit_too() {
    for limit in [5_000, 9_000, 12_000, 20_000, 30_000] {
        let body = vec![7; 9000];
        let encoded = encode_exchange(exchange(vec![1; 9000], body.clone(), body), limit);
        assert!(encoded.len() <= limit, "{} of {limit} bytes", encoded.len());
        let back = decoded(encoded);
        assert_eq!((back.primary.body.length, back.shadow.body.length), (9000, 9000));
    }
}
