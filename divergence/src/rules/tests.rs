use super::*;
use crate::Json;

fn parse(json: &str) -> Result<Rules, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn defaults_are_valid_and_an_empty_table_gives_them() {
    assert_eq!(Rules::default().validate(), Ok(()));
    assert_eq!(parse("{}").unwrap(), Rules::default());
}

#[test]
fn an_unknown_key_a_bad_path_and_a_bad_number_are_named() {
    for (json, says) in [
        (r#"{"tolerence":{}}"#, "tolerence"),
        (r#"{"tolerances":{"FP8":{"rtol":0,"atol":0}}}"#, "FP8"),
        (r#"{"json_paths":[{"name":"a","path":"$.x["}]}"#, "`$.x[`"),
        (r#"{"json_paths":[{"name":"a","path":"score"}]}"#, "begin it with /"),
        (r#"{"json_paths":[{"name":"a","path":"/a~2"}]}"#, "~2"),
        (r#"{"tolerances":{"FP32":{"rtol":-1,"atol":0}}}"#, "tolerances.FP32.rtol"),
        (r#"{"outputs":{"s":{"atol":-0.5}}}"#, "outputs.s.atol"),
        (r#"{"gross_cosine":2}"#, "gross_cosine"),
        (r#"{"gross_tolerance_units":0.5}"#, "1 or more"),
        (r#"{"include":["a"],"ignore":["a"]}"#, "`a` is both"),
        (r#"{"top_k":0}"#, "top_k"),
        (r#"{"embedding_cosine":1.0}"#, "embedding_cosine"),
        (r#"{"outputs":{"s":{"range":[1.0,0.0]}}}"#, "outputs.s.range"),
        (r#"{"outputs":{"s":{"step":0.0}}}"#, "outputs.s.step"),
        (r#"{"outputs":{"s":{"kind":"picture"}}}"#, "picture"),
        (r#"{"detections":[{"boxes":"b","scores":"s","iou":1.5}]}"#, "detections.b.iou"),
        (r#"{"detections":[{"boxes":"b","scores":"s"}],"rankings":[{"ids":"s"}]}"#, "`s` is in two"),
        (r#"{"json":{"tolerances":[{"path":"/x","rtol":-1.0,"atol":0.0}]}}"#, "json.tolerances./x.rtol"),
        (r#"{"json":{"ignore":["id"]}}"#, "begin it with /"),
        (r#"{"json_paths":[{"name":"a","path":"/a"},{"name":"a","path":"/b"}]}"#, "two paths"),
    ] {
        let error = parse(json).unwrap_err();
        assert!(error.contains(says), "{json}: {error}");
    }
}

#[test]
fn tolerances_go_from_output_to_type_to_default() {
    let rules = parse(
        r#"{"tolerances":{"FP32":{"rtol":0.5,"atol":0.25}},"outputs":{"score":{"atol":2.0,"threshold":0.5}}}"#,
    )
    .unwrap();
    assert_eq!(rules.tolerance("other", DType::Fp64, true), Tolerance { rtol: 1e-6, atol: 1e-8 });
    assert_eq!(rules.tolerance("other", DType::Fp32, true), Tolerance { rtol: 0.5, atol: 0.25 });
    assert_eq!(rules.tolerance("score", DType::Fp32, true), Tolerance { rtol: 0.5, atol: 2.0 });
    assert_eq!(rules.tolerance("other", DType::Fp64, false), Tolerance { rtol: 0.5, atol: 0.25 });
    assert_eq!(rules.tolerance("other", DType::Int64, true), Tolerance::EXACT);
    assert_eq!((rules.output("score").threshold, rules.output("other").threshold), (Some(0.5), None));
}

#[test]
fn include_and_ignore_choose_by_exact_name() {
    let all = Rules::default();
    assert!(all.compares("a"));
    let some = Rules { include: vec!["a".into()], ..Rules::default() };
    assert!(some.compares("a") && !some.compares("ab"));
    let rest = Rules { ignore: vec!["a".into()], ..Rules::default() };
    assert!(!rest.compares("a") && rest.compares("ab"));
}

#[test]
fn rules_survive_a_round_trip_and_the_hash_follows_every_field() {
    let base = Rules::default();
    let texts = [
        "{}",
        r#"{"include":["a"]}"#,
        r#"{"ignore":["a"]}"#,
        r#"{"tolerances":{"FP32":{"rtol":0.5,"atol":0.25}}}"#,
        r#"{"outputs":{"a":{"threshold":0.5}}}"#,
        r#"{"json_paths":[{"name":"a","path":"$.a[*]"}]}"#,
        r#"{"json_paths":[{"name":"a","path":"/a","request_path":"/p"}]}"#,
        r#"{"gross_log10_ratio":1.0}"#,
        r#"{"gross_tolerance_units":50.0}"#,
        r#"{"gross_cosine":0.5}"#,
        r#"{"floor":0.1}"#,
        r#"{"top_k":5}"#,
        r#"{"embedding_cosine":0.9}"#,
        r#"{"embedding_norm":0.1}"#,
        r#"{"near_tie_nats":0.5}"#,
        r#"{"outputs":{"a":{"kind":"embedding"}}}"#,
        r#"{"outputs":{"a":{"range":[0.0,1.0],"probabilities":true,"step":0.5}}}"#,
        r#"{"rankings":[{"ids":"i"}]}"#,
        r#"{"detections":[{"boxes":"b","scores":"s","format":"center"}]}"#,
        r#"{"json":{"ignore":["$..took"]}}"#,
        r#"{"json":{"unordered":["/tags"],"keyed":[{"path":"/items","key":"id"}],"tolerances":[{"path":"/x","rtol":0.0,"atol":0.1}]}}"#,
    ];
    let mut hashes = BTreeSet::new();
    for text in texts {
        let rules = parse(text).unwrap();
        assert_eq!(parse(&serde_json::to_string(&rules).unwrap()).unwrap(), rules);
        assert!(hashes.insert(rules.hash()), "{text}");
    }
    assert_eq!(parse("{}").unwrap().hash(), base.hash());
    assert_eq!(base.hash().len(), 16);
}

#[test]
fn a_pointer_selects_one_value_and_a_json_path_many() {
    let text = r#"{"a":[{"s":1},{"s":2,"x/y~":3}],"01":4}"#;
    let (tree, plain) = (Json::parse(text.as_bytes(), 99).unwrap(), serde_json::from_str(text).unwrap());
    let select = |path: &str| -> Vec<f64> {
        let found = Path::parse(path).unwrap().select(&tree, &plain);
        found.iter().map(|value| value.as_number().unwrap().as_f64()).collect()
    };
    assert_eq!(select("/a/1/s"), [2.0]);
    assert_eq!((select("/a/1/x~1y~0"), select("/01")), (vec![3.0], vec![4.0]));
    assert_eq!(select("$.a[*].s"), [1.0, 2.0]);
    assert!(select("/b").is_empty() && select("/a/01/s").is_empty() && select("/a/2/s").is_empty());
}

#[test]
fn the_configuration_file_reads_as_documented() {
    let text = r#"
        ignore = ["debug"]
        gross_tolerance_units = 50

        [tolerances]
        FP16 = { rtol = 0.02, atol = 0.001 }

        [outputs.score]
        atol = 0.01
        threshold = 0.5

        [[json_paths]]
        name = "score"
        path = "$.items[*].score"
        request_path = "/rank"
    "#;
    let rules: Rules = toml::from_str(text).unwrap();
    assert_eq!(rules.tolerance("x", DType::Fp16, true), Tolerance { rtol: 0.02, atol: 0.001 });
    assert_eq!((rules.gross_tolerance_units, rules.output("score").threshold), (50.0, Some(0.5)));
    assert_eq!(rules.json_paths[0].path, Path::parse("$.items[*].score").unwrap());
    assert_eq!(toml::from_str::<Rules>(&toml::to_string(&rules).unwrap()).unwrap(), rules);
    let wrong = toml::from_str::<Rules>(&text.replace("[*]", "[*")).unwrap_err().to_string();
    assert!(wrong.contains("path `$.items[*.score`"), "{wrong}");
}
