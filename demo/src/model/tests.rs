use super::*;

#[derive(Deserialize)]
struct Reference {
    inputs: Vec<Row>,
    probabilities: Vec<f64>,
}

#[test]
fn probabilities_agree_with_scikit_learn() {
    let reference: Reference = serde_json::from_str(include_str!("../../model/reference.json")).unwrap();
    assert!(reference.inputs.len() > 100);
    assert_eq!(reference.inputs.len(), reference.probabilities.len());
    let spread = reference.probabilities.iter().fold(0.0_f64, |most, p| most.max(*p))
        - reference.probabilities.iter().fold(1.0_f64, |least, p| least.min(*p));
    assert!(spread > 0.5, "the reference covers low and high probabilities");
    for (row, expected) in reference.inputs.iter().zip(&reference.probabilities) {
        let found = Ranker::shipped().probability(row);
        assert!((found - expected).abs() < 1e-12, "{row:?}: {found}, scikit-learn says {expected}");
    }
}

#[test]
fn quantiles_are_met_and_joined_by_lines() {
    let feature = Feature { name: "f".into(), integer: false, quantiles: vec![1.0, 2.0, 4.0] };
    let at = |u| feature.value_at(u);
    assert_eq!([at(0.0), at(0.25), at(0.5), at(0.75), at(1.0)], [1.0, 1.5, 2.0, 3.0, 4.0]);
    assert_eq!([at(-1.0), at(2.0)], [1.0, 4.0]);
    let whole = Feature { integer: true, ..feature };
    assert_eq!([whole.value_at(0.2), whole.value_at(0.7)], [1.0, 3.0]);
}

/// A model of one stump over feature 0, as JSON, with `tree` in place of the stump.
fn with_tree(tree: &str) -> Result<Ranker, ModelError> {
    let features: Vec<String> =
        (0..FEATURES).map(|i| format!(r#"{{"name":"f{i}","integer":false,"quantiles":[0,1]}}"#)).collect();
    Ranker::from_json(&format!(
        r#"{{"name":"m","version":"1","features":[{}],"threshold":0.5,"bias":0,"learning_rate":1,"trees":[{tree}]}}"#,
        features.join(",")
    ))
}

#[test]
fn a_row_on_the_threshold_goes_left() {
    let stump =
        r#"{"feature":[0,-1,-1],"threshold":[0.5,0,0],"left":[1,0,0],"right":[2,0,0],"value":[0,-2,2]}"#;
    let ranker = with_tree(stump).unwrap();
    let at = |x: f32| ranker.probability(&[x, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert!((at(0.5) - 1.0 / (1.0 + 2.0_f64.exp())).abs() < 1e-15);
    assert!((at(0.5001) - 1.0 / (1.0 + (-2.0_f64).exp())).abs() < 1e-15);
}

#[test]
fn trees_that_could_not_be_walked_are_refused() {
    for (fault, tree) in [
        ("no nodes", r#"{"feature":[],"threshold":[],"left":[],"right":[],"value":[]}"#),
        ("lists of two lengths", r#"{"feature":[-1],"threshold":[0],"left":[0],"right":[0],"value":[]}"#),
        ("a loop", r#"{"feature":[0,-1],"threshold":[0,0],"left":[0,0],"right":[1,0],"value":[0,0]}"#),
        (
            "a child outside",
            r#"{"feature":[0,-1],"threshold":[0,0],"left":[1,0],"right":[2,0],"value":[0,0]}"#,
        ),
        (
            "no such feature",
            r#"{"feature":[8,-1],"threshold":[0,0],"left":[1,0],"right":[1,0],"value":[0,0]}"#,
        ),
    ] {
        assert!(matches!(with_tree(tree), Err(ModelError::Tree { tree: 0, node: 0 })), "{fault}");
    }
    assert!(matches!(Ranker::from_json("{}"), Err(ModelError::Json(_))));
}

#[test]
fn labels_follow_the_threshold() {
    let ranker = Ranker::shipped();
    assert_eq!([ranker.label(0.0), ranker.label(0.499), ranker.label(0.5), ranker.label(9.0)], [0, 0, 1, 1]);
}
