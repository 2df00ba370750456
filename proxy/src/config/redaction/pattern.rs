//! Where in a JSON document: `/inputs/*/data`, `/messages/**/text`, `..ssn`.

use std::str::FromStr;

/// A pattern of places in a JSON document: JSON Pointer (RFC 6901, `~0` is `~`, `~1` is `/`) with two additions: a segment `*`
/// is any one member or element, a segment `**` any number of levels, also none. `..name` is short for `/**/name`, and the empty
/// pattern is the whole document. Names are compared without regard to ASCII case, as some servers read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Segment>);

/// One step of a [`Pattern`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// The member of that name, or the element of that index.
    Name(String),
    /// Any one member or element.
    Any,
    /// Any number of levels, also none.
    Deep,
}

/// Why a text is no [`Pattern`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PatternError {
    /// Neither of the two beginnings.
    #[error("path `{0}`: write /inputs/*/data, or ..name for any depth")]
    Start(String),
    /// A `~` that is no escape.
    #[error("path `{0}`: a ~ is written ~0, and a / within a name ~1")]
    Escape(String),
    /// An empty name after `..`.
    #[error("path `{0}`: a name must follow the ..")]
    NoName(String),
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let (mut segments, rest) = match text.strip_prefix("..") {
            Some("") => return Err(PatternError::NoName(text.to_owned())),
            Some(rest) if rest.starts_with('/') => return Err(PatternError::NoName(text.to_owned())),
            Some(rest) => (vec![Segment::Deep], rest),
            None => {
                let rest = text.strip_prefix('/').ok_or_else(|| PatternError::Start(text.to_owned()))?;
                (Vec::new(), rest)
            }
        };
        for part in rest.split('/') {
            segments.push(match part {
                "*" => Segment::Any,
                "**" => Segment::Deep,
                name => {
                    let plain = unescaped(name).ok_or_else(|| PatternError::Escape(text.to_owned()))?;
                    Segment::Name(plain)
                }
            });
        }
        Ok(Self(segments))
    }
}

impl Pattern {
    /// Its steps from the top of the document.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }
}

fn unescaped(name: &str) -> Option<String> {
    let mut parts = name.split('~');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        plain.push(match letters.next() {
            Some('0') => '~',
            Some('1') => '/',
            _ => return None,
        });
        plain.push_str(letters.as_str());
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Segment {
        Segment::Name(text.into())
    }

    #[test]
    fn the_forms_of_a_pattern() {
        let segments = |text: &str| text.parse::<Pattern>().unwrap().0;
        assert_eq!(segments("/inputs/*/data"), [name("inputs"), Segment::Any, name("data")]);
        assert_eq!(segments("..ssn"), [Segment::Deep, name("ssn")]);
        assert_eq!(segments("..user/name"), [Segment::Deep, name("user"), name("name")]);
        assert_eq!(segments("/a/**/b"), [name("a"), Segment::Deep, name("b")]);
        assert_eq!(segments("/a~1b/m~0n/"), [name("a/b"), name("m~n"), name("")]);
        assert_eq!(segments(""), []);
    }

    #[test]
    fn what_is_no_pattern_says_what_to_write() {
        for (text, error) in [
            ("inputs", PatternError::Start("inputs".into())),
            ("$.a", PatternError::Start("$.a".into())),
            ("/a~b", PatternError::Escape("/a~b".into())),
            ("..", PatternError::NoName("..".into())),
            ("../a", PatternError::NoName("../a".into())),
        ] {
            assert_eq!(text.parse::<Pattern>(), Err(error), "{text}");
        }
    }
}
