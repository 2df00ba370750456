//! Python scripts of `e2e/python/`, run in the environment that the set-up made.

use std::process::Command;

use crate::cache::{Component, root};
use crate::process;

/// Runs a script of `e2e/python/` to its end and gives what it printed.
///
/// # Panics
/// When it fails or does not end, with what it said.
#[must_use]
pub fn run(script: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(Component::Python.dir().join("bin/python"));
    command.arg("-B").arg(root().join("e2e/python").join(script)).args(arguments);
    let output = process::output(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{script} failed:\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
