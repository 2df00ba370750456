//! Secrets that the configuration names and does not hold: in a file or an environment variable.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Where a secret is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place<'c> {
    File(&'c Path),
    Variable(&'c str),
}

/// The one place of two that may be named; `None` when neither is. `key` is the beginning of both keys, in errors.
///
/// # Errors
/// When both are named.
pub(crate) fn place<'c>(
    key: &str,
    file: Option<&'c PathBuf>,
    variable: Option<&'c String>,
) -> anyhow::Result<Option<Place<'c>>> {
    match (file, variable) {
        (Some(_), Some(_)) => bail!("{key}_file and {key}_env are both given: leave one out"),
        (Some(file), None) => Ok(Some(Place::File(file))),
        (None, Some(variable)) => Ok(Some(Place::Variable(variable))),
        (None, None) => Ok(None),
    }
}

/// Reads the secret, without the line end that editors leave behind it.
///
/// # Errors
/// When it is not there, or empty. The error names the place and never the secret.
pub(crate) fn read(place: &Place<'_>) -> anyhow::Result<Vec<u8>> {
    let (bytes, name) = match place {
        Place::File(path) => {
            let name = format!("file {}", path.display());
            (std::fs::read(path).with_context(|| name.clone())?, name)
        }
        Place::Variable(variable) => {
            let name = format!("environment variable {variable}");
            let value = std::env::var_os(variable).with_context(|| format!("{name} is not set"))?;
            (value.into_encoded_bytes(), name)
        }
    };
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    if end == 0 {
        bail!("{name} is empty");
    }
    Ok(bytes[..end].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_without_its_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "two\nlines\r\n").unwrap();
        assert_eq!(read(&Place::File(&file)).unwrap(), b"two\nlines");
        std::fs::write(&file, "\n").unwrap();
        assert!(read(&Place::File(&file)).unwrap_err().to_string().ends_with("is empty"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = format!("{:#}", read(&Place::File(Path::new("no/such/file"))).unwrap_err());
        assert!(error.contains("no/such/file"), "{error}");
        let error = read(&Place::Variable("SHADOWDIFF_NO_SUCH_VARIABLE")).unwrap_err().to_string();
        assert!(error.contains("SHADOWDIFF_NO_SUCH_VARIABLE is not set"), "{error}");
        let (file, variable) = (PathBuf::from("f"), "v".to_owned());
        assert!(place("key", Some(&file), Some(&variable)).unwrap_err().to_string().contains("key_env"));
        assert_eq!(place("key", None, Some(&variable)).unwrap(), Some(Place::Variable("v")));
        assert_eq!(place("key", None, None).unwrap(), None);
    }
}
