//! What servers say when they fail.

use super::*;

#[test]
fn failures_give_their_status_whatever_their_body() {
    for (file, path, status) in [
        ("triton/bad_shape.http", "/v2/models/score/infer", 400),
        ("triton/unknown_model.http", "/v2/models/nope/infer", 404),
        ("mlserver/bad_json.http", "/v2/models/iris-sk/infer", 422),
        ("kserve/model_error.http", "/v1/models/iris:predict", 500),
    ] {
        assert_eq!(only(file, path), Err(Undecodable::Status(status)), "{file}");
    }
}

#[test]
fn the_body_of_a_failure_is_no_answer_even_with_status_200() {
    for file in ["triton/bad_shape.http", "triton/unknown_model.http", "kserve/model_error.http"] {
        let mut response = http::responses(file).remove(0);
        response.status = 200;
        for path in ["/v2/models/score/infer", "/v1/models/iris:predict"] {
            let found = divergence::decode(&response.answer(path), &Rules::default());
            assert_eq!(found, Err(Undecodable::ErrorBody), "{file} {path}");
        }
    }
}

#[test]
fn an_answer_cut_anywhere_is_undecodable() {
    for file in ["triton/json.http", "triton/binary.http", "triton/gzip_binary.http", "kserve/v1.http"] {
        let whole = http::responses(file).remove(0);
        for length in 0..whole.body.len() {
            let mut answer = whole.answer("/v2/models/score/infer");
            answer.body = &whole.body[..length];
            let found = divergence::decode(&answer, &Rules::default());
            assert!(found.is_err(), "{file} cut to {length} bytes: {found:?}");
        }
    }
}
