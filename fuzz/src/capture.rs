//! Captured answers, in the form that the README of `divergence/tests/captures` describes.

use std::path::Path;

use anyhow::Context as _;
use divergence::Answer;

/// An answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Capture {
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) trailers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Capture {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let path = line(&mut rest)?.split(' ').nth(1)?.to_owned();
        let status = line(&mut rest)?.parse().ok()?;
        let (headers, trailers) = (pairs(&mut rest)?, pairs(&mut rest)?);
        Some(Self { path, status, headers, trailers, body: rest.to_vec() })
    }

    pub(crate) fn text(&self) -> Vec<u8> {
        let lines = |pairs: &[(String, String)]| -> String {
            pairs.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
        };
        let (path, status) = (&self.path, self.status);
        let head = format!("POST {path}\n{status}\n{}\n{}\n", lines(&self.headers), lines(&self.trailers));
        [head.as_bytes(), &self.body].concat()
    }

    pub(crate) fn answer(&self) -> Answer<'_> {
        let answer = Answer::new(&self.path, self.status, &self.headers, &self.body);
        Answer { trailers: &self.trailers, ..answer }
    }
}

fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at(end);
    *rest = after.get(1..)?;
    std::str::from_utf8(line).ok()
}

fn pairs(rest: &mut &[u8]) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    loop {
        match line(rest)? {
            "" => return Some(pairs),
            pair => pairs.push(pair.split_once(": ").map(|(name, value)| (name.into(), value.into()))?),
        }
    }
}

/// All captures below a folder that were answered with success.
pub(crate) fn corpus(folder: &Path) -> anyhow::Result<Vec<Capture>> {
    let mut found = crate::target::seeds();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "answer") {
                let bytes =
                    std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let capture =
                    Capture::parse(&bytes).with_context(|| format!("{} is no capture", path.display()))?;
                found.extend((capture.status == 200).then_some(capture));
            }
        }
    }
    Ok(found)
}
