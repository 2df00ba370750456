//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::logging::{Color, Format, Level};

/// Mirrors live inference traffic to a candidate deployment, records both answers, and says go or no-go.
#[derive(Debug, Parser)]
#[command(
    name = "shadowdiff",
    version,
    arg_required_else_help = true,
    after_help = "Examples:
  shadowdiff demo                                       see the whole path work on this machine
  shadowdiff proxy --primary http://a:8000 --candidate http://b:8000 --out set/
  shadowdiff analyze set/ --html report.html

Exit codes: 0 pass or done, 1 the gate failed, 2 inconclusive, 3 the tool failed, 64 wrong usage or configuration."
)]
pub(crate) struct Args {
    /// Least level that is logged [default: info; warn for demo]
    #[arg(long, global = true, value_enum, value_name = "LEVEL")]
    pub(crate) log: Option<Level>,
    /// How logs are written
    #[arg(long, global = true, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) log_format: Format,
    /// When to colour.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Forward traffic to the primary and mirror a part of it
    Proxy(Box<Proxy>),
    /// Read exchanges from Kafka and write them to Parquet
    Record(Record),
    /// Report how far a recorded set diverges, why, and whether to go on
    Analyze(Analyze),
    /// Show how a saved answer is read: its protocol and its outputs
    Decode(Decode),
    /// Compare two saved answers: every metric, and the tolerance it takes to pass
    Diff(Diff),
    /// Widen tolerances to the noise between saved answers of a primary and its control
    Calibrate(Calibrate),
    /// Show the whole path on this machine, with planted faults
    Demo(Demo),
    /// Run one demo model server
    DemoServer(DemoServer),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// Arguments of `proxy`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowdiff proxy --listen 0.0.0.0:8080 --primary http://a1:8000,http://a2:8000 --candidate http://b1:8000 \\
      --sample 5% --kafka broker:9092 --topic shadowdiff
  shadowdiff proxy --config shadowdiff.toml
  shadowdiff proxy --primary http://a:8000 --candidate http://b:8000 --out set/     (no Kafka: records in this process)
  shadowdiff proxy --config shadowdiff.toml --self-test     (asks every node, tells what a shadow receives, and ends)

Flags win over the file. docs/shadowdiff.toml shows every key of the file, docs/OPERATIONS.md explains every metric.")]
pub(crate) struct Proxy {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address to serve clients on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Nodes that answer the clients
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) primary: Vec<String>,
    /// Nodes of the deployment under test
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) candidate: Vec<String>,
    /// Nodes of a second deployment of the primary's own version: the noise floor
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) control: Vec<String>,
    /// Share of requests to mirror: 5%, 0.05 or 1/20 [default: 100%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) sample: Option<String>,
    /// Kafka brokers to publish exchanges to, HOST:PORT[,HOST:PORT…]
    #[arg(long, value_name = "BROKERS", conflicts_with = "out")]
    pub(crate) kafka: Option<String>,
    /// Kafka topic [default: shadowdiff]
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Folder for what Kafka does not take now; sent when it does, also after a restart
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) spool: Option<PathBuf>,
    /// Folder to record into, without Kafka
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Address of /, /metrics, /livez, /readyz, /status and /sampling [default: 127.0.0.1:9901]
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<SocketAddr>,
    /// Name of this proxy in records [default: HOSTNAME-PORT]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Name of this run in records [default: a new unique one]
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// Ask every node of every leg once, tell what was found, and end: 0 when all answer, 1 when not
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub(crate) self_test: Option<Findings>,
}

/// How the findings of a self-test are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Findings {
    /// For people
    Text,
    /// For programs, as one JSON object
    Json,
}

/// Arguments of `record`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowdiff record --kafka broker:9092 --topic shadowdiff --out set/
  shadowdiff record --kafka broker:9092 --out set/ --exit-at-end     (what is there now, then end)

Several recorders of one group share the partitions. Each exchange is recorded once, also after a crash.")]
pub(crate) struct Record {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Kafka brokers, HOST:PORT[,HOST:PORT…]
    #[arg(long, value_name = "BROKERS")]
    pub(crate) kafka: Option<String>,
    /// Kafka topic [default: shadowdiff]
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Folder of the recorded set
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Consumer group [default: shadowdiff-recorder]
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// End once everything that is in the topic now is recorded
    #[arg(long)]
    pub(crate) exit_at_end: bool,
}

/// Arguments of `analyze`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowdiff analyze set/
  shadowdiff analyze set/ --html report.html --json report.json
  shadowdiff analyze set/ --json | jq .verdict

Exit codes: 0 pass, 1 fail, 2 inconclusive, 3 the tool failed, 64 wrong usage.")]
pub(crate) struct Analyze {
    /// Folder of the recorded set
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Write the report as JSON to FILE, or to standard output instead of the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Number of load levels to cut the in-flight counts into
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) load_bins: u16,
    /// Largest tolerable rate of serious divergence: 0.1%, 0.001 or 1/1000
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub(crate) max_rate: String,
    /// Number of worst examples to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) worst: u16,
}

