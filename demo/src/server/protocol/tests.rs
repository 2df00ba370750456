use super::*;

fn request(input: &str) -> Result<Inference, RequestError> {
    Inference::from_json(format!(r#"{{"id":"a","inputs":[{input}]}}"#).as_bytes())
}

#[test]
fn flat_and_nested_data_are_the_same_rows() {
    let flat = request(
        r#"{"name":"INPUT","datatype":"FP32","shape":[2,8],"data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16.5]}"#,
    );
    let nested = request(
        r#"{"name":"INPUT","datatype":"FP32","shape":[2,8],"data":[[1,2,3,4,5,6,7,8],[9,10,11,12,13,14,15,16.5]]}"#,
    );
    let flat = flat.unwrap();
    assert_eq!(flat, nested.unwrap());
    assert_eq!(flat.id.as_deref(), Some("a"));
    assert_eq!(
        flat.rows,
        [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.5]]
    );
}

#[test]
fn requests_that_cannot_be_answered_say_why() {
    for (input, expected) in [
        (r#"{"name":"X","datatype":"FP32","shape":[1,8],"data":[]}"#, r#"named INPUT, got ["X"]"#),
        (
            r#"{"name":"INPUT","datatype":"FP64","shape":[1,8],"data":[]}"#,
            r#"datatype "FP64", expected FP32"#,
        ),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[8],"data":[]}"#, "shape [8], expected [n,8]"),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[1,7],"data":[]}"#, "shape [1, 7]"),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[0,8],"data":[]}"#, "n from 1 to 64"),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[-1,8],"data":[]}"#, "shape [-1, 8]"),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[65,8],"data":[]}"#, "shape [65, 8]"),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[1,8]}"#, "has no data"),
        (
            r#"{"name":"INPUT","datatype":"FP32","shape":[1,8],"data":[1,2]}"#,
            "has 2 numbers, its shape says 8",
        ),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[1,8],"data":[1,2,3,4,5,6,7,8,9]}"#, "has 9 numbers"),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[1,8],"data":[1,2,3,4,5,6,7,1e39]}"#, "not a finite"),
        (r#"{"name":"INPUT","datatype":"FP32","shape":[1,8],"data":["1"]}"#, "not a V2 inference request"),
        ("", r"named INPUT, got []"),
        ("{", "not a V2 inference request"),
    ] {
        let error = request(input).unwrap_err().to_string();
        assert!(error.contains(expected), "{input}: {error}");
    }
}

#[test]
fn only_the_outputs_asked_for_are_answered() {
    let asked = |outputs: &str| {
        let body = format!(
            r#"{{"inputs":[{{"name":"INPUT","datatype":"FP32","shape":[1,8],"data":[0,0,0,0,0,0,0,0]}}]{outputs}}}"#
        );
        let request = Inference::from_json(body.as_bytes()).map_err(|error| error.to_string())?;
        let body = answer(Ranker::shipped(), &request, &[0.75]).unwrap();
        Ok::<_, String>(String::from_utf8(body.to_vec()).unwrap())
    };
    let score = r#"{"name":"SCORE","datatype":"FP32","shape":[1,1],"data":[0.75]}"#;
    let label = r#"{"name":"LABEL","datatype":"INT64","shape":[1,1],"data":[1]}"#;
    let with =
        |outputs: &str| format!(r#"{{"model_name":"ranker","model_version":"1","outputs":[{outputs}]}}"#);
    assert_eq!(asked(""), Ok(with(&format!("{score},{label}"))));
    assert_eq!(asked(r#","outputs":[{"name":"LABEL"}]"#), Ok(with(label)));
    assert!(asked(r#","outputs":[{"name":"LOGIT"}]"#).unwrap_err().contains(r#"no output "LOGIT""#));
}

#[test]
fn scores_are_printed_as_the_double_they_are_equal_to() {
    let request = Inference { id: Some("r\"1".into()), rows: vec![], score: true, label: false };
    let body = answer(Ranker::shipped(), &request, &[0.1, 10.0]).unwrap();
    let text = std::str::from_utf8(&body).unwrap();
    assert!(text.contains(r#""data":[0.10000000149011612,10.0]"#), "{text}");
    assert!(text.contains(r#""id":"r\"1""#) && text.contains(r#""shape":[2,1]"#), "{text}");
}
