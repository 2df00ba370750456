use std::io;
use std::sync::Mutex;

use exchange::Outcome;

use super::*;
use crate::resolve::Resolving;

fn nodes(urls: &[&str]) -> Nodes {
    Nodes::new(Target::new("t", urls.iter().map(|url| url.parse().unwrap()).collect()), 1)
}

fn named(node: Option<Arc<NodeState>>) -> String {
    node.map(|node| node.node.name.clone()).unwrap_or_default()
}

#[derive(Debug, Default)]
struct Told(Mutex<Vec<SocketAddr>>);

impl Resolve for Told {
    fn resolve(&self, _: &str, _: u16) -> Resolving {
        let told = self.0.lock().unwrap().clone();
        Box::pin(async move { if told.is_empty() { Err(io::Error::other("servfail")) } else { Ok(told) } })
    }
}

impl Told {
    fn tell(&self, addresses: &[&str]) {
        *self.0.lock().unwrap() = addresses.iter().map(|address| address.parse().unwrap()).collect();
    }
}

#[test]
fn round_robin_takes_turns() {
    let nodes = nodes(&["http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1"]);
    let none = HeaderMap::new();
    let turns: Vec<String> = (0..4).map(|_| named(nodes.choose(&none))).collect();
    assert_eq!(turns, ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1", "10.0.0.1:1"]);
}

#[test]
fn least_of_two_never_takes_the_busiest() {
    let mut nodes = nodes(&["http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1"]);
    nodes.target.balance = Balance::LeastOfTwo;
    let busy = nodes.current()[0].clone();
    let _under_way = busy.load.enter(Instant::now());
    let none = HeaderMap::new();
    let mut seen = BTreeMap::new();
    for _ in 0..300 {
        *seen.entry(named(nodes.choose(&none))).or_insert(0) += 1;
    }
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["10.0.0.2:1", "10.0.0.3:1"]);
}

#[test]
fn one_value_goes_to_one_node_and_few_move_when_a_node_leaves() {
    let by = |urls: &[&str]| {
        let mut nodes = nodes(urls);
        nodes.target.balance = Balance::Hash(http::HeaderName::from_static("x-user"));
        let chosen = |user: u32| {
            let mut headers = HeaderMap::new();
            headers.insert("x-user", user.to_string().parse().unwrap());
            let first = named(nodes.choose(&headers));
            assert_eq!(first, named(nodes.choose(&headers)));
            first
        };
        (0..200).map(chosen).collect::<Vec<_>>()
    };
    let three = by(&["http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1"]);
    let two = by(&["http://10.0.0.1:1", "http://10.0.0.2:1"]);
    let moved = three.iter().zip(&two).filter(|(before, after)| before != after);
    assert!(moved.clone().all(|(before, _)| before == "10.0.0.3:1"));
    assert!((30..110).contains(&moved.count()));
}

#[test]
fn a_node_that_keeps_failing_is_passed_over_for_a_while() {
    let mut nodes = nodes(&["http://10.0.0.1:1", "http://10.0.0.2:1"]);
    nodes.target.eject = Some(Ejection { failures: 2, time: Duration::from_secs(3600) });
    let bad = nodes.current()[0].clone();
    let failed = Leg::unsent(Outcome::Refused, "no");
    let now = Instant::now();
    bad.note(&nodes.target, &failed, now);
    bad.note(&nodes.target, &Leg::unsent(Outcome::Answered, ""), now);
    bad.note(&nodes.target, &failed, now);
    assert!(!bad.ejected(now), "an answer in between begins the count anew");
    bad.note(&nodes.target, &failed, now);
    assert!(bad.ejected(now) && !bad.ejected(now + Duration::from_secs(3601)));
    let none = HeaderMap::new();
    assert!((0..4).all(|_| named(nodes.choose(&none)) == "10.0.0.2:1"));
    let other = nodes.current()[1].clone();
    other.note(&nodes.target, &failed, now);
    other.note(&nodes.target, &failed, now);
    assert!(nodes.choose(&none).is_some(), "where all are passed over, none is");
}

#[tokio::test]
async fn a_name_becomes_a_node_per_address_and_follows_its_records() {
    let nodes = nodes(&["dns+http://models:8000"]);
    let (told, none) = (Told::default(), HeaderMap::new());
    nodes.resolve(&told).await;
    assert!(nodes.choose(&none).is_none());
    told.tell(&["10.0.0.2:8000", "10.0.0.1:8000"]);
    nodes.resolve(&told).await;
    let names = |nodes: &Nodes| nodes.current().iter().map(|n| n.node.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&nodes), ["10.0.0.1:8000", "10.0.0.2:8000"]);
    let kept = nodes.current()[1].clone();
    told.tell(&["10.0.0.2:8000", "10.0.0.3:8000"]);
    nodes.resolve(&told).await;
    assert_eq!(names(&nodes), ["10.0.0.2:8000", "10.0.0.3:8000"]);
    assert!(Arc::ptr_eq(&kept, &nodes.current()[0]), "its load and connections go on");
    told.tell(&[]);
    nodes.resolve(&told).await;
    assert_eq!(names(&nodes), ["10.0.0.2:8000", "10.0.0.3:8000"], "an error changes nothing");
}

#[tokio::test]
async fn a_fixed_name_keeps_its_identity_and_learns_its_addresses() {
    let nodes = nodes(&["http://models:8000"]);
    let told = Told::default();
    told.tell(&["10.0.0.1:8000"]);
    nodes.resolve(&told).await;
    let node = nodes.current()[0].clone();
    assert!(node.has("10.0.0.1:8000".parse().unwrap()) && !node.has("10.0.0.9:8000".parse().unwrap()));
    told.tell(&["10.0.0.9:8000"]);
    nodes.resolve(&told).await;
    assert!(Arc::ptr_eq(&node, &nodes.current()[0]) && !node.has("10.0.0.1:8000".parse().unwrap()));
    assert_eq!(node.node.name, "models:8000");
}
