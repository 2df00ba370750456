use super::*;
use crate::config::sampling::{By, describe};

const NOW: i64 = 1_796_083_200_000_000; // 2026-12-01T00:00:00Z

fn shadows() -> Vec<String> {
    vec!["candidate".into(), "control".into()]
}

fn change(before: &Sampling, json: &str) -> Result<Sampling, String> {
    let update: Update = serde_json::from_str(json).map_err(|error| error.to_string())?;
    update.apply(before, &shadows(), NOW).map_err(|error| error.to_string())
}

#[test]
fn what_is_left_out_stays_as_it_is() {
    let first = change(
        &Sampling::default(),
        r#"{"sample": "1/1000000", "by": "header:X-User", "seed": 7, "max_per_second": 50, "copies": {"candidate": 2.5}}"#,
    )
    .unwrap();
    assert!((first.fraction.get() - 1e-6).abs() < 1e-18);
    assert_eq!(first.cap, Some(Cap { per_second: 50.0, burst: 50.0 }));
    assert_eq!((first.copies_of("candidate"), first.copies_of("control")), (2.5, 1.0));
    assert_eq!(change(&first, "{}").unwrap(), first);
    let second = change(&first, r#"{"by": "body", "burst": 5, "copies": {"control": 0}}"#).unwrap();
    assert_eq!((&second.by, second.seed, second.fraction), (&By::Body, 7, first.fraction));
    assert_eq!(second.cap, Some(Cap { per_second: 50.0, burst: 5.0 }));
    assert_eq!((second.copies_of("candidate"), second.copies_of("control")), (2.5, 0.0));
}

#[test]
fn null_takes_a_bound_or_a_moment_away() {
    let bound = r#"{"max_per_second": 0.5, "start_at": "2026-12-01T08:00:00Z", "stop_at": "2026-12-01T10:00:00+01:00"}"#;
    let before = change(&Sampling::default(), bound).unwrap();
    assert_eq!(before.cap, Some(Cap { per_second: 0.5, burst: 1.0 }));
    let hour = 3_600_000_000;
    assert_eq!(before.schedule, Schedule { start_us: Some(NOW + 8 * hour), stop_us: Some(NOW + 9 * hour) });
    let after = change(&before, r#"{"max_per_second": null, "start_at": null}"#).unwrap();
    assert_eq!((after.cap, after.schedule.start_us), (None, None));
    assert_eq!(after.schedule.stop_us, before.schedule.stop_us);
}

#[test]
fn a_length_counts_from_the_start_or_from_now() {
    let from_now = change(&Sampling::default(), r#"{"for_ms": 60000}"#).unwrap().schedule;
    assert_eq!(from_now, Schedule { start_us: None, stop_us: Some(NOW + 60_000_000) });
    let later =
        change(&Sampling::default(), r#"{"start_at": "2026-12-01T00:01:00Z", "for_ms": 1000}"#).unwrap();
    let minute = NOW + 60_000_000;
    assert_eq!(later.schedule, Schedule { start_us: Some(minute), stop_us: Some(minute + 1_000_000) });
    let open = |at| later.schedule.open(at);
    assert!(!open(minute - 1) && open(minute) && open(minute + 999_999) && !open(minute + 1_000_000));
    assert!(later.schedule.over(minute + 1_000_000) && !later.schedule.over(minute));
}

#[test]
fn what_is_wrong_is_named_with_its_remedy() {
    for (json, wanted) in [
        (r#"{"sampel": 1}"#, "unknown field `sampel`, expected one of"),
        (r#"{"sample": 5}"#, "write 5%"),
        (r#"{"by": "cookie"}"#, "by `cookie`: write random, body or header:NAME"),
        (r#"{"by": "header:a b"}"#, "header:NAME"),
        (r#"{"max_per_second": 0}"#, "max_per_second 0: write a number from 0.001 to 1000000"),
        (r#"{"max_per_second": -1}"#, "from 0.001"),
        (r#"{"max_per_second": 1, "burst": 0.5}"#, "1 or more"),
        (r#"{"burst": 5}"#, "give both"),
        (r#"{"copies": {"canary": 1}}"#, "there are candidate, control"),
        (r#"{"copies": {"candidate": 65}}"#, "from 0 to 64"),
        (r#"{"copies": {"candidate": -0.1}}"#, "from 0 to 64"),
        (r#"{"start_at": "tomorrow"}"#, "start_at `tomorrow`: write RFC 3339"),
        (r#"{"stop_at": "2026-12-01"}"#, "stop_at"),
        (r#"{"stop_at": "2026-12-01T00:00:00Z", "for_ms": 1}"#, "give one of them"),
        (r#"{"start_at": "2026-12-02T00:00:00Z", "stop_at": "2026-12-01T00:00:00Z"}"#, "not after the start"),
        (r#"{"for_ms": 0}"#, "not after the start"),
        (r#"{"run": ""}"#, "run ``"),
        (r#"{"run": "a\nb"}"#, "control characters"),
        (r#"{"routes": [{"path": "/"}]}"#, "no name"),
        ("1", "invalid type"),
    ] {
        let error = change(&Sampling::default(), json).unwrap_err();
        assert!(error.contains(wanted), "{json}: {error}");
    }
}

#[test]
fn what_is_in_force_is_told_in_the_terms_of_a_change() {
    let json = r#"{"sample": "5%", "by": "header:x-user", "max_per_second": 10, "start_at": "2026-12-01T00:00:00Z",
        "stop_at": "2026-12-01T00:00:00.5Z", "copies": {"control": 0.5}}"#;
    let state = change(&Sampling::default(), json).unwrap();
    let told = describe(&state, "r-1", &shadows());
    assert_eq!(told["copies"], serde_json::json!({"candidate": 1.0, "control": 0.5}));
    assert_eq!(told["stop_at"], "2026-12-01T00:00:00.500Z");
    assert_eq!(told["routes"][0]["inference"], true);
    let mut again = change(&Sampling::default(), &told.to_string()).unwrap();
    again.copies.remove("candidate");
    assert_eq!(again, state, "what is told can be put again");
}
