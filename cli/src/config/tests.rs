use clap::Parser;

use super::{file, record, resolve};
use crate::args::{Args, Command, Proxy};

fn flags(line: &str) -> Proxy {
    match Args::try_parse_from(line.split_whitespace()).unwrap().command {
        Command::Proxy(flags) => *flags,
        other => panic!("{other:?}"),
    }
}

fn resolved(line: &str, text: &str) -> anyhow::Result<resolve::Proxy> {
    resolve::proxy(&flags(line), &file::parse(text)?, "host")
}

const FILE: &str = r#"
[sampling]
sample = "5%"
by = "header:x-user"
[primary]
nodes = ["http://a:1"]
[[shadow]]
nodes = [{ url = "http://b:1", name = "gpu-7", labels = { gpu = "A10", driver = "550" } }]
timeout_ms = 1500
[[shadow]]
role = "control"
nodes = ["http://c:1"]
[[route]]
name = "infer"
methods = ["post"]
path = "/v2/"
[kafka]
brokers = "k:9092"
options = { "security.protocol" = "PLAINTEXT" }
"#;

#[test]
fn a_file_says_it_all() {
    let proxy = resolved("shadowdiff proxy", FILE).unwrap();
    let config = &proxy.config;
    assert_eq!(config.name, "host-8080");
    assert_eq!(config.shadows.len(), 2);
    let node = &config.shadows[0].target.nodes[0];
    assert_eq!(node.name, "gpu-7");
    assert_eq!(node.labels, [("driver".into(), "550".into()), ("gpu".into(), "A10".into())]);
    assert_eq!(config.shadows[0].target.total_timeout.unwrap().as_millis(), 1500);
    assert_eq!(config.shadows[1].target.name, "control");
    assert!((config.sampling.fraction.get() - 0.05).abs() < 1e-12);
    assert!(
        matches!(proxy.to, resolve::Destination::Kafka(settings, None) if settings.topic == "shadowdiff" && settings.options.len() == 1)
    );
}

#[test]
fn a_spool_is_given_by_flag_or_file_and_has_room() {
    let spool = |line: &str, text: &str| match resolved(line, text).unwrap().to {
        resolve::Destination::Kafka(_, spool) => spool.unwrap(),
        other => panic!("{other:?}"),
    };
    let line = "shadowdiff proxy --primary http://a:1 --candidate http://b:1 --kafka k:1";
    let of_file = spool(line, "[kafka]\nspool = 'from-file'\nspool_bytes = 20000000");
    assert_eq!((of_file.dir.to_str(), of_file.bytes), (Some("from-file"), 20_000_000));
    let of_flag = spool(&format!("{line} --spool from-flag"), "[kafka]\nspool = 'from-file'");
    assert_eq!((of_flag.dir.to_str(), of_flag.bytes), (Some("from-flag"), 1 << 30));
}

#[test]
fn flags_win_over_the_file() {
    let proxy =
        resolved("shadowdiff proxy --candidate http://x:1,http://y:1 --sample 1/2 --out set --name p", FILE)
            .unwrap();
    assert_eq!(proxy.config.name, "p");
    assert_eq!(proxy.config.shadows.iter().map(|s| s.target.nodes.len()).collect::<Vec<_>>(), [2, 1]);
    assert!((proxy.config.sampling.fraction.get() - 0.5).abs() < 1e-12);
    assert!(matches!(proxy.to, resolve::Destination::Folder(_)));
    assert_eq!(proxy.config.limits.message, usize::MAX, "bodies are cut for a broker only");
}

#[test]
fn what_is_missing_or_wrong_is_named_with_its_remedy() {
    let enough = "shadowdiff proxy --primary http://a:1 --candidate http://b:1 --out set";
    for (line, text, wanted) in [
        ("shadowdiff proxy --primary http://a:1 --out set", "", "--candidate"),
        ("shadowdiff proxy --candidate http://a:1 --out set", "", "primary has no node"),
        ("shadowdiff proxy --primary http://a:1 --candidate http://b:1", "", "--kafka BROKERS or --out DIR"),
        (enough, "[sampling]\nsampel = '5%'", "unknown field `sampel`"),
        (enough, "[sampling]\nsample = '500%'", "500%"),
        (enough, "[compare]\ntolerence = 1", "unknown field `tolerence`"),
        (enough, "[[route]]\nname = 'r'\npath = 'v2'", "begins with /"),
        (enough, "[primary]\nnodes = [{ ur = 'http://a:1' }]", "{ url = \"http://HOST:PORT\""),
        (enough, "[limits]\nmirror_inflight = 0", "lets nothing through"),
        (enough, "[primary]\ntimeout_ms = 0", "timeout of primary is 0"),
        (enough, "[primary]\nconnect_timeout_ms = 0", "connect timeout of primary is 0"),
        (enough, "[proxy]\nname = 'team/a'", "give --name"),
        (
            "shadowdiff proxy --primary http://a:1 --candidate http://b:1 --kafka k:1",
            "[kafka]\nqueue_messages = 0",
            "at least 1",
        ),
        (
            "shadowdiff proxy --primary http://a:1 --candidate http://b:1 --kafka k:1 --spool s",
            "[kafka]\nspool_bytes = 1000",
            "16 MiB",
        ),
        ("shadowdiff proxy --primary ftp://a:1 --candidate http://b:1 --out set", "", "http:// or https://"),
        (
            "shadowdiff proxy --primary https://a:1 --candidate http://b:1 --out set",
            "[primary.tls]\nca = 'a.pem'\nverify = false",
            "contradict",
        ),
        (
            "shadowdiff proxy --primary http://a:1 --candidate http://b:1 --out set",
            "[listener]\ncert = 'a'",
            "both",
        ),
        (
            "shadowdiff proxy --primary http://a:1,http://a:1 --candidate http://b:1 --out set",
            "",
            "named twice",
        ),
    ] {
        let error = format!("{:#}", resolved(line, text).unwrap_err());
        assert!(error.contains(wanted), "{line} {text}: {error}");
    }
}

#[test]
fn the_recorder_shares_the_file() {
    let Command::Record(flags) =
        Args::try_parse_from(["shadowdiff", "record", "--out", "set"]).unwrap().command
    else {
        panic!()
    };
    let (source, settings) = record::record(&flags, &file::parse(FILE).unwrap()).unwrap();
    assert_eq!((source.brokers.as_str(), source.group.as_str()), ("k:9092", "shadowdiff-recorder"));
    assert_eq!(settings.values_cap, 4096);
    let text = format!("{FILE}\n[record]\nbodies = 'some'");
    assert!(record::record(&flags, &file::parse(&text).unwrap()).is_err());
}
