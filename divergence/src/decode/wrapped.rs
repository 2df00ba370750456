//! Answers that another answer carries: what is within is read as if it had come by itself.

mod amazon;
mod torchserve;

use super::fault::Undecodable;
use super::parts::header_values;
use super::{Answer, grpc};

/// The answer within.
#[derive(Debug, PartialEq)]
pub(super) struct Inner {
    /// Its headers.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Inner {
    fn of(media_type: Option<&str>, body: Vec<u8>) -> Self {
        let headers = media_type.map(|media_type| ("content-type".to_owned(), media_type.to_owned()));
        Self { headers: headers.into_iter().collect(), body }
    }
}

/// What an answer carries; `None` where it is one itself.
///
/// # Errors
/// When the wrapping is broken, or says that the request failed.
pub(super) fn inner(answer: &Answer<'_>, body: &[u8]) -> Result<Option<Inner>, Undecodable> {
    let media_type = header_values(answer.headers, "content-type").next().unwrap_or_default();
    if media_type.trim_start().starts_with(amazon::MEDIA_TYPE) {
        return amazon::payload(answer.headers, body).map(Some);
    }
    if grpc::is_grpc(answer.headers) && torchserve::is(answer.path) {
        return torchserve::prediction(answer.headers, body).map(Some);
    }
    Ok(None)
}
