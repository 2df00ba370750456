//! Tests of the contract against its written forms: the `.proto` file and `docs/COLUMNS.md`.
//! Set `UPDATE_GENERATED=1` to write both anew; after a change of the `.proto` file do that first, then the conversions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn check_or_update(path: &Path, wanted: &str) {
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(path, wanted).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == wanted,
        "{} is not current: run UPDATE_GENERATED=1 cargo test -p exchange",
        path.display()
    );
}

#[test]
fn generated_code_is_current() {
    let proto = root().join("proto/exchange.proto");
    let files = protox::compile([&proto], [root().join("proto")]).unwrap();
    let out = tempfile::tempdir().unwrap();
    prost_build::Config::new().bytes(["."]).out_dir(out.path()).compile_fds(files).unwrap();
    let made = std::fs::read_to_string(out.path().join("shadowdiff.v1.rs")).unwrap();
    check_or_update(&root().join("src/wire/generated.rs"), &made);
}

#[test]
fn columns_are_documented_as_they_are() {
    check_or_update(&root().join("../docs/COLUMNS.md"), &exchange::columns::markdown());
}
