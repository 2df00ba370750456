//! What mirroring costs the client: latency and CPU of `shadowdiff proxy` with mirroring off and on, in one run.
//!
//!     cargo build --release && cargo run --release -p bench -- cost
//!
//! Starts two demo servers and three proxies as processes of their own (mirroring off, on to an in-process Kafka, on to a
//! folder), drives each with the same closed loop in alternating rounds, and prints medians and ratios as Markdown.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use demo::load::{self, Step};
use rdkafka::mocking::MockCluster;

use crate::process::Server;

const ROUNDS: usize = 5;
const CONCURRENCY: usize = 32;

/// One round of one entry.
#[derive(Debug, Clone, Copy)]
struct Round {
    p50: Duration,
    p99: Duration,
    per_second: f64,
    cpu_per_100k: f64,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let binary = std::env::current_exe()?.with_file_name("shadowdiff");
    if !binary.exists() {
        bail!("{} is missing: build it first with the same profile, cargo build --release", binary.display());
    }
    let cluster = MockCluster::new(1).map_err(|error| anyhow::anyhow!("{error}"))?;
    cluster.create_topic("bench", 16, 1).map_err(|error| anyhow::anyhow!("{error}"))?;
    let brokers = cluster.bootstrap_servers();
    println!(
        "Closed loop, {CONCURRENCY} connections, {ROUNDS} alternating rounds, medians; p50 and p99 as the client sees them.\n"
    );
    println!("| server takes | entry | p50 ms | x off | p99 ms | x off | req/s | CPU s per 100k | x off |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for (service_ms, requests) in [(0, 15_000), (10, 6_000)] {
        measure(&binary, &brokers, service_ms, requests)?;
    }
    Ok(())
}

fn measure(binary: &Path, brokers: &str, service_ms: u64, requests: usize) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("shadowdiff-bench-{}-{service_ms}", std::process::id()));
    let service = service_ms.to_string();
    let model =
        || Server::start(binary, &["demo-server", "--listen", "127.0.0.1:0", "--service-time-ms", &service]);
    let (primary, candidate) = (model()?, model()?);
    let (primary_url, candidate_url) = (primary.url(), candidate.url());
    let folder_name = folder.display().to_string();
    let proxy = |more: &[&str]| {
        let common = ["--log", "info", "proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let nodes = ["--primary", &primary_url, "--candidate", &candidate_url];
        Server::start(binary, &[&common[..], &nodes[..], more].concat())
    };
    let entries = [
        ("off", proxy(&["--sample", "0%", "--kafka", brokers, "--topic", "bench"])?),
        ("on, Kafka", proxy(&["--sample", "100%", "--kafka", brokers, "--topic", "bench"])?),
        ("on, folder", proxy(&["--sample", "100%", "--out", &folder_name])?),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let step = Step { concurrency: CONCURRENCY, requests };
    let mut rounds = vec![Vec::new(); entries.len()];
    for round in 0..=ROUNDS {
        for ((name, server), rounds) in entries.iter().zip(&mut rounds) {
            let before = server.cpu_seconds()?;
            let report = runtime.block_on(load::run(server.address, &[step], 1, |_| {}))?;
            if report.failed() > 0 {
                bail!("{name}: {} requests failed", report.failed());
            }
            let step = report.steps.first().context("one step was asked for")?;
            let cpu = server.cpu_seconds()? - before;
            // The first round warms connections and caches.
            if round > 0 {
                rounds.push(Round {
                    p50: step.p50,
                    p99: step.p99,
                    per_second: requests as f64 / step.elapsed.as_secs_f64(),
                    cpu_per_100k: cpu * 1e5 / requests as f64,
                });
            }
        }
    }
    let median = |rounds: &[Round], value: fn(&Round) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for ((name, _), entry) in entries.iter().zip(&rounds) {
        let both = |value: fn(&Round) -> f64| {
            (median(entry, value), median(entry, value) / median(&rounds[0], value))
        };
        let (p50, p50_ratio) = both(|round| round.p50.as_secs_f64() * 1e3);
        let (p99, p99_ratio) = both(|round| round.p99.as_secs_f64() * 1e3);
        let (cpu, cpu_ratio) = both(|round| round.cpu_per_100k);
        let rate = median(entry, |round| round.per_second);
        println!(
            "| {service_ms} ms | {name} | {p50:.2} | {p50_ratio:.2} | {p99:.2} | {p99_ratio:.2} | {rate:.0} | {cpu:.2} | {cpu_ratio:.2} |"
        );
    }
    drop(entries);
    // What a benchmark recorded is of no use to anybody.
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}
