//! `shadowdiff demo-server`: one demo model server.

use std::time::Duration;

use anyhow::Context;
use demo::{Fault, ServerOptions};
use tokio::net::TcpListener;

use super::{bind, hostname, runtime};
use crate::args;
use crate::exit::Usage;
use crate::signals::Stop;

pub(crate) fn run(args: args::DemoServer) -> anyhow::Result<u8> {
    let labels = args.labels.iter().map(|label| {
        let pair = label.split_once('=').filter(|(key, _)| !key.is_empty());
        pair.map(|(key, value)| (key.to_owned(), value.to_owned()))
            .with_context(|| format!("label `{label}`: write KEY=VALUE"))
    });
    let options = ServerOptions {
        name: args.name.unwrap_or_else(|| format!("{}-{}", hostname(), args.listen.port())),
        labels: labels.collect::<anyhow::Result<_>>().map_err(Usage::of)?,
        service_time: Duration::from_millis(args.service_time_ms),
        faults: args
            .faults
            .iter()
            .map(|fault| fault.parse())
            .collect::<Result<Vec<Fault>, _>>()
            .map_err(Usage::of)?,
    };
    let listener = bind(args.listen, "listen")?;
    runtime(None)?.block_on(async {
        let stop = Stop::catch()?;
        let listener = TcpListener::from_std(listener)?;
        tracing::info!("listening addr={}", listener.local_addr()?);
        demo::serve(listener, options, stop.wait()).await.context("demo server")
    })?;
    Ok(0)
}
