use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use exchange::Outcome;

use super::*;

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn utilization(value: &str) -> Option<f64> {
    Reported::of(&pairs(&[("endpoint-load-metrics", value)])).utilization
}

/// A protobuf double field.
fn double(tag: u8, value: f64) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 1];
    bytes.extend(value.to_le_bytes());
    bytes
}

#[test]
fn the_reports_of_a_real_server_are_kept_as_they_came() {
    for value in [
        r#"JSON {"named_metrics": {"num_requests_waiting": 0.0, "kv_cache_usage_perc": 0.0}}"#,
        "TEXT named_metrics.num_requests_waiting=4.0, named_metrics.kv_cache_usage_perc=0.0001220852154804053",
    ] {
        let reported = Reported::of(&pairs(&[("server", "uvicorn"), ("endpoint-load-metrics", value)]));
        assert_eq!(reported.load.as_deref(), Some(value));
        assert_eq!((reported.utilization, reported.queue_us), (None, None), "it names neither");
    }
    assert_eq!(Reported::of(&pairs(&[("server", "uvicorn")])), Reported::default());
}

#[test]
fn a_utilization_is_read_from_every_form() {
    let mut message = double(1, 0.25);
    message.extend([0x42, 3, 0x0a, 1, b'x']);
    message.extend(double(9, 0.75));
    let (padded, bare) = (STANDARD.encode(&message), STANDARD_NO_PAD.encode(&message));
    for (name, value) in [
        ("endpoint-load-metrics", "TEXT cpu_utilization=0.25,application_utilization=0.75".to_owned()),
        ("endpoint-load-metrics", "cpu_utilization:0.25, application_utilization:0.75, eps:1".into()),
        ("endpoint-load-metrics", "text application_utilization = 7.5e-1".into()),
        (
            "endpoint-load-metrics",
            r#"JSON {"cpu_utilization": 0.25, "application_utilization": 0.75}"#.into(),
        ),
        (
            "endpoint-load-metrics",
            r#"json {"applicationUtilization": 0.75, "utilization": {"gpu": 1}}"#.into(),
        ),
        ("endpoint-load-metrics", format!("BIN {padded}")),
        ("endpoint-load-metrics-bin", padded),
        ("endpoint-load-metrics-bin", bare),
        ("endpoint-load-metrics-json", r#"{"application_utilization": 0.75}"#.into()),
    ] {
        let reported = Reported::of(&pairs(&[(name, &value)]));
        assert_eq!(reported.utilization, Some(0.75), "{value}");
        assert_eq!(reported.load, Some(value));
    }
}

#[test]
fn the_processors_stand_in_where_the_application_says_nothing() {
    for (value, wanted) in [
        ("TEXT cpu_utilization=0.25", Some(0.25)),
        ("TEXT cpu_utilization=0.25,application_utilization=0", Some(0.25)),
        ("TEXT application_utilization=0", Some(0.0)),
        ("TEXT application_utilization=1.5,cpu_utilization=0.25", Some(1.5)),
        ("TEXT application_utilization=-1,cpu_utilization=0.25", Some(0.25)),
        ("TEXT mem_utilization=0.5", None),
    ] {
        assert_eq!(utilization(value), wanted, "{value}");
    }
}

#[test]
fn a_metric_may_stand_in_a_header_of_its_own() {
    let several =
        pairs(&[("endpoint-load-metrics", "cpu_utilization:0.5"), ("endpoint-load-metrics", "eps:2")]);
    let reported = Reported::of(&several);
    assert_eq!(reported.utilization, Some(0.5));
    assert_eq!(reported.load.as_deref(), Some("cpu_utilization:0.5, eps:2"));
}

#[test]
fn what_is_not_sound_gives_no_number_and_keeps_its_text() {
    let nan = format!("BIN {}", STANDARD.encode(double(9, f64::NAN)));
    for value in [
        "TEXT cpu_utilization=NaN",
        "TEXT cpu_utilization=0.5,eps=inf",
        "TEXT cpu_utilization=0.5,cpu_utilization=0.5",
        "TEXT cpu_utilization=0.5,named_metrics.a=1,named_metrics.a=2",
        "TEXT cpu_utilization=",
        "TEXT =0.5",
        "TEXT cpu_utilization",
        "TEXT cpu_utilization=half",
        r#"JSON {"cpu_utilization": NaN}"#,
        r#"JSON {"cpu_utilization": 0.5, "cpu_utilization": 0.5}"#,
        r#"JSON {"cpu_utilization": 0.5"#,
        "JSON",
        "BIN",
        "BIN !!!!",
        "BIN /////w==",
        &nan,
        "",
    ] {
        let reported = Reported::of(&pairs(&[("endpoint-load-metrics", value)]));
        assert_eq!((reported.utilization, reported.load.as_deref()), (None, Some(value)), "{value}");
    }
}

#[test]
fn a_report_in_two_forms_is_ambiguous() {
    let message = STANDARD.encode(double(9, 0.5));
    let both =
        pairs(&[("endpoint-load-metrics", "cpu_utilization=0.5"), ("endpoint-load-metrics-bin", &message)]);
    assert_eq!(Reported::of(&both).utilization, None);
    let twice = pairs(&[("endpoint-load-metrics-bin", &message), ("endpoint-load-metrics-bin", &message)]);
    assert_eq!(Reported::of(&twice).utilization, None);
    let mixed = pairs(&[
        ("endpoint-load-metrics", "TEXT cpu_utilization=0.5"),
        ("endpoint-load-metrics", r#"JSON {"eps": 1}"#),
    ]);
    assert_eq!(Reported::of(&mixed).utilization, None);
}

#[test]
fn a_wait_in_the_queue_is_read_from_either_header() {
    for (name, value, wanted) in [
        ("x-queue-time", "12", Some(12_000)),
        ("x-queue-time", " 0.4996 ", Some(500)),
        ("x-queue-time", "0", Some(0)),
        ("x-queue-time", "-1", None),
        ("x-queue-time", "NaN", None),
        ("x-queue-time", "1e300", None),
        ("x-queue-time", "soon", None),
        ("server-timing", "queue;dur=3.1, infer;dur=12;desc=\"x\"", Some(3100)),
        ("server-timing", "infer;dur=12;desc=\"a, queue;dur=9\", queue; DUR = \"4\" ;dur=5", Some(4000)),
        ("server-timing", r#"a;desc="\", queue;dur=9", queue;dur=1"#, Some(1000)),
        ("server-timing", "queue", None),
        ("server-timing", "queue;dur", None),
        ("server-timing", "requeue;dur=1", None),
        ("server-timing", "queue;desc=\"unclosed;dur=1", None),
    ] {
        assert_eq!(Reported::of(&pairs(&[(name, value)])).queue_us, wanted, "{name}: {value}");
    }
    let both = pairs(&[("server-timing", "queue;dur=1"), ("x-queue-time", "2")]);
    assert_eq!(Reported::of(&both).queue_us, Some(2000), "the header of its own goes before");
}

#[test]
fn what_is_secret_is_not_read() {
    let redacted = pairs(&[("x-queue-time", REDACTED), ("endpoint-load-metrics", REDACTED)]);
    assert_eq!(Reported::of(&redacted), Reported::default());
}

#[test]
fn a_report_in_the_trailers_goes_before_one_in_the_head() {
    let mut leg = Leg {
        headers: pairs(&[("endpoint-load-metrics", "cpu_utilization=0.1"), ("x-queue-time", "7")]),
        trailers: pairs(&[
            ("grpc-status", "0"),
            ("endpoint-load-metrics-bin", &STANDARD.encode(double(9, 0.5))),
        ]),
        ..Leg::unsent(Outcome::Answered, "")
    };
    Reported::note(&mut leg);
    assert_eq!((leg.reported_utilization, leg.reported_queue_us), (Some(0.5), Some(7000)));
    leg.trailers.pop();
    Reported::note(&mut leg);
    assert_eq!(
        (leg.reported_utilization, leg.reported_load.as_deref()),
        (Some(0.1), Some("cpu_utilization=0.1"))
    );
}
