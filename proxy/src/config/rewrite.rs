//! What is changed of a request for one target.

use std::collections::BTreeMap;

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TE, TRANSFER_ENCODING, UPGRADE};
pub use http::{HeaderName, HeaderValue};

/// Changes to a request on its way to a target. The default changes nothing; copies begin with [`Rewrite::of_copies`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rewrite {
    /// Headers that are set, in place of all of that name.
    pub set_headers: Vec<(HeaderName, HeaderValue)>,
    /// Headers that are left out.
    pub remove_headers: Vec<HeaderName>,
    /// In place of the client's `Authorization`; never logged or recorded.
    pub authorization: Option<HeaderValue>,
    /// What is taken from the beginning of the path, where it begins so; before anything else is changed of it.
    pub strip_prefix: String,
    /// What is put before the path, after everything else is changed of it.
    pub add_prefix: String,
    /// Other names for models, by the name that the client uses.
    pub models: BTreeMap<String, Model>,
    /// Marks the request, so that a server can tell a copy from the real one.
    pub mark: Option<(HeaderName, HeaderValue)>,
    /// Put behind the value of `Idempotency-Key`, so that a copy is not taken for a repetition of the real request.
    pub idempotency_suffix: String,
    /// What becomes of the `sampled` flag of `traceparent`.
    pub trace: Trace,
}

/// A model under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name at the target.
    pub name: String,
    /// Its version at the target; empty for the one that the server chooses, `None` for what the client asks for.
    pub version: Option<String>,
}

/// What becomes of the `sampled` flag of `traceparent` (W3C Trace Context, section 3.2.2.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trace {
    /// It stays.
    #[default]
    Keep,
    /// It is cleared: the trace of the real request is not filled with spans of its copy.
    Unsampled,
}

/// A change that cannot be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RewriteError {
    /// A header that says how the message is sent.
    #[error(
        "header `{0}` of {1} belongs to the transport and cannot be set or removed; for host write host = \"NAME\""
    )]
    Header(HeaderName, String),
    /// A prefix that does not begin as paths do.
    #[error("prefix `{0}` of {1}: it begins with / and has no ? or #")]
    Prefix(String, String),
    /// A model without a name.
    #[error("models of {0}: a name is empty")]
    Model(String),
}

impl Rewrite {
    /// The name of the header that marks a copy.
    pub const MARK: HeaderName = HeaderName::from_static("x-shadowdiff-shadow");

    /// What is changed of copies unless another word is said: they are marked, are no repetition, and leave no spans.
    #[must_use]
    pub fn of_copies() -> Self {
        Self {
            mark: Some((Self::MARK, HeaderValue::from_static("1"))),
            idempotency_suffix: "-shadow".into(),
            trace: Trace::Unsampled,
            ..Self::default()
        }
    }

    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what no single value can say; `target` is the name of the target, for the error.
    ///
    /// # Errors
    /// The first change that cannot be made.
    pub fn validate(&self, target: &str) -> Result<(), RewriteError> {
        let named = self.set_headers.iter().map(|(name, _)| name).chain(&self.remove_headers);
        let mut named = named.chain(self.mark.iter().map(|(name, _)| name));
        let local = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRANSFER_ENCODING, UPGRADE];
        if let Some(name) = named.find(|name| local.contains(name)) {
            return Err(RewriteError::Header(name.clone(), target.to_owned()));
        }
        let prefix = |prefix: &&String| {
            !prefix.is_empty() && (!prefix.starts_with('/') || prefix.contains(['?', '#', ' ']))
        };
        if let Some(prefix) = [&self.strip_prefix, &self.add_prefix].into_iter().find(prefix) {
            return Err(RewriteError::Prefix(prefix.clone(), target.to_owned()));
        }
        if self.models.iter().any(|(from, to)| from.is_empty() || to.name.is_empty()) {
            return Err(RewriteError::Model(target.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_changes_nothing_and_copies_are_marked() {
        assert!(Rewrite::default().is_empty());
        assert!(!Rewrite::of_copies().is_empty());
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        let length = Rewrite { remove_headers: vec![CONTENT_LENGTH], ..Rewrite::default() };
        assert!(matches!(length.validate("b"), Err(RewriteError::Header(name, _)) if name == CONTENT_LENGTH));
        for prefix in ["v2", "/a?b", "/a#b"] {
            let rewrite = Rewrite { add_prefix: prefix.into(), ..Rewrite::default() };
            assert_eq!(rewrite.validate("b"), Err(RewriteError::Prefix(prefix.into(), "b".into())));
        }
        let nameless = Model { name: String::new(), version: None };
        let rewrite = Rewrite { models: [("a".into(), nameless)].into(), ..Rewrite::default() };
        assert_eq!(rewrite.validate("b"), Err(RewriteError::Model("b".into())));
        assert_eq!(Rewrite::of_copies().validate("b"), Ok(()));
    }
}
