//! Every captured answer against the table of what it holds: `tests/captures/decoded.txt`.
//!
//! `UPDATE_GENERATED=1 cargo test -p divergence` writes the table anew, for a person to read the difference.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use divergence::{Answer, Decoded, Output, Rules, decode};

/// One captured answer, as `README.md` in the folder describes its file.
pub(crate) struct Capture {
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) trailers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Capture {
    pub(crate) fn read(file: &Path) -> Self {
        let bytes = std::fs::read(file).expect("the capture is in the repository");
        let mut rest = bytes.as_slice();
        let request = line(&mut rest);
        let path = request.split(' ').nth(1).expect("a method and a path").to_owned();
        let status = line(&mut rest).parse().expect("a status");
        let (headers, trailers) = (pairs(&mut rest), pairs(&mut rest));
        Self { path, status, headers, trailers, body: rest.to_vec() }
    }

    pub(crate) fn answer(&self) -> Answer<'_> {
        let answer = Answer::new(&self.path, self.status, &self.headers, &self.body);
        Answer { trailers: &self.trailers, ..answer }
    }
}

fn line<'a>(rest: &mut &'a [u8]) -> &'a str {
    let end = rest.iter().position(|byte| *byte == b'\n').expect("a whole line");
    let (line, after) = rest.split_at(end);
    *rest = &after[1..];
    std::str::from_utf8(line).expect("text before the body")
}

fn pairs(rest: &mut &[u8]) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    loop {
        match line(rest) {
            "" => return pairs,
            pair => {
                let (name, value) = pair.split_once(": ").expect("a name and a value");
                pairs.push((name.to_owned(), value.to_owned()));
            }
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

/// All captures, by name.
pub(crate) fn all() -> Vec<(String, Capture)> {
    let mut found = Vec::new();
    for server in std::fs::read_dir(folder()).expect("the captures are in the repository") {
        let server = server.expect("the captures are in the repository").path();
        if !server.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&server).expect("the captures are in the repository") {
            let file = file.expect("the captures are in the repository").path();
            let name = file
                .strip_prefix(folder())
                .expect("the captures are in the repository")
                .with_extension("")
                .display()
                .to_string();
            found.push((name, Capture::read(&file)));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn table() -> String {
    let mut table = String::new();
    for (name, capture) in all() {
        let model = |decoded: &Decoded| {
            let parts = [decoded.model.as_deref(), decoded.model_version.as_deref()];
            parts.into_iter().flatten().collect::<Vec<_>>().join("/")
        };
        let _ = write!(table, "{name} {} -> ", capture.path);
        match decode(&capture.answer(), &Rules::default()) {
            Err(reason) => _ = writeln!(table, "none: {reason}"),
            Ok(decoded) => {
                let _ = writeln!(table, "{} {}", decoded.protocol.as_str(), model(&decoded));
                decoded.outputs.iter().for_each(|output| row(&mut table, output));
            }
        }
    }
    table
}

fn row(table: &mut String, output: &Output) {
    const SHOWN: usize = 6;
    let shape: Vec<String> = output.shape.iter().map(u64::to_string).collect();
    let exact = output.exact.iter().flatten().map(i128::to_string);
    let values = output.values.iter().map(f64::to_string).filter(|_| output.exact.is_none());
    let text = output.text.iter().map(|text| format!("{:?}", text.chars().take(60).collect::<String>()));
    let mut shown: Vec<String> = exact.chain(values).chain(text).take(SHOWN).collect();
    if output.values.len() + output.text.len() > SHOWN {
        shown.push("…".into());
    }
    let (kind, dtype) = (output.kind.as_str(), output.dtype.as_str());
    let _ = write!(table, "    {} {kind} {dtype} [{}] {}", output.name, shape.join("x"), shown.join(" "));
    if !output.keys.is_empty() {
        let _ = write!(table, " keys {:?}", &output.keys[..output.keys.len().min(SHOWN)]);
    }
    table.push('\n');
}

#[test]
fn every_capture_decodes_to_what_its_server_meant() {
    let file = folder().join("decoded.txt");
    let found = table();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&file, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn the_same_scores_come_whichever_way_they_were_asked_for() {
    let all = all();
    let outputs = |name: &str| {
        let (_, capture) = all.iter().find(|(found, _)| found == name).expect("a capture of that name");
        decode(&capture.answer(), &Rules::default()).unwrap().outputs
    };
    // Binary, JSON (which has no half precision), gzip, gRPC with raw contents.
    let binary = outputs("triton_http/002");
    let json = outputs("triton_http/003");
    assert_eq!((outputs("triton_http/007"), outputs("triton_grpc/001-5")), (binary.clone(), binary.clone()));
    let whole: Vec<&Output> = binary.iter().filter(|output| output.name != "HALF").collect();
    assert_eq!(whole.len(), json.len());
    for (binary, json) in whole.into_iter().zip(&json) {
        assert_eq!((&binary.name, binary.dtype, &binary.shape), (&json.name, json.dtype, &json.shape));
        assert_eq!((&binary.values, &binary.text), (&json.values, &json.text));
    }
    // MLServer: typed and raw contents, JSON.
    let typed = outputs("mls_grpc/001-2");
    assert_eq!(typed, outputs("mls_grpc/002"));
    assert_eq!(typed[0].values, outputs("mls_http/023-1")[0].values);
    // Embeddings: a list, and base64.
    assert_eq!(outputs("vllm/023")[0].values, outputs("vllm/027")[0].values);
}
