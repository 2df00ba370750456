//! Reading the file.

use std::path::Path;

use anyhow::Context;

use super::raw::Raw;
use crate::exit::Usage;

/// Reads the file, or gives the empty configuration without one.
///
/// # Errors
/// When the file cannot be read, is no TOML, or has a key that is not known: the error names file, line and key.
pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Raw> {
    let Some(path) = path else { return Ok(Raw::default()) };
    parse(&text(path)?).with_context(|| format!("configuration file {}", path.display())).map_err(Usage::of)
}

/// The same, with the tables as they are written, to tell later which have changed.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_with_tables(path: Option<&Path>) -> anyhow::Result<(Raw, toml::Table)> {
    let Some(path) = path else { return Ok(Default::default()) };
    let text = text(path)?;
    let both = parse(&text).and_then(|raw| Ok((raw, text.parse()?)));
    both.with_context(|| format!("configuration file {}", path.display())).map_err(Usage::of)
}

fn text(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path);
    text.with_context(|| format!("configuration file {}", path.display())).map_err(Usage::of)
}

/// Parses the text of a file.
pub(crate) fn parse(text: &str) -> anyhow::Result<Raw> {
    Ok(toml::from_str(text)?)
}
