//! Model names in paths: `/v2/models/NAME[/versions/V]…`, `/v1/models/NAME[/versions/V]:verb`, `/predictions/NAME[/V]`.

use std::fmt::Write;

use crate::config::rewrite::Model;

use super::Models;

/// The path with the model's other name, or `None` when it names none that has one.
pub(super) fn renamed(path: &str, models: &Models) -> Option<String> {
    let is_list = |at, segment| segment == "models" || (at == 1 && segment == "predictions");
    let (at, list) = path.split('/').enumerate().find(|(at, segment)| is_list(*at, *segment))?;
    let start: usize = path.split('/').take(at + 1).map(|segment| segment.len() + 1).sum();
    let (before, rest) = path.split_at_checked(start)?;
    let (segment, rest) = split(rest);
    let (model, verb) = found(segment, models)?;
    let words: &[&str] = if list == "predictions" { &["/"] } else { &["/versions/", "/labels/"] };
    let word = words.iter().find(|word| rest.starts_with(**word));
    let end = word.map_or(0, |word| word.len() + split(&rest[word.len()..]).0.len());
    let (asked, after) = rest.split_at(end);
    let (asked, later_verb) = split_verb(asked);
    let version = match model.version.as_deref() {
        None => asked.to_owned(),
        Some("") => String::new(),
        Some(version) => format!("{}{}", words[0], encoded(version)),
    };
    Some(format!("{before}{}{version}{verb}{later_verb}{after}", encoded(&model.name)))
}

/// The other name for what a segment names, and the `:verb` that follows the name.
fn found<'p, 'm>(segment: &'p str, models: &'m Models) -> Option<(&'m Model, &'p str)> {
    if let Some(model) = models.get(&decoded(segment)) {
        return Some((model, ""));
    }
    let (name, verb) = split_verb(segment);
    models.get(&decoded(name)).map(|model| (model, verb))
}

/// The first segment, and the rest with its slash.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.find('/').unwrap_or(path.len()))
}

fn split_verb(segment: &str) -> (&str, &str) {
    segment.split_at(segment.rfind(':').unwrap_or(segment.len()))
}

fn decoded(segment: &str) -> String {
    String::from_utf8_lossy(&crate::redact::unescaped(segment)).into_owned()
}

/// A name as one segment of a path (RFC 3986, section 3.3); a colon would begin a verb.
fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(version: Option<&str>) -> Models {
        let model = |name: &str| Model { name: name.into(), version: version.map(Into::into) };
        std::sync::Arc::new([("a".into(), model("b")), ("org/x:1".into(), model("y/2"))].into())
    }

    #[test]
    fn the_name_is_changed_and_nothing_else() {
        for (path, wanted) in [
            ("/v2/models/a/infer", Some("/v2/models/b/infer")),
            ("/v2/models/a", Some("/v2/models/b")),
            ("/v2/models/a/versions/3/infer", Some("/v2/models/b/versions/3/infer")),
            ("/x/v1/models/a:predict", Some("/x/v1/models/b:predict")),
            ("/v1/models/a/versions/3:predict", Some("/v1/models/b/versions/3:predict")),
            ("/v1/models/a/labels/stable:predict", Some("/v1/models/b/labels/stable:predict")),
            ("/v2/models/org%2Fx%3A1/infer", Some("/v2/models/y%2F2/infer")),
            ("/models/a/invoke", Some("/models/b/invoke")),
            ("/predictions/a", Some("/predictions/b")),
            ("/predictions/a/2.0", Some("/predictions/b/2.0")),
            ("/v2/models/ab/infer", None),
            ("/v2/models/A/infer", None),
            ("/v2/models", None),
            ("/x/predictions/a", None),
            ("/v2/health/ready", None),
            ("/", None),
        ] {
            assert_eq!(renamed(path, &models(None)).as_deref(), wanted, "{path}");
        }
    }

    #[test]
    fn a_version_is_set_or_left_to_the_server() {
        for (path, set, left) in [
            ("/v2/models/a/infer", "/v2/models/b/versions/7/infer", "/v2/models/b/infer"),
            ("/v2/models/a/versions/3/infer", "/v2/models/b/versions/7/infer", "/v2/models/b/infer"),
            ("/v1/models/a:predict", "/v1/models/b/versions/7:predict", "/v1/models/b:predict"),
            ("/v1/models/a/versions/3:predict", "/v1/models/b/versions/7:predict", "/v1/models/b:predict"),
            ("/v1/models/a/labels/x:predict", "/v1/models/b/versions/7:predict", "/v1/models/b:predict"),
            ("/predictions/a/3", "/predictions/b/7", "/predictions/b"),
        ] {
            assert_eq!(renamed(path, &models(Some("7"))).as_deref(), Some(set), "{path}");
            assert_eq!(renamed(path, &models(Some(""))).as_deref(), Some(left), "{path}");
        }
    }
}
