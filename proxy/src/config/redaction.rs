//! What of a request or an answer may leave the process: which headers, query parameters and JSON fields are dropped,
//! replaced, or replaced by a keyed hash before a record is made.

mod key;
mod pattern;

use std::str::FromStr;

pub use key::{HashKey, KeyError, MIN_KEY};
pub use pattern::{Pattern, PatternError, Segment};

/// The rules; the built-in ones for credentials hold besides and cannot be switched off.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Rules for headers and trailers.
    pub headers: Vec<NameRule>,
    /// Rules for parameters of the query string.
    pub query: Vec<NameRule>,
    /// Rules for fields of JSON bodies.
    pub json: Vec<JsonRule>,
    /// Key of the hashes; needed where a rule hashes.
    pub key: Option<HashKey>,
}

/// What becomes of a value. Where several rules hold for one value, the strongest is applied: they are in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Replaced by a keyed hash: equal values stay equal under one key.
    Hash,
    /// Replaced by `[redacted]`.
    Mask,
    /// Left out, with its name.
    Drop,
}

/// A text that names no [`Action`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("action `{0}`: write drop, mask or hash")]
pub struct ActionError(String);

impl FromStr for Action {
    type Err = ActionError;

    fn from_str(text: &str) -> Result<Self, ActionError> {
        match text {
            "drop" => Ok(Self::Drop),
            "mask" => Ok(Self::Mask),
            "hash" => Ok(Self::Hash),
            _ => Err(ActionError(text.to_owned())),
        }
    }
}

/// A rule for a header or a query parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRule {
    /// Its name, without regard to case; a `*` at the end stands for any rest.
    pub name: String,
    /// What becomes of its value.
    pub action: Action,
}

impl NameRule {
    /// Whether the rule is for this name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) => name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start)),
            None => self.name.eq_ignore_ascii_case(name),
        }
    }
}

/// A rule for a field of JSON bodies.
#[derive(Debug, Clone)]
pub struct JsonRule {
    /// Where the field is.
    pub path: Pattern,
    /// What becomes of it.
    pub action: Action,
    /// Name of the only route it holds for; `None` for all.
    pub route: Option<String>,
    /// In which bodies.
    pub side: Side,
}

/// The bodies that a rule holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    /// Requests and answers.
    #[default]
    Both,
    /// Requests.
    Request,
    /// Answers of all legs.
    Answer,
}

/// A text that names no [`Side`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("body `{0}`: write request, answer or both")]
pub struct SideError(String);

impl FromStr for Side {
    type Err = SideError;

    fn from_str(text: &str) -> Result<Self, SideError> {
        match text {
            "both" => Ok(Self::Both),
            "request" => Ok(Self::Request),
            "answer" => Ok(Self::Answer),
            _ => Err(SideError(text.to_owned())),
        }
    }
}

impl Side {
    /// Whether a rule for this side holds for `side`, which is one of requests and answers.
    #[must_use]
    pub fn covers(self, side: Self) -> bool {
        self == Self::Both || self == side
    }
}

/// Rules that cannot be kept.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RedactionError {
    /// A rule hashes and there is no key.
    #[error("a rule of [redact] hashes without a key: name a key_file or key_env")]
    NoKey,
    /// A credential would leave as a hash, which can be guessed at leisure when its value is weak.
    #[error(
        "`{0}` holds a credential, which is always replaced by [redacted]: take its hash rule out, or drop it"
    )]
    Credential(String),
    /// A rule for a route that is not there.
    #[error("no route is named `{0}`: a rule of [[redact.json]] would never hold")]
    NoRoute(String),
}

impl Redaction {
    /// Whether any rule hashes, which needs a key.
    #[must_use]
    pub fn hashes(&self) -> bool {
        let names = self.headers.iter().chain(&self.query).map(|rule| rule.action);
        names.chain(self.json.iter().map(|rule| rule.action)).any(|action| action == Action::Hash)
    }

