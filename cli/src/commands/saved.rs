//! Answers that were saved to files, and the rules to read them by.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow};
use divergence::{Answer, Decoded, Rules, Undecodable};

use crate::args;
use crate::config::file;
use crate::exit::Usage;

/// The answer cannot be decoded.
pub(crate) const UNDECODABLE: u8 = 3;

/// Largest body that is read, in bytes.
const MAX_BODY: u64 = 1 << 30;

/// An answer as it crossed the wire.
pub(crate) struct Saved {
    path: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Saved {
    /// Reads a body from a file or, as `-`, from standard input.
    pub(crate) fn read(body: &Path, about: &args::About, headers: &[String]) -> anyhow::Result<Self> {
        let headers = headers.iter().map(|header| parsed(header)).collect::<anyhow::Result<_>>()?;
        Ok(Self { path: about.path.clone(), status: about.status, headers, body: bytes(body)? })
    }

    /// Decodes it. Headers stand for trailers too: who saves an answer by hand rarely keeps them apart.
    pub(crate) fn decode(&self, rules: &Rules) -> Result<Decoded, Undecodable> {
        let trailers = &self.headers;
        let answer = Answer { trailers, ..Answer::new(&self.path, self.status, &self.headers, &self.body) };
        divergence::decode(&answer, rules)
    }
}

/// The bytes of a file, or of standard input.
pub(crate) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BODY).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_BODY).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("{} cannot be read", path.display())).map_err(Usage::of)?;
    Ok(bytes)
}

fn parsed(header: &str) -> anyhow::Result<(String, String)> {
    let split = header.split_once(':').filter(|(name, _)| !name.trim().is_empty());
    let (name, value) =
        split.ok_or_else(|| Usage::of(anyhow!("header `{header}`: write it as 'name: value'")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The rules of a file: a whole configuration with a `[compare]` table, or only what would be in that table.
pub(crate) fn rules(path: Option<&Path>) -> anyhow::Result<Rules> {
    let Some(path) = path else { return Ok(Rules::default()) };
    let named = || format!("rules {}", path.display());
    let text = std::fs::read_to_string(path).with_context(named).map_err(Usage::of)?;
    let table: toml::Table = toml::from_str(&text).with_context(named).map_err(Usage::of)?;
    if table.contains_key("compare") {
        return Ok(file::parse(&text).with_context(named).map_err(Usage::of)?.compare);
    }
    toml::from_str(&text).with_context(named).map_err(Usage::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_from_a_configuration_or_by_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let rules_of = |text: &str| {
            let path = dir.path().join("rules.toml");
            std::fs::write(&path, text).unwrap();
            rules(Some(&path))
        };
        assert_eq!(rules_of("top_k = 3").unwrap().top_k, 3);
        assert_eq!(rules_of("[kafka]\ntopic = 't'\n[compare]\ntop_k = 4").unwrap().top_k, 4);
        assert_eq!(rules_of("").unwrap(), Rules::default());
        for wrong in ["top_kk = 3", "[compare]\ntop_kk = 4", "[compare", "top_k = 0"] {
            let error = rules_of(wrong).unwrap_err();
            assert!(error.downcast_ref::<Usage>().is_some(), "{wrong}: {error:#}");
        }
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        assert_eq!(parsed("Content-Type: a: b").unwrap(), ("Content-Type".into(), "a: b".into()));
        assert!(parsed("nothing").is_err() && parsed(": x").is_err());
    }
}
