//! The table `self_test` of the file as what a self-test asks.

use anyhow::{Context, bail};
use proxy::selftest::Ask;

use super::raw;

/// What is asked; `None` where the table says nothing, so that the proxy asks for readiness.
///
/// # Errors
/// When a value is none, or the body cannot be read.
pub(crate) fn ask(raw: &raw::SelfTest) -> anyhow::Result<Option<Ask>> {
    let Some(path) = &raw.path else {
        if raw.method.is_some() || raw.body_file.is_some() || !raw.headers.is_empty() {
            bail!("[self_test]: it needs a path, such as /v2/models/ranker/infer");
        }
        return Ok(None);
    };
    if !path.starts_with('/') {
        bail!("path `{path}` of [self_test]: it begins with /");
    }
    let body = match &raw.body_file {
        Some(file) => std::fs::read(file).with_context(|| format!("body_file {}", file.display()))?,
        None => Vec::new(),
    };
    let method = raw.method.as_deref().unwrap_or(if body.is_empty() { "GET" } else { "POST" });
    let mut ask = Ask {
        method: method
            .to_ascii_uppercase()
            .parse()
            .with_context(|| format!("method `{method}` of [self_test]"))?,
        path: path.parse().with_context(|| format!("path `{path}` of [self_test]"))?,
        body: body.into(),
        ..Ask::default()
    };
    for (name, value) in &raw.headers {
        let (name, value) = (super::rewrite::header_name(name)?, super::rewrite::header_value(name, value)?);
        ask.headers.insert(name, value);
    }
    Ok(Some(ask))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> anyhow::Result<Option<Ask>> {
        ask(&toml::from_str(text)?)
    }

    #[test]
    fn a_body_makes_it_a_post() {
        assert!(parsed("").unwrap().is_none());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("body");
        std::fs::write(&file, "{}").unwrap();
        let text =
            format!("path = '/score?x=1'\nheaders = {{ host = 'a.b' }}\nbody_file = '{}'", file.display());
        let ask = parsed(&text).unwrap().unwrap();
        assert_eq!(
            (ask.method.as_str(), ask.path.as_str(), &ask.body[..]),
            ("POST", "/score?x=1", &b"{}"[..])
        );
        assert_eq!(ask.headers["host"], "a.b");
        assert_eq!(parsed("path = '/x'").unwrap().unwrap().method, "GET");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, wanted) in [
            ("method = 'GET'", "needs a path"),
            ("path = 'x'", "begins with /"),
            ("path = '/x'\nmethod = 'G T'", "method `G T`"),
            ("path = '/x'\nbody_file = 'no/such/file'", "no/such/file"),
            ("path = '/x'\nheaders = { 'a b' = '1' }", "`a b` is no header name"),
            ("url = '/x'", "unknown field `url`"),
        ] {
            let error = format!("{:#}", parsed(text).unwrap_err());
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
