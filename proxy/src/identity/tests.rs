use exchange::{Body, Outcome};
use http::{HeaderName, HeaderValue};

use super::*;

fn node() -> Node {
    let labels = vec![("gpu".into(), "T4".into()), ("zone".into(), "a".into())];
    "http://10.0.0.1:8000".parse::<Node>().unwrap().with_labels(labels)
}

/// A leg that got an answer with these headers, which are recorded as they are, and this body.
fn leg(naming: &Naming, headers: &[(&'static str, &str)], body: &str) -> Leg {
    let node = node();
    let pairs = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut leg = Leg {
        node: node.name.clone(),
        labels: node.labels.clone(),
        headers: pairs.collect(),
        body: Body::whole(body.to_owned().into()),
        ..Leg::unsent(Outcome::Answered, "")
    };
    let headers = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    naming.of_head(&node, &mut leg, &headers.collect());
    naming.of_end(&node, &mut leg);
    leg
}

fn identity() -> Identity {
    Identity {
        header: Some(HeaderName::from_static("x-served-by")),
        json: Some("/parameters/node".into()),
        ..Identity::default()
    }
}

fn label<'a>(leg: &'a Leg, name: &str) -> Option<&'a str> {
    exchange::leg::header(&leg.labels, name)
}

#[test]
fn without_a_word_it_is_the_address_dialled() {
    let leg = leg(&Naming::new(Identity::default()), &[("x-served-by", "pod-1")], "{}");
    assert_eq!((leg.node.as_str(), label(&leg, "address")), ("10.0.0.1:8000", None));
}

#[test]
fn the_first_word_in_the_order_counts() {
    let served = ("x-served-by", "pod-1");
    let known = ("x-amzn-invoked-production-variant", "blue");
    let json = r#"{"parameters": {"node": "pod-2"}}"#;
    for (headers, body, name) in [
        (&[served, known][..], json, "pod-1"),
        (&[known][..], json, "pod-2"),
        (&[known, ("x-gateway-destination-endpoint-served", "10.1.1.1:80")][..], "[]", "10.1.1.1:80"),
        (&[known][..], "[]", "blue"),
        (&[("azureml-model-session", "green")][..], "", "green"),
        (&[][..], "", "10.0.0.1:8000"),
    ] {
        let leg = leg(&Naming::new(identity()), headers, body);
        assert_eq!(leg.node, name);
        let address = (name != "10.0.0.1:8000").then_some("10.0.0.1:8000");
        assert_eq!(label(&leg, "address"), address, "{name}");
        assert!(leg.labels.is_sorted(), "{:?}", leg.labels);
    }
    let alone = Naming::new(Identity { known: false, ..Identity::default() });
    assert_eq!(leg(&alone, &[known], "").node, "10.0.0.1:8000", "known fields can be turned off");
}

#[test]
fn a_trailer_names_the_node_of_a_call() {
    let (naming, node) = (Naming::new(identity()), node());
    let mut leg = leg(&naming, &[("azureml-model-session", "green")], "");
    leg.trailers = vec![("grpc-status".into(), "0".into()), ("x-served-by".into(), "pod-3".into())];
    naming.of_end(&node, &mut leg);
    assert_eq!((leg.node.as_str(), label(&leg, "address")), ("pod-3", Some("10.0.0.1:8000")));
}

#[test]
fn the_head_of_a_binary_answer_is_read_and_no_other_body() {
    let json = r#"{"parameters": {"node": "pod-2"}}"#;
    let length = json.len().to_string();
    let binary = [("inference-header-content-length", length.as_str())];
    let name =
        |headers: &[(&'static str, &str)], body: &str| leg(&Naming::new(identity()), headers, body).node;
    assert_eq!(name(&binary, &format!("{json}\u{0}\u{1}")), "pod-2");
    assert_eq!(name(&binary, "{}"), "10.0.0.1:8000", "shorter than it says");
    assert_eq!(name(&[("content-encoding", "gzip")], json), "10.0.0.1:8000");
}

#[test]
fn headers_of_the_answer_label_the_node() {
    let naming = Naming::new(Identity {
        label_headers: vec![
            ("gpu".into(), HeaderName::from_static("x-gpu")),
            ("driver".into(), HeaderName::from_static("x-driver")),
        ],
        ..Identity::default()
    });
    let labelled = leg(&naming, &[("x-gpu", "A10"), ("x-driver", "")], "");
    let wanted = [("gpu", "A10"), ("zone", "a")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(labelled.labels, wanted);
    assert_eq!(label(&leg(&naming, &[("x-gpu", REDACTED)], ""), "gpu"), Some("T4"), "no secret");
}

#[test]
fn names_are_bounded_in_length_and_number() {
    let naming = Naming::new(identity());
    let name = |value: &str| leg(&naming, &[("x-served-by", value)], "").node;
    assert_eq!(name(&"n".repeat(256)), "n".repeat(256));
    for odd in ["", "  ", &"n".repeat(257), "a\tb"] {
        assert_eq!(name(odd), "10.0.0.1:8000", "{odd:?}");
    }
    for number in 1..NAMES {
        assert_eq!(name(&format!("pod-{number}")), format!("pod-{number}"));
    }
    assert_eq!(name("one more"), "10.0.0.1:8000");
    assert_eq!(name("pod-7"), "pod-7", "those that are known stay");
}
