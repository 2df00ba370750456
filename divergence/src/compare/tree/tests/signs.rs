//! Trees whose numbers say nothing, and trees in which there is nothing to compare.

use super::*;
use crate::{Statistics, signature, statistics};

#[test]
fn what_is_not_finite_is_a_sign_of_the_side_that_has_it() {
    let class = |p: &str, s: &str| verdict(p, s, &Rules::default());
    let good = r#"{"a":0.5,"b":[0.25,0.75]}"#;
    for (bad, sign) in [
        (r#"{"a":NaN,"b":[0.25,0.75]}"#, "nan"),
        (r#"{"a":null,"b":[0.25,0.75]}"#, "null"),
        (r#"{"a":0.5,"b":[Infinity,0.75]}"#, "inf"),
        (r#"{"a":0.0,"b":[0.0,0.0]}"#, "all_zero"),
    ] {
        assert_eq!(class(good, bad), (Class::Degenerate, format!("shadow_only:{sign}"), true), "{bad}");
        assert_eq!(class(bad, good), (Class::Degenerate, format!("primary_only:{sign}"), false), "{bad}");
        let both = class(bad, bad);
        assert_eq!(both, (Class::BitEqual, String::new(), false), "{bad}");
        let (p, s) = (answer(good), answer(bad));
        let found = compare(Side::Outputs(&p), Side::Outputs(&s), &Rules::default());
        assert_eq!((found.primary_degenerate.as_str(), found.shadow_degenerate.as_str()), ("", sign));
        let alone = compare(Side::Absent("timed_out"), Side::Outputs(&s), &Rules::default());
        assert_eq!(alone.shadow_degenerate, sign);
    }
    let (varied, constant) = (r#"{"a":0.31,"b":[0.3,0.3]}"#, r#"{"a":0.3,"b":[0.3,0.3]}"#);
    assert_eq!(class(varied, constant), (Class::Degenerate, "shadow_only:constant".into(), true));
    assert_eq!(class(constant, varied), (Class::Degenerate, "primary_only:constant".into(), false));
    // Two numbers of a tree may well be the same.
    assert_eq!(class(r#"{"a":0.31,"b":0.3}"#, r#"{"a":0.3,"b":0.3}"#).0, Class::Numeric);
    // What the primary lacks hides nothing that it has.
    let tenfold = class(r#"{"a":NaN,"b":[0.02,0.75]}"#, r#"{"a":0.5,"b":[0.2,0.75]}"#);
    assert_eq!(tenfold, (Class::Gross, "ratio".into(), true));
    let label = class(r#"{"a":null,"b":3}"#, r#"{"a":0.5,"b":4}"#);
    assert_eq!(label, (Class::Flip, "real:label".into(), true));
    // NaN is null where JSON has no better; a null where there was text is another kind of value.
    assert_eq!(class(r#"{"a":NaN}"#, r#"{"a":null}"#).0, Class::WithinTol);
    assert_eq!(class(r#"{"a":"x"}"#, r#"{"a":null}"#).0, Class::Structure);
    assert_eq!(of(r#"{"a":7}"#, r#"{"a":null}"#, &Rules::default()), [("/a".to_owned(), Change::Null)]);
}

#[test]
fn nothing_against_nothing_is_not_agreement() {
    let nothing = (Class::Incomparable, "both: no value to compare".to_owned(), false);
    assert_eq!(verdict("{}", "{}", &Rules::default()), nothing);
    let all = rules("[json]\nignore = [\"/a\", \"/b\"]");
    assert_eq!(verdict(r#"{"a":1,"b":{"c":2}}"#, r#"{"a":2,"b":[]}"#, &all), nothing);
    // No hits are an answer.
    assert_eq!(verdict(r#"{"hits":[]}"#, r#"{"hits":[]}"#, &Rules::default()).0, Class::BitEqual);
    assert_eq!(verdict("{}", r#"{"a":1}"#, &Rules::default()).0, Class::Structure);
}

#[test]
fn objects_of_one_key_are_paired_in_their_order() {
    let keyed = rules("[[json.keyed]]\npath = \"$\"\nkey = \"id\"");
    let p = r#"[{"id":1,"s":0.5},{"id":1,"s":0.25},{"id":2,"s":0.1}]"#;
    assert_eq!(of(p, r#"[{"id":2,"s":0.1},{"id":1,"s":0.5},{"id":1,"s":0.25}]"#, &keyed), []);
    let second = of(p, r#"[{"id":1,"s":0.5},{"id":2,"s":0.1},{"id":1,"s":2.5}]"#, &keyed);
    assert_eq!(second, [("/1/s".to_owned(), Change::Number)]);
    let lost = of(p, r#"[{"id":1,"s":0.5},{"id":2,"s":0.1}]"#, &keyed);
    assert_eq!(lost, [("/1".to_owned(), Change::Removed)]);
}

#[test]
fn trees_have_signatures_that_follow_what_is_compared() {
    let of = |text: &str, rules: &Rules| signature(&answer(text), rules).map(|found| found.hash);
    let default = Rules::default();
    let hash = |text: &str| of(text, &default);
    assert_eq!(hash(r#"{"a":0.5,"b":["x",true]}"#), hash(r#"{"b":["x",true],"a":0.50}"#));
    for (one, other) in [
        (r#"{"a":0.5}"#, r#"{"a":0.25}"#),
        (r#"{"a":0.5}"#, r#"{"b":0.5}"#),
        (r#"{"a":"x"}"#, r#"{"a":"y"}"#),
        (r#"{"a":true}"#, r#"{"a":false}"#),
        (r#"[[1.5],[2.5,3.5]]"#, r#"[[1.5,2.5],[3.5]]"#),
        ("[9007199254740993]", "[9007199254740994]"),
        (r#"{"a":{"b":1.5}}"#, r#"{"a/b":1.5}"#),
    ] {
        assert_ne!(hash(one), hash(other), "{one} {other}");
    }
    let loose = rules(
        "[json]\nignore = [\"/took\"]\nunordered = [\"/tags\"]\nkeyed = [{ path = \"/rows\", key = \"id\" }]",
    );
    assert_eq!(
        of(r#"{"took":3,"tags":["a","b"],"rows":[{"id":1,"s":0.5},{"id":2,"s":0.1}]}"#, &loose),
        of(r#"{"took":4,"tags":["b","a"],"rows":[{"id":2,"s":0.1},{"id":1,"s":0.5}]}"#, &loose),
    );
    assert_eq!(hash("{}"), None);
}

#[test]
fn the_statistics_of_a_tree_are_those_of_its_numbers() {
    let found =
        statistics(&answer(r#"{"s":[0.5,0.0,-1.5],"n":7,"x":null,"y":NaN,"z":Infinity}"#), &Rules::default());
    let wanted = Statistics {
        nan: 2,
        infinite: 1,
        zero: 1,
        min: Some(-1.5),
        max: Some(0.5),
        mean: Some(-1.0 / 3.0),
        l2: Some(2.5_f64.sqrt()),
        argmax: None,
    };
    assert_eq!(found, wanted);
}
