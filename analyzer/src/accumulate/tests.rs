use divergence::Class;
use exchange::Outcome;

use super::*;
use crate::row::RowLeg;

fn leg(node: &str, i: u32) -> RowLeg<'_> {
    RowLeg {
        node,
        status: Some(200),
        grpc_status: None,
        outcome: Outcome::Answered,
        latency_us: Some(u64::from(i * 37 % 5000)),
        inflight: i % 23,
        score: Some(f64::from(i) / 7.0),
    }
}

/// Accumulates rows `from..to`, with every class, several nodes, and non-finite metrics among them.
fn part(from: u32, to: u32) -> Accumulator {
    let mut part = Accumulator::default();
    for i in from..to {
        let (id, node) = (format!("id-{:05}", i * 7919 % 10_000), format!("node-{}", i % 5));
        let class = Class::ALL[i as usize % 10];
        let units = [1.5, f64::NAN, f64::INFINITY, 0.0, f64::from(i)][i as usize % 5];
        let unsent = i % 31 == 0;
        let shadow =
            RowLeg { outcome: if unsent { Outcome::Shed } else { Outcome::Answered }, ..leg(&node, i) };
        let row = Row {
            exchange_id: &id,
            request_id: None,
            run: "run",
            proxy: "proxy",
            received_us: i64::from(i),
            target: "candidate",
            role: "candidate",
            primary: leg("primary", i * 3),
            peak: shadow.inflight + i % 4,
            shadow,
            labels: "{}",
            degenerate: "all_zero",
            class,
            detail: "shadow_only:all_zero",
            serious: i % 3 == 0,
            tolerance_units: (i % 4 > 0).then_some(units),
            log10_ratio: None,
            worst_output: None,
        };
        part.add(&row, 4);
    }
    part
}

fn text(accumulator: &Accumulator) -> String {
    serde_json::to_string(accumulator).unwrap()
}

#[test]
fn the_whole_equals_its_parts_in_any_order() {
    let whole = text(&part(0, 3000));
    for cuts in [vec![1500], vec![1, 2, 2999], vec![100, 700, 701, 2000]] {
        let edges: Vec<u32> = [vec![0], cuts, vec![3000]].concat();
        let mut parts: Vec<_> = edges.windows(2).map(|edge| part(edge[0], edge[1])).collect();
        parts.reverse();
        let mut merged = Accumulator::default();
        parts.into_iter().for_each(|part| merged.merge(part));
        assert!(text(&merged) == whole, "cut at {edges:?}");
    }
}

#[test]
fn a_part_comes_back_from_its_serial_form() {
    let form = text(&part(0, 500));
    let back: Accumulator = serde_json::from_str(&form).unwrap();
    assert!(text(&back) == form);
}

#[test]
fn nan_and_infinite_units_sort_as_worst() {
    let part = part(0, 3000);
    let target = part.targets.values().next().unwrap();
    for examples in target.worst.values() {
        assert_eq!(examples.worst.len(), 4);
        let units: Vec<f64> = examples.worst.iter().map(|e| e.tolerance_units.unwrap_or(-1.0)).collect();
        assert!(units.windows(2).all(|pair| pair[0] >= pair[1]), "{units:?}");
    }
    assert!(target.worst.values().any(|examples| examples.worst[0].tolerance_units == Some(f64::INFINITY)));
}

#[test]
fn of_two_snapshots_the_later_tells_all_and_one_read_twice_counts_once() {
    let key = |item: &str| ledger::ItemKey { item: item.into(), target: "c".into(), inflight_from: 0 };
    let snapshot = |number, item: &str, count| Snapshot {
        number,
        closing: number == 2,
        items: BTreeMap::from([(key(item), count)]),
    };
    let mut merged = snapshot(1, "mirrored", 5);
    merged.merge(snapshot(2, "mirrored", 9));
    merged.merge(snapshot(2, "delivered", 8));
    merged.merge(snapshot(2, "mirrored", 9));
    merged.merge(snapshot(0, "mirrored", 1));
    let counts: Vec<u64> = merged.items.values().copied().collect();
    assert_eq!((merged.number, merged.closing, counts), (2, true, vec![8, 9]));
}
