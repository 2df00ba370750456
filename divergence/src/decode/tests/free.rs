//! Answers that declare no types: V1 and free JSON.

use super::*;

const PREDICT: &str = "/v1/models/m:predict";

fn outputs(path: &str, body: &str) -> Vec<Output> {
    let decoded = plain(path, body).unwrap();
    assert_eq!(decoded.protocol, Protocol::V1Predictions);
    decoded.outputs
}

fn rules(json_paths: &str) -> Rules {
    serde_json::from_str(&format!(r#"{{"json_paths":{json_paths}}}"#)).unwrap()
}

fn by_path(json_paths: &str, path: &str, body: &str) -> Result<Vec<Output>, Undecodable> {
    let decoded = read(path, &[], body.as_bytes(), &rules(json_paths))?;
    assert_eq!(decoded.protocol, Protocol::JsonPath);
    Ok(decoded.outputs)
}

#[test]
fn predictions_are_a_list_of_numbers_or_of_lists() {
    let list = outputs(PREDICT, r#"{"predictions":[0.25,1]}"#).remove(0);
    assert_eq!((list.name.as_str(), list.dtype, list.shape), ("predictions", DType::Fp64, vec![2]));
    assert_eq!(list.values, [0.25, 1.0]);
    let lists = outputs("/invocations", r#"{"predictions":[[0.5,0.25,0.25],[1,0,0]]}"#).remove(0);
    assert_eq!((lists.dtype, lists.shape, lists.values.len()), (DType::Fp64, vec![2, 3], 6));
}

#[test]
fn predictions_of_objects_are_an_output_per_key() {
    let body = r#"{"predictions":[{"p":[0.1,0.9],"class":"b","n":{"id":1}},{"p":[0.8,0.2],"class":"a","n":{"id":2}}]}"#;
    let found = outputs(PREDICT, body);
    let names: Vec<_> = found.iter().map(|o| (o.name.as_str(), o.dtype, o.shape.clone())).collect();
    let expected =
        [("class", DType::Bytes, vec![2]), ("n.id", DType::Int64, vec![2]), ("p", DType::Fp64, vec![2, 2])];
    assert_eq!(names, expected);
    assert_eq!(found[0].text, ["b", "a"]);
}

#[test]
fn columns_are_an_output_each() {
    let found = outputs(PREDICT, r#"{"outputs":{"score":[[0.5],[0.25]],"raw":[{"b64":"AAE="}]}}"#);
    assert_eq!((found[1].name.as_str(), &found[1].shape[..]), ("score", &[2, 1][..]));
    assert_eq!((found[0].name.as_str(), found[0].dtype, found[0].text.len()), ("raw", DType::Bytes, 1));
    let single = outputs(PREDICT, r#"{"outputs":[[0.5],[0.25]]}"#).remove(0);
    assert_eq!((single.name.as_str(), single.values), ("outputs", vec![0.5, 0.25]));
}

#[test]
fn a_description_of_a_model_is_no_answer() {
    let described = r#"{"name":"m","versions":[],"inputs":[],"outputs":[]}"#;
    let decoded = plain("/v2/models/m", described).unwrap();
    assert_eq!((decoded.protocol, decoded.outputs.len()), (Protocol::Json, 0));
}

#[test]
fn types_follow_the_values() {
    let of = |items: &str| {
        let found = outputs(PREDICT, &format!(r#"{{"predictions":{items}}}"#)).remove(0);
        (found.dtype, found.shape, found.nulls)
    };
    assert_eq!(of("[1,2]"), (DType::Int64, vec![2], 0));
    assert_eq!(of("[1,2e0]"), (DType::Fp64, vec![2], 0));
    assert_eq!(of("[true]"), (DType::Bool, vec![1], 0));
    assert_eq!(of(r#"["a",null]"#), (DType::Bytes, vec![2], 1));
    assert_eq!(of("[null]"), (DType::Fp64, vec![1], 1));
    assert_eq!(of(r#"[1,"NaN"]"#), (DType::Fp64, vec![2], 0));
    assert_eq!(of("[NaN,1]"), (DType::Fp64, vec![2], 0));
    assert_eq!(of("[]"), (DType::Fp64, vec![0], 0));
    assert_eq!(of("[[1,2],[3]]"), (DType::Int64, vec![3], 0));
    assert_eq!(of("[[[1],[2]],[[3],[4]]]"), (DType::Int64, vec![2, 2, 1], 0));
    assert_eq!(of("0.5"), (DType::Fp64, vec![], 0));
    let mixed = reason(plain(PREDICT, r#"{"predictions":[0.5,"a"]}"#));
    assert!(mixed.contains("element 1 is of another kind"), "{mixed}");
}

#[test]
fn a_vertex_answer_names_its_version() {
    let body = r#"{"predictions":[0.5],"model":"projects/1/models/2","modelVersionId":"4"}"#;
    assert_eq!(plain("/v1/endpoints/1:predict", body).unwrap().model_version.as_deref(), Some("4"));
}

#[test]
fn a_path_takes_a_value_a_list_or_all_that_it_selects() {
    let body = r#"{"score":0.5,"items":[{"id":"a","p":0.25},{"id":"b","p":NaN}],"e":[[1,2],[3,4]]}"#;
    let paths = r#"[{"name":"score","path":"$.score"},{"name":"p","path":"$.items[*].p"},
        {"name":"id","path":"$.items[*].id"},{"name":"e","path":"/e"}]"#;
    let found = by_path(paths, "/predict", body).unwrap();
    let shapes: Vec<_> = found.iter().map(|o| (o.name.as_str(), o.dtype, o.shape.clone())).collect();
    let expected = [
        ("e", DType::Int64, vec![2, 2]),
        ("id", DType::Bytes, vec![2]),
        ("p", DType::Fp64, vec![2]),
        ("score", DType::Fp64, vec![]),
    ];
    assert_eq!(shapes, expected);
    assert!(found[2].values[1].is_nan());
    assert_eq!(found[2].nulls, 0);
}

#[test]
fn numbers_json_has_no_form_for_pass_through_paths() {
    let body = "[Infinity,-Infinity,18446744073709551615,36893488147419103232]";
    let found = by_path(
        r#"[{"name":"x","path":"$[0:2]"},{"name":"y","path":"/2"},{"name":"z","path":"/3"}]"#,
        "/",
        body,
    )
    .unwrap();
    assert_eq!(found[0].values, [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(found[1].exact, Some(vec![18_446_744_073_709_551_615]));
    assert_eq!(found[2].values, [36_893_488_147_419_103_232.0]);
}

#[test]
fn paths_win_for_the_requests_they_name_and_only_there() {
    let paths = r#"[{"name":"first","path":"/predictions/0","request_path":"/rank"}]"#;
    let body = r#"{"predictions":[0.5,0.25]}"#;
    assert_eq!(by_path(paths, "/rank/v1?x=1", body).unwrap()[0].values, [0.5]);
    let elsewhere = read("/other", &[], body.as_bytes(), &rules(paths)).unwrap();
    assert_eq!(elsewhere.protocol, Protocol::V1Predictions);
}

#[test]
fn a_path_that_selects_nothing_is_named_unless_another_selects() {
    let paths = r#"[{"name":"a","path":"$.a"},{"name":"b","path":"$.b"}]"#;
    assert_eq!(by_path(paths, "/", r#"{"b":1}"#).unwrap().len(), 1);
    assert_eq!(reason(by_path(paths, "/", r#"{"c":1}"#)), "path `$.a` of output `a` selects nothing");
    assert_eq!(by_path(paths, "/", r#"{"error":"no"}"#), Err(Undecodable::ErrorBody));
    assert!(reason(by_path(paths, "/", r#"{"a":{"x":1}}"#)).contains("another kind"));
}

#[test]
fn the_query_is_no_part_of_the_path() {
    let found = plain("/v1/models/m:predict?verbose=1", r#"{"outputs":[0.5]}"#).unwrap();
    assert_eq!((found.model.as_deref(), found.outputs[0].values[0]), (Some("m"), 0.5));
    assert_eq!(plain("/v2/models/m/infer?x=/y", "{}"), Err(Undecodable::NoOutputs));
}

#[test]
fn of_a_repeated_key_the_last_counts() {
    assert_eq!(outputs(PREDICT, r#"{"predictions":[1],"predictions":[2]}"#)[0].values, [2.0]);
}

#[test]
fn a_dot_of_a_key_is_no_dot_between_keys() {
    let name = |body: &str| outputs("/v1/models/m:predict", body).remove(0).name;
    for (row, wanted) in [
        (r#"{"a":{"b":1.5}}"#, "a.b"),
        (r#"{"a.b":1.5}"#, r"a\.b"),
        (r#"{"a":{"b.c":1.5}}"#, r"a.b\.c"),
        (r#"{"a\\":{"b":1.5}}"#, r"a\\.b"),
        (r#"{"a\\.b":1.5}"#, r"a\\\.b"),
    ] {
        assert_eq!(name(&format!(r#"{{"predictions":[{row}]}}"#)), wanted, "{row}");
        assert_eq!(name(&format!(r#"{{"predictions":{row}}}"#)), wanted, "{row}");
    }
}

#[test]
fn paths_are_looked_up_in_every_event_of_a_stream() {
    let rules = r#"[{"name": "text", "path": "$.delta.text"}, {"name": "score", "path": "/score"}]"#;
    let stream = "data: {\"delta\":{\"text\":\"a\"}}\n\ndata: {\"delta\":{\"text\":\"b\"},\"score\":0.5}\n\ndata: [DONE]\n\n";
    let found = by_path(rules, "/stream", stream).unwrap();
    let [score, text] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&text.text[..], &text.shape[..]), (&["a".to_owned(), "b".to_owned()][..], &[2][..]));
    assert_eq!((&score.values[..], score.shape.len()), (&[0.5][..], 0));
    let error = by_path(rules, "/stream", "data: {\"error\":\"no model\"}\n\n");
    assert_eq!(error, Err(Undecodable::ErrorBody));
    assert!(matches!(by_path(rules, "/stream", "data: {cut"), Err(Undecodable::NotJson(_))));
}
