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
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("configuration file {}", path.display()))
        .map_err(Usage::of)?;
    parse(&text).with_context(|| format!("configuration file {}", path.display())).map_err(Usage::of)
}

/// Parses the text of a file.
pub(crate) fn parse(text: &str) -> anyhow::Result<Raw> {
    Ok(toml::from_str(text)?)
}
