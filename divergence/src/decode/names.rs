//! Names of models, in request paths and in answers.

/// The model in `…/v2/models/M…`, `…/v1/models/M…` (`M` ends at `/`, or at the `:` before a verb).
pub(super) fn model(path: &str) -> Option<String> {
    let (_, rest) = path.rsplit_once("/v2/models/").or_else(|| path.rsplit_once("/v1/models/"))?;
    let name = rest.split(['/', ':']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether the path asks for a V2 inference: `…/v2/models/M[/versions/V]/infer`.
pub(super) fn is_v2_infer(path: &str) -> bool {
    path.contains("/v2/models/") && path.trim_end_matches('/').ends_with("/infer")
}

/// The name or version of a model that an answer gives: its first 256 characters.
pub(super) fn given(text: &str) -> String {
    text.chars().take(256).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_behind_any_prefix() {
        assert_eq!(model("/v2/models/score/infer").as_deref(), Some("score"));
        assert_eq!(model("/team/v2/models/score/versions/2/infer").as_deref(), Some("score"));
        assert_eq!(model("/v1/models/iris:predict").as_deref(), Some("iris"));
        assert_eq!(model("/v1/models/iris/versions/1:predict").as_deref(), Some("iris"));
        assert_eq!(model("/v2/models/"), None);
        assert_eq!(model("/invocations"), None);
    }

    #[test]
    fn only_infer_is_an_inference() {
        assert!(is_v2_infer("/v2/models/score/infer"));
        assert!(is_v2_infer("/x/v2/models/score/versions/1/infer/"));
        assert!(!is_v2_infer("/v2/models/score"));
        assert!(!is_v2_infer("/v2/models/score/generate"));
    }
}
