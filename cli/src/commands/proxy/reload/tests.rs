use std::path::Path;

use clap::Parser;
use tempfile::TempDir;

use super::*;
use crate::args::{Args, Command};

/// A proxy's configuration in a file of its own, read at the start.
struct Started {
    folder: TempDir,
    control: Arc<Control>,
    reload: Reload,
}

const LEGS: &str =
    "[primary]\nnodes = ['http://a:1']\n[[shadow]]\nnodes = ['http://b:1']\n[record]\nout = 'set'\n";

fn started(more: &str, flags: &[&str]) -> Started {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.toml");
    std::fs::write(&path, format!("{more}\n{LEGS}")).unwrap();
    let line = ["shadowdiff", "proxy", "--config", path.to_str().unwrap()];
    let Command::Proxy(flags) = Args::try_parse_from(line.iter().chain(flags)).unwrap().command else {
        panic!("not a proxy")
    };
    let (file, tables) = file::read_with_tables(Some(&path)).unwrap();
    let config = resolve::proxy(&flags, &file, "host").unwrap().config;
    let control = Control::new(&config);
    let reload = Reload::new(*flags, &file, tables, control.clone(), &config);
    Started { folder, control, reload }
}

impl Started {
    fn path(&self) -> std::path::PathBuf {
        Path::new(self.folder.path()).join("proxy.toml")
    }

    fn write(&mut self, text: &str) -> anyhow::Result<Vec<String>> {
        std::fs::write(self.path(), text).unwrap();
        self.reload.put_in_force()
    }

    fn now(&self, key: &str) -> serde_json::Value {
        self.control.describe()[key].clone()
    }
}

#[test]
fn the_sampling_the_routes_and_the_run_of_the_file_are_put_in_force() {
    let mut proxy = started("[sampling]\nsample = '5%'\n[proxy]\nrun = 'one'", &[]);
    let text = "[sampling]\nmax_per_second = 7\n[sampling.copies]\ncandidate = 2\n[[route]]\nname = 'all'\npath = '/'\n[proxy]\nrun = 'two'\n";
    assert_eq!(proxy.write(&format!("{text}{LEGS}")).unwrap(), [""; 0]);
    assert_eq!(proxy.now("sample"), 1.0, "what is left out has its default again");
    assert_eq!(proxy.now("max_per_second"), 7.0);
    assert_eq!(proxy.now("copies")["candidate"], 2.0);
    assert_eq!(proxy.now("routes")[0]["name"], "all");
    assert_eq!(proxy.now("run"), "two");
    assert_eq!(proxy.write(&format!("{text}{LEGS}")).unwrap(), [""; 0], "the same run goes on");
}

#[test]
fn a_broken_file_changes_nothing() {
    let mut proxy = started("[sampling]\nsample = '5%'", &[]);
    for text in ["[sampling", "[sampling]\nsample = '500%'", "[samplin]\n", "[sampling]\nmax_per_second = 0"]
    {
        proxy.write(&format!("{text}\n{LEGS}")).unwrap_err();
        assert_eq!(proxy.now("sample"), 0.05, "{text}");
    }
    std::fs::remove_file(proxy.path()).unwrap();
    proxy.reload.put_in_force().unwrap_err();
    assert_eq!(proxy.now("sample"), 0.05);
}

#[test]
fn what_needs_a_restart_is_named_until_it_comes() {
    let mut proxy = started("", &[]);
    let more = LEGS.replace("http://b:1", "http://c:1") + "[limits]\nbody_bytes = 9\n";
    assert_eq!(proxy.write(&more).unwrap(), ["[limits]", "[shadow]"]);
    assert_eq!(proxy.write(&more).unwrap(), ["[limits]", "[shadow]"]);
    assert_eq!(proxy.write(LEGS).unwrap(), [""; 0]);
}

#[test]
fn a_length_that_is_the_same_does_not_begin_anew_and_flags_win() {
    let mut proxy = started("[sampling]\nfor_ms = 60000", &["--sample", "10%", "--run", "mine"]);
    let until = proxy.now("stop_at");
    let text = |more: &str| format!("[sampling]\nsample = '50%'\n{more}\n[proxy]\nrun = 'other'\n{LEGS}");
    proxy.write(&text("for_ms = 60000")).unwrap();
    assert_eq!(
        (proxy.now("stop_at"), proxy.now("sample"), proxy.now("run")),
        (until.clone(), 0.1.into(), "mine".into())
    );
    proxy.write(&text("for_ms = 90000")).unwrap();
    assert_ne!(proxy.now("stop_at"), until);
    proxy.write(&text("")).unwrap();
    assert!(proxy.now("stop_at").is_null());
}