    /// Checks what no single rule can say; `routes` are the names of all routes.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn validate<'a>(&self, routes: impl Iterator<Item = &'a str> + Clone) -> Result<(), RedactionError> {
        let mut names = self.headers.iter().chain(&self.query);
        let credential = |rule: &&NameRule| rule.action == Action::Hash && is_credential(&rule.name);
        if let Some(rule) = names.find(credential) {
            return Err(RedactionError::Credential(rule.name.clone()));
        }
        if self.key.is_none() && self.hashes() {
            return Err(RedactionError::NoKey);
        }
        let unknown = |name: &&String| !routes.clone().any(|route| route == **name);
        match self.json.iter().filter_map(|rule| rule.route.as_ref()).find(unknown) {
            Some(name) => Err(RedactionError::NoRoute(name.clone())),
            None => Ok(()),
        }
    }
}

/// Parts of names that mark a credential, in lower case.
const CREDENTIALS: [&str; 11] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "api-key",
    "api_key",
    "apikey",
    "credential",
    "signature",
];

/// Whether a header or parameter holds a credential by its name: then its value leaves in no form.
#[must_use]
pub fn is_credential(name: &str) -> bool {
    let within = |mark: &str| {
        name.len() >= mark.len()
            && name.as_bytes().windows(mark.len()).any(|part| part.eq_ignore_ascii_case(mark.as_bytes()))
    };
    CREDENTIALS.iter().any(|mark| within(mark))
        || ["key", "sig"].iter().any(|short| name.eq_ignore_ascii_case(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str, action: Action) -> NameRule {
        NameRule { name: name.into(), action }
    }

    #[test]
    fn a_name_matches_in_any_case_and_a_star_stands_for_the_rest() {
        assert!(rule("X-Patient", Action::Mask).matches("x-patient"));
        assert!(!rule("x-patient", Action::Mask).matches("x-patient-id"));
        let all = rule("x-patient*", Action::Mask);
        assert!(all.matches("X-Patient-Id") && all.matches("x-patient") && !all.matches("x-pat"));
        assert!(!rule("x*", Action::Mask).matches("é"), "a name that does not end at the cut");
    }

    #[test]
    fn credentials_are_known_by_a_part_of_their_name() {
        for name in ["Authorization", "x-amz-Signature", "SET-COOKIE", "my_api_key", "KEY", "sig"] {
            assert!(is_credential(name), "{name}");
        }
        for name in ["content-type", "keys", "x-sign", "host", ""] {
            assert!(!is_credential(name), "{name}");
        }
    }

    #[test]
    fn rules_that_cannot_be_kept_are_refused() {
        let routes = ["infer"];
        let check = |redaction: &Redaction| redaction.validate(routes.iter().copied());
        let hash = Redaction { headers: vec![rule("x-user", Action::Hash)], ..Redaction::default() };
        assert_eq!(check(&hash), Err(RedactionError::NoKey));
        let key = Some(HashKey::new(b"0123456789abcdef").unwrap());
        assert_eq!(check(&Redaction { key: key.clone(), ..hash }), Ok(()));
        let cookie = Redaction { query: vec![rule("Cookie", Action::Hash)], key, ..Redaction::default() };
        assert_eq!(check(&cookie), Err(RedactionError::Credential("Cookie".into())));
        let route = |name: &str| JsonRule {
            path: "/a".parse().unwrap(),
            action: Action::Mask,
            route: Some(name.into()),
            side: Side::Both,
        };
        let with = |name| Redaction { json: vec![route(name)], ..Redaction::default() };
        assert_eq!(check(&with("infer")), Ok(()));
        assert_eq!(check(&with("chat")), Err(RedactionError::NoRoute("chat".into())));
    }

    #[test]
    fn what_is_no_action_or_side_says_what_to_write() {
        assert_eq!("hash".parse(), Ok(Action::Hash));
        assert!("remove".parse::<Action>().unwrap_err().to_string().contains("drop, mask or hash"));
        assert!(Side::Both.covers(Side::Answer) && !Side::Request.covers(Side::Answer));
        assert!("response".parse::<Side>().unwrap_err().to_string().contains("request, answer or both"));
    }
}
