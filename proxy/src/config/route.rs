//! Which requests may be mirrored: rules over path, method and headers.

use http::{HeaderMap, HeaderName, Method};
use serde::{Deserialize, Serialize};

use super::Fraction;
use super::inference::is_inference;

/// A rule that says which requests may be mirrored. A request matches when its method, its path and all headers named here do.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Route {
    /// Name in records.
    pub name: String,
    /// Methods it matches; empty matches all.
    pub methods: Vec<Method>,
    /// Paths it matches, any of them; empty matches all.
    pub paths: Vec<PathRule>,
    /// Headers that must be there with that value, in which `*` stands for any characters.
    pub headers: Vec<(HeaderName, String)>,
    /// Whether requests that match may be mirrored.
    pub mirror: bool,
    /// Its own fraction instead of the general one.
    pub sample: Option<Fraction>,
}

/// One way to say which paths are meant. A path is compared as it came, without the query, nothing decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathRule {
    /// All that begin so.
    Prefix(String),
    /// This one.
    Exact(String),
    /// The whole path, `*` standing for any characters, slashes among them.
    Pattern(String),
    /// The inference calls of the protocols that shadowdiff knows.
    Inference,
}

/// Why a rule is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RouteError {
    /// No name.
    #[error("a route has no name: give `name`, it is what records say")]
    NoName,
    /// A path that no request has.
    #[error("path `{1}` of route {0}: write one that begins with /, or with * for a pattern")]
    Path(String, String),
    /// A method that is none.
    #[error("method `{1}` of route {0} is none: write one such as POST")]
    Method(String, String),
    /// A header name that is none.
    #[error("header `{1}` of route {0} is no header name: write one such as x-tenant")]
    Header(String, String),
}

impl Default for Route {
    /// The inference calls of the known protocols. They compute and change nothing, so that a copy does no harm; nothing is known of
    /// other paths.
    fn default() -> Self {
        Self {
            name: "inference".into(),
            methods: vec![Method::POST],
            paths: vec![PathRule::Inference],
            headers: Vec::new(),
            mirror: true,
            sample: None,
        }
    }
}

impl Route {
    /// A route for every POST whatever its path, where all that is served is inference.
    #[must_use]
    pub fn every_post() -> Self {
        Self { name: "default".into(), paths: Vec::new(), ..Self::default() }
    }

    /// Whether it is the rule for this request.
    #[must_use]
    pub fn matches(&self, method: &Method, path: &str, headers: &HeaderMap) -> bool {
        (self.methods.is_empty() || self.methods.contains(method))
            && (self.paths.is_empty() || self.paths.iter().any(|rule| rule.matches(path)))
            && self.headers.iter().all(|(name, wanted)| {
                headers.get_all(name).iter().any(|value| like(wanted.as_bytes(), value.as_bytes()))
            })
    }
}

impl PathRule {
    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Prefix(prefix) => path.starts_with(prefix),
            Self::Exact(exact) => path == exact,
            Self::Pattern(pattern) => like(pattern.as_bytes(), path.as_bytes()),
            Self::Inference => is_inference(path),
        }
    }
}

/// Whether `text` is `pattern` with something, or nothing, for each `*`. Goes back to the last `*` only: O(pattern × text) at most.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(letter) if *letter == text[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((behind, taken)) = star else { return false };
                star = Some((behind, taken + 1));
                at = behind + 1;
                from = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

/// A route as it is written in the file and in JSON.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    name: String,
    methods: Vec<String>,
    /// Prefix of the path, or a pattern where it has a `*`.
    path: OneOrMore,
    exact: OneOrMore,
    inference: bool,
    headers: std::collections::BTreeMap<String, String>,
    mirror: Option<bool>,
    sample: Option<Fraction>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged, expecting = "a path is \"/v2/\" or a list of such")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> Self {
        Self::More(Vec::new())
    }
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::More(more) => more,
        }
    }
}

impl TryFrom<Written> for Route {
    type Error = RouteError;

    fn try_from(written: Written) -> Result<Self, RouteError> {
        let name = written.name;
        if name.is_empty() {
            return Err(RouteError::NoName);
        }
        let method = |text: &String| {
            text.to_ascii_uppercase().parse().map_err(|_| RouteError::Method(name.clone(), text.clone()))
        };
        let header = |(header, value): (&String, &String)| match header.parse::<HeaderName>() {
            Ok(parsed) => Ok((parsed, value.clone())),
            Err(_) => Err(RouteError::Header(name.clone(), header.clone())),
        };
        let mut paths: Vec<PathRule> = written.path.into_vec().into_iter().map(rule).collect();
        paths.extend(written.exact.into_vec().into_iter().map(PathRule::Exact));
        for path in &paths {
            match path {
                PathRule::Prefix(text) | PathRule::Exact(text) if !text.starts_with('/') => {
                    return Err(RouteError::Path(name, text.clone()));
                }
                PathRule::Pattern(text) if !text.starts_with(['/', '*']) => {
                    return Err(RouteError::Path(name, text.clone()));
                }
                _ => {}
            }
        }
        paths.extend(written.inference.then_some(PathRule::Inference));
        Ok(Self {
            methods: written.methods.iter().map(method).collect::<Result<_, _>>()?,
            headers: written.headers.iter().map(header).collect::<Result<_, _>>()?,
            paths,
            mirror: written.mirror.unwrap_or(true),
            sample: written.sample,
            name,
        })
    }
}

fn rule(path: String) -> PathRule {
    if path.contains('*') { PathRule::Pattern(path) } else { PathRule::Prefix(path) }
}

impl From<Route> for Written {
    fn from(route: Route) -> Self {
        let (mut path, mut exact, mut inference) = (Vec::new(), Vec::new(), false);
        for rule in route.paths {
            match rule {
                PathRule::Prefix(text) | PathRule::Pattern(text) => path.push(text),
                PathRule::Exact(text) => exact.push(text),
                PathRule::Inference => inference = true,
            }
        }
        Self {
            name: route.name,
            methods: route.methods.iter().map(Method::to_string).collect(),
            path: OneOrMore::More(path),
            exact: OneOrMore::More(exact),
            inference,
            headers: route.headers.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
            mirror: Some(route.mirror),
            sample: route.sample,
        }
    }
}

#[cfg(test)]
mod tests;
