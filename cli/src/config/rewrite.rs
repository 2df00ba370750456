//! The tables `primary.rewrite` and `shadow.rewrite` of the file as what the proxy changes for a target.

use anyhow::{Context, anyhow, bail};
use proxy::config::Rewrite;
use proxy::config::rewrite::{HeaderName, HeaderValue, Model, Trace};

use super::raw::rewrite::{Model as RawModel, Rewrite as Raw};
use super::secret;

/// What is changed for a target; `copies` says whether it gets copies, which are marked unless another word is said.
///
/// # Errors
/// When a value is none, or a secret cannot be read.
pub(crate) fn rewrite(raw: &Raw, copies: bool) -> anyhow::Result<Rewrite> {
    let mut rewrite = if copies { Rewrite::of_copies() } else { Rewrite::default() };
    for (name, value) in &raw.set_headers {
        rewrite.set_headers.push((header_name(name)?, header_value(name, value)?));
    }
    for name in &raw.remove_headers {
        rewrite.remove_headers.push(header_name(name)?);
    }
    let (file, variable) = (raw.authorization_file.as_ref(), raw.authorization_env.as_ref());
    if let Some(place) = secret::place("authorization", file, variable)? {
        // The error of a bad value does not show it.
        let mut value = HeaderValue::from_bytes(&secret::read(&place)?).map_err(|_| {
            anyhow!("authorization: what is there is no header value, such as `Bearer TOKEN`")
        })?;
        value.set_sensitive(true);
        rewrite.authorization = Some(value);
    }
    rewrite.strip_prefix = raw.strip_prefix.clone().unwrap_or_default();
    rewrite.add_prefix = raw.add_prefix.clone().unwrap_or_default();
    rewrite.models = raw.models.iter().map(|(from, to)| (from.clone(), model(to))).collect();
    match raw.mark.as_deref() {
        None => {}
        Some("off") => rewrite.mark = None,
        Some(mark) => {
            let (name, value) = mark
                .split_once(':')
                .with_context(|| format!("mark `{mark}`: write \"NAME: VALUE\", or \"off\""))?;
            rewrite.mark = Some((header_name(name.trim())?, header_value(name, value.trim())?));
        }
    }
    if let Some(suffix) = &raw.idempotency_suffix {
        header_value("idempotency_suffix", suffix)?;
        rewrite.idempotency_suffix.clone_from(suffix);
    }
    rewrite.trace = match raw.trace.as_deref() {
        None => rewrite.trace,
        Some("keep") => Trace::Keep,
        Some("unsampled") => Trace::Unsampled,
        Some(other) => bail!("trace `{other}`: write keep or unsampled"),
    };
    Ok(rewrite)
}

/// A name of a header.
pub(super) fn header_name(name: &str) -> anyhow::Result<HeaderName> {
    name.parse().with_context(|| format!("`{name}` is no header name"))
}

/// A value of the header of that name, which the error tells in place of the value.
pub(super) fn header_value(name: &str, value: &str) -> anyhow::Result<HeaderValue> {
    value.parse().with_context(|| format!("the value of `{name}` is no header value"))
}

fn model(raw: &RawModel) -> Model {
    match raw {
        RawModel::Name(name) => Model { name: name.clone(), version: None },
        RawModel::Table(table) => Model { name: table.name.clone(), version: table.version.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, copies: bool) -> anyhow::Result<Rewrite> {
        rewrite(&toml::from_str(text)?, copies)
    }

    #[test]
    fn without_a_word_the_primary_is_left_alone_and_copies_are_marked() {
        assert_eq!(parsed("", false).unwrap(), Rewrite::default());
        assert_eq!(parsed("", true).unwrap(), Rewrite::of_copies());
        let off = "mark = 'off'\nidempotency_suffix = ''\ntrace = 'keep'";
        assert!(parsed(off, true).unwrap().is_empty());
    }

    #[test]
    fn the_table_says_what_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "Bearer t\n").unwrap();
        let text = format!(
            "set_headers = {{ x-a = '1' }}\nremove_headers = ['x-b']\nauthorization_file = '{}'\nstrip_prefix = '/a'\n\
             models = {{ a = 'b', c = {{ name = 'd', version = '' }} }}\nmark = 'X-Mirror: yes'",
            file.display()
        );
        let rewrite = parsed(&text, true).unwrap();
        assert_eq!(rewrite.set_headers[0].0, "x-a");
        assert!(rewrite.authorization.is_some_and(|value| value == "Bearer t" && value.is_sensitive()));
        assert_eq!(rewrite.models["c"], Model { name: "d".into(), version: Some(String::new()) });
        assert_eq!(rewrite.mark.unwrap().1, "yes");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_remedy() {
        for (text, wanted) in [
            ("set_headers = { 'x y' = '1' }", "`x y` is no header name"),
            ("mark = 'yes'", "\"NAME: VALUE\", or \"off\""),
            ("trace = 'off'", "keep or unsampled"),
            ("models = { a = 1 }", "a model is \"NAME\""),
            ("authorization_file = 'a'\nauthorization_env = 'b'", "leave one out"),
            ("prefix = '/a'", "unknown field `prefix`"),
        ] {
            let error = format!("{:#}", parsed(text, true).unwrap_err());
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
