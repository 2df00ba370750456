mod signs;

use proptest::prelude::*;

use super::*;
use crate::{Decoded, Protocol, Side, compare, signature};

fn parsed(text: &str) -> Json<'static> {
    Json::parse(text.as_bytes(), 10_000).unwrap().into_owned()
}

fn rules(text: &str) -> Rules {
    toml::from_str(text).unwrap()
}

fn of(primary: &str, candidate: &str, rules: &Rules) -> Vec<(String, Change)> {
    let (p, c) = (parsed(primary), parsed(candidate));
    changes(&p, &c, rules).list.into_iter().map(|changed| (changed.path, changed.change)).collect()
}

fn answer(text: &str) -> Decoded {
    Decoded {
        protocol: Protocol::Json,
        model: None,
        model_version: None,
        outputs: vec![],
        tree: Some(parsed(text)),
    }
}

fn verdict(primary: &str, candidate: &str, rules: &Rules) -> (Class, String, bool) {
    let (p, c) = (answer(primary), answer(candidate));
    let found = compare(Side::Outputs(&p), Side::Outputs(&c), rules);
    (found.class, found.detail, found.serious)
}

#[test]
fn what_was_added_removed_and_changed_is_listed_by_path() {
    let p = r#"{"a": 1, "b": {"c": "x", "d~/": [1.5, 2, true]}, "e": null, "f": 7}"#;
    let c = r#"{"b": {"d~/": [1.6, 2.0, false, 4], "c": "y"}, "e": null, "f": "7", "g": {}}"#;
    let expected = [
        ("/a", Change::Removed),
        ("/b/c", Change::Value),
        ("/b/d~0~1/0", Change::Number),
        ("/b/d~0~1/2", Change::Value),
        ("/b/d~0~1/3", Change::Added),
        ("/f", Change::Type),
        ("/g", Change::Added),
    ];
    let expected: Vec<(String, Change)> =
        expected.iter().map(|(path, change)| ((*path).to_owned(), *change)).collect();
    assert_eq!(of(p, c, &Rules::default()), expected);
}

