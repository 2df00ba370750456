//! `shadowdiff demo`: the whole path in one process, with planted faults.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use analyzer::{Options, report};
use anyhow::{Context, anyhow, bail};
use demo::{Fault, LoadReport, ServerOptions, load};
use exchange::{Pairs, Role};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use proxy::config::{Config, Limits, Listener, Node, Sampling, Shadow, Target};
use proxy::publish::{Kafka, KafkaSettings};
use rdkafka::mocking::MockCluster;
use recorder::{Control, Settings, Source};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{analyze, runtime};
use crate::args;
use crate::exit::Usage;
use crate::logging::{self, Color, say};

/// Requests above which two of them share a buffer on a candidate node.
const SLOTS: &str = "race:8";

/// Marks a folder that a demo made and may replace.
const MARK: &str = ".shadowdiff-demo";

/// The in-process broker keeps 5 MiB per partition: many partitions leave the recorder room.
const PARTITIONS: i32 = 16;

const TOPIC: &str = "shadowdiff-demo";

pub(crate) fn run(args: args::Demo, color: Color) -> anyhow::Result<u8> {
    prepare(&args.out)?;
    let set = args.out.join("set");
    let cluster = MockCluster::new(1).map_err(|error| anyhow!("in-process Kafka: {error}"))?;
    cluster.create_topic(TOPIC, PARTITIONS, 1).map_err(|error| anyhow!("in-process Kafka: {error}"))?;
    let brokers = cluster.bootstrap_servers();

    say(
        "shadowdiff demo: 2 primary and 4 candidate nodes, proxy, in-process Kafka, recorder, load, analyzer",
    );
    let control = Control::new();
    let recording = {
        let source = Source {
            brokers: brokers.clone(),
            topic: TOPIC.into(),
            group: "shadowdiff-recorder".into(),
            options: Vec::new(),
        };
        let (settings, control) = (Settings::new(&set), control.clone());
        std::thread::spawn(move || recorder::record(&source, &settings, &control, &mut |_| {}))
    };
    let driven = runtime(None)?.block_on(drive(&brokers, args.seed));
    // The recorder ends in any case, so that an error of the load is not hidden by one that waits for ever.
    if driven.is_ok() {
        control.finish()
    } else {
        control.stop()
    }
    let progress = recording.join().map_err(|_| anyhow!("the recorder died"))?;
    let (load, delivered) = driven?;
    let progress = progress?;
    say(&format!(
        "  {} requests answered, {} failed; {delivered} exchanges through Kafka, {} rows in {} files",
        load.answered(),
        load.failed(),
        progress.rows,
        progress.files
    ));

    let summary = analyze::summarize(&set, &Options::default())?;
    let html = args.out.join("report.html");
    analyze::write(&html, &report::html(&summary))?;
    logging::print(&report::terminal(&summary, &analyze::style(color)))?;
    say(&format!(
        "\n  report   {}\n  set      {}\n  again    shadowdiff analyze {}",
        html.display(),
        set.display(),
        set.display()
    ));

    let found: Vec<&str> = summary.verdict.findings.iter().map(|finding| finding.name).collect();
    let planted = ["DEGENERATE_NODE", "LOAD_RACE"];
    let missed: Vec<&str> = planted.into_iter().filter(|name| !found.contains(name)).collect();
    if !missed.is_empty() {
        say(&format!("\n  the analyzer did not name {}: this demo failed", missed.join(" and ")));
        return Ok(1);
    }
    say("\n  both planted faults were found: the zero node and the load race");
    Ok(0)
}

/// Makes an empty folder, in place of one that an earlier demo made.
fn prepare(out: &Path) -> anyhow::Result<()> {
    let occupied = out.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        if !out.join(MARK).exists() {
            return Err(Usage::of(anyhow!(
                "{} is not empty and no demo made it: choose another folder with --out",
                out.display()
            )));
        }
        std::fs::remove_dir_all(out).with_context(|| format!("{} cannot be replaced", out.display()))?;
    }
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(out.join(MARK), ""))
        .with_context(|| format!("{} cannot be made", out.display()))
}

