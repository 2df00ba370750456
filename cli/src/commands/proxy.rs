//! `shadowdiff proxy`.

mod reload;

use std::sync::Arc;

use exchange::{Item, Ledger};
use proxy::Control;
use proxy::publish::{Kafka, Publish, Spool};
use proxy::selftest::{self, Ask};
use tokio::net::TcpListener;

use super::{bind, hostname, listeners, runtime};
use crate::config::resolve::{Destination, Threads};
use crate::config::{file, record, resolve};
use crate::exit::Usage;
use crate::signals::{Again, Stop};
use crate::{args, descriptors, folder, logging};
use reload::Reload;

pub(crate) fn run(args: args::Proxy) -> anyhow::Result<u8> {
    let (file, tables) = file::read_with_tables(args.config.as_deref())?;
    let mut resolved = resolve::proxy(&args, &file, &hostname()).map_err(Usage::of)?;
    if resolved.config.redaction.key.as_ref().is_some_and(|key| !key.is_lasting()) {
        tracing::warn!(
            "hashes of [redact] are equal within this start of this proxy only: name a key_file or key_env"
        );
    }
    if let Some(format) = args.self_test {
        return self_test(&resolved.config, resolved.ask, format);
    }
    descriptors::fit(&mut resolved.config);
    let listeners = (listeners(resolved.listen, resolved.threads)?, bind(resolved.admin, "admin")?);
    let mut recording = None;
    let publisher: Arc<dyn Publish> = match &resolved.to {
        Destination::Kafka(settings, spool) => {
            let kafka = Kafka::connect(settings.clone()).map_err(Usage::of)?;
            match spool {
                Some(spool) => Arc::new(Spool::open(spool.clone(), kafka).map_err(Usage::of)?),
                None => Arc::new(kafka),
            }
        }
        Destination::Folder(out) => {
            let settings = record::settings(&file, out.clone()).map_err(Usage::of)?;
            let (publisher, thread) = folder::open(settings, &resolved.config.name)?;
            recording = Some(thread);
            publisher
        }
    };
    // Workers have runtimes of their own; what is left is the admin port and the ledger.
    let threads = match resolved.threads {
        Threads::PerCore(_) => 1,
        Threads::Shared(threads) => threads,
    };
    let control = Control::new(&resolved.config);
    let reload = Reload::new(args, &file, tables, control.clone(), &resolved.config);
    let ledger =
        runtime(Some(threads))?.block_on(serve(resolved.config, control, reload, listeners, publisher))?;
    let recorded = recording.map(folder::Recording::join).transpose()?;
    tell(&ledger, recorded.as_ref().map(|recorded| recorded.progress.rows));
    if let Some(recorded) = recorded {
        tracing::info!(rows = recorded.progress.rows, files = recorded.progress.files, "recorded");
        if let Some(error) = recorded.error {
            return Err(error.into());
        }
    }
    Ok(0)
}

/// Asks every node and tells what was found.
fn self_test(config: &proxy::Config, ask: Option<Ask>, format: args::Findings) -> anyhow::Result<u8> {
    let findings = runtime(Some(1))?.block_on(selftest::self_test(config, ask)).map_err(Usage::of)?;
    logging::print(&match format {
        args::Findings::Text => findings.to_string(),
        args::Findings::Json => findings.json(),
    })?;
    Ok(u8::from(!findings.ok))
}

async fn serve(
    config: proxy::Config,
    control: Arc<Control>,
    mut reload: Reload,
    (listeners, admin): (Vec<std::net::TcpListener>, std::net::TcpListener),
    publisher: Arc<dyn Publish>,
) -> anyhow::Result<Ledger> {
    let (stop, mut again) = (Stop::catch()?, Again::catch()?);
    let admin = TcpListener::from_std(admin)?;
    let nodes = |target: &proxy::config::Target| {
        target.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(",")
    };
    tracing::info!(primary = nodes(&config.primary), "target");
    for shadow in &config.shadows {
        let sample = config.sampling.fraction.get();
        tracing::info!(shadow = shadow.target.name, nodes = nodes(&shadow.target), sample, "target");
    }
    tracing::info!(to = publisher.describe(), run = config.run, proxy = config.name, "recording");
    if let Some(listener) = listeners.first() {
        tracing::info!("listening addr={} admin={}", listener.local_addr()?, admin.local_addr()?);
    }
    let reloading = tokio::spawn(async move {
        while again.next().await.is_some() {
            reload.read_again();
        }
    });
    let ledger = proxy::run_with(config, control, listeners, Some(admin), publisher, stop.wait()).await;
    reloading.abort();
    ledger.map_err(Usage::of)
}

/// Tells what became of what was mirrored; `rows` are in the set of this process, where it recorded itself.
fn tell(ledger: &Ledger, rows: Option<u64>) {
    let mirrored = ledger.total(|item| item == Item::Mirrored);
    let delivered = rows.unwrap_or_else(|| ledger.total(|item| item == Item::Delivered));
    let dropped = ledger.total(|item| matches!(item, Item::Dropped(_)));
    let spooled = ledger.total(|item| item == Item::Spooled);
    let lost = mirrored.saturating_sub(delivered + spooled);
    if spooled > 0 {
        tracing::warn!(spooled, "exchanges wait in the spool: the next start on it sends them");
    }
    if lost == 0 {
        tracing::info!(mirrored, delivered, spooled, dropped, "stopped");
    } else {
        tracing::error!(
            mirrored,
            delivered,
            spooled,
            dropped,
            lost,
            "stopped: not all that was mirrored is recorded"
        );
    }
}
