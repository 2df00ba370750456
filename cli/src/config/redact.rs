//! The table `redact` of the file as the proxy's rules of what may leave it.

use std::collections::BTreeMap;

use anyhow::Context;
use proxy::config::Redaction;
use proxy::config::redaction::{Action, HashKey, JsonRule, NameRule};

use super::raw::redact::{Json, Redact};
use super::secret;

/// The rules.
///
/// # Errors
/// When a value is none, or the key cannot be read.
pub(crate) fn redaction(raw: &Redact) -> anyhow::Result<Redaction> {
    let mut redaction = Redaction {
        headers: names(&raw.headers).context("headers of [redact]")?,
        query: names(&raw.query).context("query of [redact]")?,
        json: raw.json.iter().map(json).collect::<anyhow::Result<_>>().context("[[redact.json]]")?,
        key: None,
    };
    redaction.key = match secret::place("key", raw.key_file.as_ref(), raw.key_env.as_ref())? {
        Some(place) => Some(HashKey::new(&secret::read(&place)?)?),
        None if redaction.hashes() => Some(HashKey::random()?),
        None => None,
    };
    Ok(redaction)
}

fn names(raw: &BTreeMap<String, String>) -> anyhow::Result<Vec<NameRule>> {
    let rule = |(name, action): (&String, &String)| {
        let action = action.parse::<Action>().with_context(|| format!("`{name}`"))?;
        Ok(NameRule { name: name.clone(), action })
    };
    raw.iter().map(rule).collect()
}

fn json(raw: &Json) -> anyhow::Result<JsonRule> {
    Ok(JsonRule {
        path: raw.path.parse()?,
        action: raw.action.parse()?,
        route: raw.route.clone(),
        side: raw.body.as_deref().unwrap_or("both").parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file;

    fn parsed(text: &str) -> anyhow::Result<Redaction> {
        redaction(&file::parse(text)?.redact)
    }

    #[test]
    fn the_table_says_what_may_leave() {
        let text = "[redact]\nheaders = { x-user = 'hash', x-region = 'drop' }\nquery = { user = 'mask' }\n\
                    [[redact.json]]\npath = '/inputs/*/data'\naction = 'mask'\nbody = 'request'";
        let rules = parsed(text).unwrap();
        assert_eq!((rules.headers.len(), rules.query.len(), rules.json.len()), (2, 1, 1));
        assert!(rules.key.is_some_and(|key| !key.is_lasting()), "a key of this process, as none is named");
        assert!(parsed("").unwrap().key.is_none());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_remedy() {
        for (text, wanted) in [
            ("[redact]\nheaders = { x-user = 'sha' }", "`x-user`: action `sha`: write drop, mask or hash"),
            ("[[redact.json]]\npath = 'a'\naction = 'mask'", "path `a`: write /inputs/*/data"),
            ("[[redact.json]]\npath = '/a'", "missing field `action`"),
            ("[[redact.json]]\npath = '/a'\naction = 'mask'\nbody = 'all'", "write request, answer or both"),
            ("[redact]\nkey_file = 'a'\nkey_env = 'b'", "leave one out"),
            ("[redact]\nkey_file = 'no/such/file'", "no/such/file"),
            ("[redact]\nheader = {}", "unknown field `header`"),
        ] {
            let error = format!("{:#}", parsed(text).unwrap_err());
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
