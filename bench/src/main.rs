//! Reproducible benchmarks; figures are kept in RESULTS.md.
//!
//! `bench cost` says what mirroring costs the client, `bench peers` puts the proxy beside nginx, Envoy and a bare hyper proxy; `bench upstream` and
//! `bench floor` are the processes that `peers` starts. Start it with `cargo run --profile dist -p bench -- peers`.
#![allow(clippy::print_stdout, reason = "the tables on standard output are the result")]

mod cost;
mod entry;
mod floor;
mod grpc;
mod load;
mod peers;
mod process;
mod table;
mod upstream;

use clap::Parser;

/// Benchmarks of shadowdiff.
#[derive(Debug, Parser)]
#[command(name = "bench", arg_required_else_help = true)]
enum Args {
    /// What mirroring costs the client: off, to Kafka and to a folder.
    Cost,
    /// The proxy beside others that mirror, in alternating rounds.
    Peers(peers::Args),
    /// A server that does nothing but answer.
    Upstream(upstream::Args),
    /// A bare hyper proxy: what is left when the product is taken away.
    Floor(floor::Args),
}

fn main() -> anyhow::Result<()> {
    match Args::parse() {
        Args::Cost => cost::run(),
        Args::Peers(args) => peers::run(&args),
        Args::Upstream(args) => runtime()?.block_on(upstream::run(args)),
        Args::Floor(args) => runtime()?.block_on(floor::run(args)),
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
