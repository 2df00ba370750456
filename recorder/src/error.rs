//! Why recording stopped.

use std::path::{Path, PathBuf};

/// What ended a recording. A message that cannot be read never does: it becomes a dead letter.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refused: disk full, no permission, not a folder.
    #[error("cannot {doing} {path}: {source}; give a folder that can be written and has room")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A Parquet file could not be written.
    #[error("cannot write {path}: {source}; give a folder that can be written and has room")]
    Parquet {
        /// The temporary file.
        path: PathBuf,
        /// The writer's answer.
        source: parquet::errors::ParquetError,
    },
    /// Without Kafka: what the open file held is gone with it.
    #[error("{source}; without Kafka, the {messages} messages of the file that was open are lost")]
    Lost {
        /// Messages of any kind.
        messages: u64,
        /// Why the file could not be put into the set.
        source: Box<RecordError>,
    },
    /// The folder holds something else.
    #[error("{path} is no recorded set: {reason}; name a new or an empty folder")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What tells so.
        reason: String,
    },
    /// Two files of the set cover the same offset.
    #[error("{first} and {second} cover the same offsets; move one of them out of the set")]
    Overlap {
        /// Name of one file.
        first: String,
        /// Name of the other.
        second: String,
    },
    /// Another recorder writes this partition into the same folder.
    #[error("another recorder holds {path}; stop it, or record into another folder")]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// The set is ahead of the topic.
    #[error(
        "the set holds {topic}-{partition} up to offset {next}, but the topic ends at {high}: the topic was made anew; \
         record into a new folder"
    )]
    Remade {
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// First offset that the set does not hold.
        next: i64,
        /// End of the partition in Kafka.
        high: i64,
    },
    /// Not a topic that can be recorded.
    #[error("topic {topic:?} {reason}")]
    Topic {
        /// The name.
        topic: String,
        /// What is wrong and what to do.
        reason: &'static str,
    },
    /// The Kafka client refuses an option.
    #[error("Kafka client: {0}; check the [kafka.options] table")]
    Options(String),
    /// The Kafka client failed for good.
    #[error("cannot {doing}: {source}; check the brokers and the client's options")]
    Kafka {
        /// What was tried.
        doing: &'static str,
        /// The client's answer.
        source: rdkafka::error::KafkaError,
    },
}

impl RecordError {
    /// For `map_err`: a refusal of the file system.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// For `map_err`: a failure of the Parquet writer.
    pub(crate) fn parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Parquet { path, source }
    }
}