#[test]
fn the_first_change_of_the_gravest_kind_names_the_class() {
    let default = Rules::default();
    let class = |p: &str, c: &str| verdict(p, c, &default);
    assert_eq!(class(r#"{"s":0.5}"#, r#"{"s":0.5}"#), (Class::BitEqual, String::new(), false));
    assert_eq!(
        class(r#"{"s":0.5,"t":1}"#, r#"{"t":1,"s":0.50001}"#),
        (Class::WithinTol, String::new(), false)
    );
    assert_eq!(class(r#"{"s":0.5}"#, r#"{"s":0.51}"#), (Class::Numeric, String::new(), false));
    assert_eq!(class(r#"{"s":0.02}"#, r#"{"s":0.2}"#), (Class::Gross, "ratio".into(), true));
    assert_eq!(
        class(r#"{"s":[0.02,0.5]}"#, r#"{"s":[0,0.0]}"#),
        (Class::Degenerate, "shadow_only:all_zero".into(), true)
    );
    assert_eq!(class(r#"{"l":"a"}"#, r#"{"l":"b"}"#), (Class::Flip, "real:text".into(), true));
    assert_eq!(class(r#"{"l":3}"#, r#"{"l":4}"#), (Class::Flip, "real:label".into(), true));
    assert_eq!(class(r#"{"s":1}"#, r#"{}"#), (Class::Structure, "missing:/s".into(), true));
    assert_eq!(
        class(r#"{"s":0.5}"#, r#"{"s":"0.5"}"#),
        (Class::Structure, "type:/s number/text".into(), true)
    );
    assert_eq!(class("[1]", r#"{"s":1}"#), (Class::Structure, "type:/ array/object".into(), true));
    // 2^53 and its neighbour share a float.
    assert_eq!(class("[9007199254740992]", "[9007199254740993]").0, Class::Flip);
}

#[test]
fn what_a_rule_ignores_is_no_change_and_a_rule_that_selects_nothing_is_named() {
    let rules = rules("[json]\nignore = [\"$..took_ms\", \"/id\", \"/nothing\"]");
    let (p, c) = (r#"{"id":"a","s":0.5,"x":[{"took_ms":3}]}"#, r#"{"id":"b","s":0.5,"x":[{"took_ms":4.5}]}"#);
    assert_eq!(verdict(p, c, &rules).0, Class::BitEqual);
    assert_eq!(of(p, r#"{"s":0.5,"x":[{}]}"#, &rules), []);
    assert_eq!(changes(&parsed(p), &parsed(c), &rules).unused, ["/nothing"]);
}

#[test]
fn arrays_are_paired_as_the_rules_say() {
    let unordered = rules("[json]\nunordered = [\"/tags\"]");
    let (p, c) = (r#"{"tags":["b","a",0.5,{"x":1,"y":2}]}"#, r#"{"tags":[{"y":2,"x":1},0.50001,"a","b"]}"#);
    assert_eq!(of(p, c, &unordered), [("/tags/2".to_owned(), Change::Within)]);
    assert_eq!(of(p, r#"{"tags":["b",0.5,"a"]}"#, &unordered), [("/tags/3".to_owned(), Change::Removed)]);
    assert!(of(p, c, &Rules::default()).len() > 2);

    let keyed = rules("[[json.keyed]]\npath = \"$.items\"\nkey = \"id\"");
    let p = r#"{"items":[{"id":1,"s":0.5},{"id":2,"s":0.25},{"id":3,"s":0.1}]}"#;
    let c = r#"{"items":[{"id":3,"s":0.1},{"id":1,"s":0.9},{"id":4,"s":0.7}]}"#;
    let expected =
        [("/items/0/s", Change::Number), ("/items/1", Change::Removed), ("/items/2", Change::Added)];
    assert_eq!(of(p, c, &keyed), expected.map(|(path, change)| (path.to_owned(), change)));
}

#[test]
fn a_tolerance_holds_for_all_within_its_path() {
    let rules = rules(
        "[[json.tolerances]]\npath = \"/near\"\nrtol = 0.0\natol = 0.1\n[[json.tolerances]]\npath = \"$.n\"\nrtol = 0.0\natol = 2.0",
    );
    let found =
        of(r#"{"near":{"a":[1.5]},"far":1.5,"n":10}"#, r#"{"near":{"a":[1.55]},"far":1.55,"n":11}"#, &rules);
    let expected = [("/near/a/0", Change::Within), ("/far", Change::Number), ("/n", Change::Within)];
    assert_eq!(found, expected.map(|(path, change)| (path.to_owned(), change)));
}

#[test]
fn changes_are_counted_past_the_list() {
    let many = |value: u32| format!("[{}]", vec![value.to_string(); 3000].join(","));
    let found = changes(&parsed(&many(1)), &parsed(&many(2)), &Rules::default());
    assert_eq!((found.list.len(), found.total()), (MAX_CHANGES, 3000));
}

fn tree() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        (-50..50_i32).prop_map(|value| value.to_string()),
        (-1.0..1.0_f64).prop_map(|value| format!("{value:.6}")),
        "[a-c]{0,2}".prop_map(|text| format!("\"{text}\"")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::btree_map("[a-d]", inner, 0..4).prop_map(|fields| {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_tree_is_equal_to_itself_and_changes_lie_both_ways(p in tree(), c in tree()) {
        let default = Rules::default();
        let same = verdict(&p, &p, &default);
        if p == "{}" {
            prop_assert_eq!(same.0, Class::Incomparable);
        } else {
            prop_assert_eq!(same, (Class::BitEqual, String::new(), false));
        }
        prop_assert_eq!(signature(&answer(&p), &default), signature(&answer(&p), &default));
        let (there, back) = (of(&p, &c, &default), of(&c, &p, &default));
        let count = |list: &[(String, Change)], wanted: &[Change]| list.iter().filter(|(_, change)| wanted.contains(change)).count();
        prop_assert_eq!(there.len(), back.len());
        prop_assert_eq!(count(&there, &[Change::Added]), count(&back, &[Change::Removed]));
        for change in [Change::Type, Change::Null, Change::Value] {
            prop_assert_eq!(count(&there, &[change]), count(&back, &[change]));
        }
    }

    #[test]
    fn an_unordered_array_is_equal_to_itself_in_any_order(items in proptest::collection::vec(tree(), 0..6), by in 0..6_usize) {
        let rules = rules("[json]\nunordered = [\"$\"]");
        let mut turned = items.clone();
        turned.reverse();
        let middle = by % turned.len().max(1);
        turned.rotate_left(middle);
        let array = |items: &[String]| format!("[{}]", items.join(","));
        prop_assert_eq!(verdict(&array(&items), &array(&turned), &rules).0, Class::BitEqual);
        let of = |items: &[String]| signature(&answer(&array(items)), &rules);
        prop_assert_eq!(of(&items), of(&turned));
    }
}