/// What is known of saved answers besides their bodies.
#[derive(Debug, ClapArgs)]
pub(crate) struct About {
    /// Path of the request, by which some protocols are told apart
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) path: String,
    /// Header of the answer; may be given several times (trailers too, such as grpc-status)
    #[arg(long = "header", value_name = "'NAME: VALUE'")]
    pub(crate) headers: Vec<String>,
    /// Status of the answer
    #[arg(long, value_name = "CODE", default_value_t = 200)]
    pub(crate) status: u16,
    /// File of rules: a configuration with a `[compare]` table, or only what would be in it
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
}

/// Arguments of `decode`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  curl -s http://a:8000/v2/models/ranker/infer -d @request.json | shadowdiff decode - --path /v2/models/ranker/infer
  shadowdiff decode answer.bin --header 'Inference-Header-Content-Length: 132'
  shadowdiff decode answer.json --rules shadowdiff.toml --json

Exit codes: 0 decoded, 3 cannot be decoded (it says why), 64 wrong usage.")]
pub(crate) struct Decode {
    /// Body of the answer as it crossed the wire; - for standard input
    #[arg(value_name = "BODY")]
    pub(crate) body: PathBuf,
    #[command(flatten)]
    pub(crate) about: About,
    /// Print JSON, with every element
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `diff`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowdiff diff a.json b.json --path /v2/models/ranker/infer
  shadowdiff diff a.bin b.bin --header 'Inference-Header-Content-Length: 132' --rules shadowdiff.toml
  shadowdiff diff a.json b.json --json | jq '.outputs[].needed'

Try a rule on one pair before a run, or make a report of one: ids of a recorded pair lead to its bodies.

Exit codes: 0 within tolerance, 1 they differ, 3 one cannot be decoded (it says why), 64 wrong usage.")]
pub(crate) struct Diff {
    /// Body of the primary's answer; - for standard input
    #[arg(value_name = "PRIMARY")]
    pub(crate) primary: PathBuf,
    /// Body of the candidate's answer; - for standard input
    #[arg(value_name = "CANDIDATE")]
    pub(crate) candidate: PathBuf,
    #[command(flatten)]
    pub(crate) about: About,
    /// Header of the candidate's answer, if its headers are others than the primary's; may be given several times
    #[arg(long = "candidate-header", value_name = "'NAME: VALUE'")]
    pub(crate) candidate_headers: Vec<String>,
    /// Body of the request: it tells whether a generation was sampled
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `calibrate`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: shadowdiff calibrate a1.json control1.json a2.json control2.json >> shadowdiff.toml

Each output gets 3 times the 99.9 % quantile of its noise, if that is wider than its tolerance. Never give answers of a
candidate: its faults would widen the tolerance that is to find them.

Exit codes: 0 done, 3 an answer cannot be decoded, 64 wrong usage, too few elements, or more noise than 10 tolerances."
)]
pub(crate) struct Calibrate {
    /// Bodies of answers, the primary's and the control's in turn
    #[arg(value_name = "PRIMARY CONTROL", required = true, num_args = 2..)]
    pub(crate) answers: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) about: About,
    /// Accept noise of more than 10 times the tolerance
    #[arg(long)]
    pub(crate) accept_noise: bool,
}

/// Arguments of `demo`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Starts 2 primary and 4 candidate nodes of a small ranking model, a proxy, an in-process Kafka, a recorder and a
load that climbs. One candidate node returns zeros (an old GPU), and all candidates share a buffer that two requests
overwrite for each other above 8 requests in flight. The report finds both, from the recorded files alone.

Ends with 0 when the analyzer finds both faults and with 1 when it does not."
)]
pub(crate) struct Demo {
    /// Folder to leave the recorded set and the report in; a folder that an earlier demo made is replaced
    #[arg(long, value_name = "DIR", default_value = "shadowdiff-demo")]
    pub(crate) out: PathBuf,
    /// Seed of the load
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Arguments of `demo-server`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowdiff demo-server --listen 127.0.0.1:8000
  shadowdiff demo-server --listen 127.0.0.1:8001 --label gpu='Tesla M10' --fault zero
  shadowdiff demo-server --listen 127.0.0.1:8002 --fault race:8

Faults: zero (all scores 0), race:N (requests overwrite each other above N in flight), slow:F (F times slower),
error:N (each Nth request answers 500), hang:N (each Nth request never answers).")]
pub(crate) struct DemoServer {
    /// Address to serve on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000")]
    pub(crate) listen: SocketAddr,
    /// Name of the node [default: HOSTNAME-PORT]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Label of the node; may be given several times
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<String>,
    /// Planted fault; may be given several times
    #[arg(long = "fault", value_name = "FAULT")]
    pub(crate) faults: Vec<String>,
    /// Time a request takes
    #[arg(long, value_name = "MS", default_value_t = 30)]
    pub(crate) service_time_ms: u64,
}

/// Arguments of `completions`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example: shadowdiff completions bash > /etc/bash_completion.d/shadowdiff")]
pub(crate) struct Completions {
    /// Shell to write for
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
