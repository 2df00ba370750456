//! The tables `primary.identity` and `shadow.identity` of the file as what the proxy calls nodes and knows of them.

use std::time::Duration;

use anyhow::{Context, bail};
use proxy::config::identity::{HeaderName, Identity, PathAndQuery, Probe};

use super::raw::identity::{Identity as Raw, Probe as RawProbe};

/// Names and labels of a target's nodes.
///
/// # Errors
/// When a name of a header or a path is none.
pub(crate) fn identity(raw: &Raw) -> anyhow::Result<Identity> {
    let default = Identity::default();
    let asked = raw.metadata.then_some(Probe::Metadata);
    let probes = raw.probe.iter().map(probe).collect::<anyhow::Result<Vec<_>>>()?;
    let label = |(label, header): (&String, &String)| Ok((label.clone(), header_name(header)?));
    Ok(Identity {
        header: raw.header.as_deref().map(header_name).transpose()?,
        json: raw.json.clone(),
        known: raw.known.unwrap_or(default.known),
        label_headers: raw.label_headers.iter().map(label).collect::<anyhow::Result<_>>()?,
        probes: asked.into_iter().chain(probes).collect(),
        probe_every: raw.probe_every_ms.map_or(default.probe_every, Duration::from_millis),
    })
}

fn header_name(name: &str) -> anyhow::Result<HeaderName> {
    name.parse().with_context(|| format!("`{name}` is no header name"))
}

fn probe(raw: &RawProbe) -> anyhow::Result<Probe> {
    let path = &raw.path;
    if !path.starts_with('/') {
        bail!("path `{path}` of a probe: it begins with /");
    }
    let path = PathAndQuery::try_from(path.as_str()).with_context(|| format!("path `{path}` of a probe"))?;
    Ok(Probe::Json { path, labels: raw.labels.clone().into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::parse;

    fn of(text: &str) -> anyhow::Result<Identity> {
        identity(&parse(text)?.primary.identity)
    }

    #[test]
    fn without_a_word_nobody_is_asked() {
        assert_eq!(of("").unwrap(), Identity::default());
        assert!(Identity::default().probes.is_empty());
    }

    #[test]
    fn names_and_probes_are_taken_from_the_file() {
        let read = of(
            "[primary.identity]\nheader = 'X-Served-By'\njson = '/node'\nknown = false\nmetadata = true\n\
             label_headers = { gpu = 'x-gpu' }\nprobe_every_ms = 5\n\
             [[primary.identity.probe]]\npath = '/info?full=1'\nlabels = { driver = '/d/0' }",
        )
        .unwrap();
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let json = Probe::Json {
            path: PathAndQuery::from_static("/info?full=1"),
            labels: vec![label("driver", "/d/0")],
        };
        let wanted = Identity {
            header: Some(HeaderName::from_static("x-served-by")),
            json: Some("/node".into()),
            known: false,
            label_headers: vec![("gpu".into(), HeaderName::from_static("x-gpu"))],
            probes: vec![Probe::Metadata, json],
            probe_every: Duration::from_millis(5),
        };
        assert_eq!(read, wanted);
    }

    #[test]
    fn what_is_none_says_so() {
        for (text, said) in [
            ("[primary.identity]\nheader = 'a b'", "`a b` is no header name"),
            ("[primary.identity]\nlabel_headers = { gpu = '' }", "`` is no header name"),
            ("[[primary.identity.probe]]\npath = 'info'\nlabels = {}", "begins with /"),
            ("[[primary.identity.probe]]\npath = '/a b'\nlabels = {}", "path `/a b` of a probe"),
        ] {
            let error = format!("{:#}", of(text).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
    }
}
