//! File and flags together, as the recorder's settings.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use recorder::{Bodies, Rotation, Settings, Source};

use super::raw;
use super::resolve::TOPIC;
use crate::args;

/// How to write a set into `out`.
///
/// # Errors
/// When a value is none.
pub(crate) fn settings(file: &raw::Raw, out: PathBuf) -> anyhow::Result<Settings> {
    let record = &file.record;
    let rotation = Rotation::default();
    let bodies = match record.bodies.as_deref() {
        None | Some("all") => Bodies::All,
        Some("divergent") => Bodies::Divergent,
        Some("none") => Bodies::None,
        Some(other) => bail!("bodies `{other}`: write all, divergent or none"),
    };
    Ok(Settings {
        out,
        rules: file.compare.clone(),
        rotation: Rotation {
            rows: record.file_rows.unwrap_or(rotation.rows),
            bytes: record.file_bytes.unwrap_or(rotation.bytes),
            age: record.file_age_ms.map_or(rotation.age, Duration::from_millis),
        },
        bodies,
        values_cap: record.values_cap.unwrap_or(4096),
    })
}

/// Where `shadowdiff record` reads and writes.
///
/// # Errors
/// When a value is none, or what is needed is not there.
pub(crate) fn record(flags: &args::Record, file: &raw::Raw) -> anyhow::Result<(Source, Settings)> {
    let brokers = flags.kafka.clone().or_else(|| file.kafka.brokers.clone());
    let out = flags.out.clone().or_else(|| file.record.out.clone());
    let source = Source {
        brokers: brokers.context("no brokers: give --kafka HOST:PORT")?,
        topic: flags.topic.clone().or_else(|| file.kafka.topic.clone()).unwrap_or_else(|| TOPIC.into()),
        group: flags
            .group
            .clone()
            .or_else(|| file.record.group.clone())
            .unwrap_or_else(|| "shadowdiff-recorder".into()),
        options: file.kafka.options.clone().into_iter().collect(),
    };
    Ok((source, settings(file, out.context("no folder: give --out DIR")?)?))
}
