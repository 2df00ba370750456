//! The documentation and the configuration name the same keys and metrics.

use std::path::Path;

use super::file::parse;

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The keys of a table, as the parser itself tells them when it refuses one.
fn keys(table: &str) -> Vec<String> {
    let text = table.to_owned() + "\nno_such_key = 1";
    let error = format!("{:#}", parse(&text).unwrap_err());
    let (_, expected) = error.split_once("expected").unwrap_or_else(|| panic!("{error}"));
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_example_is_a_valid_configuration_with_every_key() {
    let text = docs("shadowdiff.toml");
    parse(&text).unwrap();
    let tables = [
        "[proxy]",
        "[listener]",
        "[limits]",
        "[traces]",
        "[primary]",
        "[primary.tls]",
        "[primary.identity]",
        "[[primary.identity.probe]]",
        "[shadow.rewrite]",
        "[[shadow]]",
        "[sampling]",
        "[[route]]",
        "[redact]",
        "[self_test]",
        "[[redact.json]]",
        "[kafka]",
        "[record]",
        "[compare]",
    ];
    for table in tables {
        let keys = keys(match table {
            "[[route]]" => "[[route]]\nname = 'r'",
            "[[primary.identity.probe]]" => "[[primary.identity.probe]]\npath = '/'\nlabels = {}",
            "[shadow.rewrite]" => "[[shadow]]\n[shadow.rewrite]",
            "[[redact.json]]" => "[[redact.json]]\npath = ''\naction = ''",
            table => table,
        });
        assert!(keys.len() > 1, "{table}: {keys:?}");
        for key in keys {
            // A key that another one shuts out is shown in a comment.
            let line = |start| text.contains(&format!("\n{start}{key} = "));
            let written = line("") || line("# ") || text.contains(&format!(".{key}]"));
            assert!(written, "docs/shadowdiff.toml lacks {key} of {table}");
        }
    }
}

#[test]
fn every_metric_is_explained() {
    let text = docs("OPERATIONS.md");
    for (name, _) in proxy::METRICS {
        assert!(text.contains(&format!("`{name}")), "docs/OPERATIONS.md lacks {name}");
    }
}
