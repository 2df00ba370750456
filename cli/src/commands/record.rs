//! `shadowdiff record`.

use std::time::Instant;

use anyhow::anyhow;
use recorder::{Control, RecordError};

use super::{TELL_EVERY, runtime};
use crate::args;
use crate::config::{file, record};
use crate::exit::Usage;
use crate::signals::Stop;

pub(crate) fn run(args: args::Record) -> anyhow::Result<u8> {
    let file = file::read(args.config.as_deref())?;
    let (source, settings) = record::record(&args, &file).map_err(Usage::of)?;
    tracing::info!(brokers = source.brokers, topic = source.topic, group = source.group, out = %settings.out.display(), "recording");
    let control = Control::new();
    if args.exit_at_end {
        control.finish();
    }
    let stopping = control.clone();
    let recording = move || {
        let mut told = Instant::now();
        recorder::record(&source, &settings, &stopping, &mut |progress| {
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                let lag = progress.lag.map_or_else(|| "unknown".into(), |lag| lag.to_string());
                tracing::info!(
                    rows = progress.rows,
                    files = progress.files,
                    dead_letters = progress.dead_letters,
                    lag,
                    "recording"
                );
            }
        })
    };
    let progress = runtime(Some(1))?.block_on(async {
        let stop = Stop::catch()?;
        let mut recording = tokio::task::spawn_blocking(recording);
        let recorded = tokio::select! {
            recorded = &mut recording => recorded,
            () = stop.wait() => {
                tracing::info!("stopping: files are closed");
                control.stop();
                recording.await
            }
        };
        recorded.map_err(|_| anyhow!("the recorder died"))?.map_err(|error| match error {
            RecordError::Options(_) | RecordError::Topic { .. } => Usage::of(error),
            other => other.into(),
        })
    })?;
    tracing::info!(
        rows = progress.rows,
        ledgers = progress.ledgers,
        dead_letters = progress.dead_letters,
        duplicates = progress.duplicates,
        files = progress.files,
        "recorded"
    );
    Ok(0)
}