/// Runs servers, proxy and load; returns what the load saw and how many exchanges Kafka took.
async fn drive(brokers: &str, seed: u64) -> anyhow::Result<(LoadReport, u64)> {
    let (stop, stopped) = watch::channel(false);
    let mut primary = Vec::new();
    for number in 0..2 {
        primary.push(
            start(&format!("primary-{number}"), &[("gpu", "A10"), ("driver", "550.54")], vec![], &stopped)
                .await?,
        );
    }
    let mut candidate = Vec::new();
    let race: Fault = SLOTS.parse()?;
    for number in 0..4 {
        let (labels, faults) = if number == 2 {
            ([("gpu", "Tesla M10"), ("driver", "390.157")], vec![race, "zero".parse()?])
        } else {
            ([("gpu", "L4"), ("driver", "570.86")], vec![race])
        };
        candidate.push(start(&format!("candidate-{number}"), &labels, faults, &stopped).await?);
    }
    let publisher = Arc::new(Kafka::connect(KafkaSettings::new(brokers, TOPIC))?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let listeners = vec![listener.into_std()?];
    let mut proxy_stop = stopped.clone();
    let running =
        tokio::spawn(proxy::run(config(primary, candidate), listeners, None, publisher, async move {
            let _ = proxy_stop.wait_for(|stop| *stop).await;
        }));
    load::wait_ready(address, Duration::from_secs(10)).await?;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("  load level {msg} {bar:40} {pos}/{len} requests") {
        bar.set_style(style);
    }
    let drawn = bar.clone();
    let load = load::run(address, &load::climb(), seed, move |progress| {
        drawn.set_length(progress.total as u64);
        drawn.set_position(progress.total_done as u64);
        drawn.set_message(format!(
            "{}/{} ({} at once)",
            progress.step + 1,
            progress.steps,
            progress.concurrency
        ));
    })
    .await;
    bar.finish_and_clear();
    stop.send_replace(true);
    let ledger = running.await.map_err(|_| anyhow!("the proxy died"))??;
    let load = load?;
    if load.answered() == 0 {
        bail!("no request was answered");
    }
    Ok((load, ledger.total(|item| item == exchange::Item::Delivered)))
}

async fn start(
    name: &str,
    labels: &[(&str, &str)],
    faults: Vec<Fault>,
    stopped: &watch::Receiver<bool>,
) -> anyhow::Result<Node> {
    let labels: Pairs = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let options = ServerOptions {
        name: name.into(),
        labels: labels.clone().into_iter().collect(),
        faults,
        ..ServerOptions::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address: SocketAddr = listener.local_addr()?;
    let mut stopped = stopped.clone();
    tokio::spawn(demo::serve(listener, options, async move {
        // The servers outlive the proxy's drain: they stop when the sender is gone.
        while stopped.changed().await.is_ok() {}
    }));
    let mut node: Node = address.to_string().parse::<Node>()?.with_labels(labels);
    name.clone_into(&mut node.name);
    Ok(node)
}

fn config(primary: Vec<Node>, candidate: Vec<Node>) -> Config {
    let (mut primary, mut candidate) = (Target::new("primary", primary), Target::new("candidate", candidate));
    primary.first_byte_timeout = Some(Duration::from_secs(10));
    candidate.total_timeout = Some(Duration::from_secs(10));
    candidate.rewrite = proxy::config::Rewrite::of_copies();
    Config {
        name: "demo".into(),
        run: exchange::Uuid::now_v7().to_string(),
        listener: Listener::default(),
        primary,
        shadows: vec![Shadow { target: candidate, role: Role::Candidate }],
        sampling: Sampling::default(),
        limits: Limits::default(),
        secrets: Vec::new(),
        redaction: proxy::config::Redaction::default(),
        ledger_every: Duration::from_secs(10),
        traces: None,
        resolver: Arc::new(proxy::resolve::System),
        drain: Duration::from_secs(10),
    }
}
