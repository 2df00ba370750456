//! The `dead_letters` table: messages that could not be read.

use super::Kind::{Binary, Int32, Int64, Text, Timestamp};
use super::{Column, column, optional};

/// Columns of `dead_letters/`, in file order.
pub const DEAD_LETTERS: &[Column] = &[
    column("topic", Text, "", "Kafka topic"),
    column("partition", Int32, "", "Kafka partition"),
    column("offset", Int64, "", "Kafka offset"),
    optional("at", Timestamp, "", "Kafka's time of the message"),
    column("reason", Text, "", "why it could not be read"),
    optional("key", Binary, "", "key of the message"),
    optional(
        "payload",
        Binary,
        "",
        "raw bytes of the message, at most the first MiB; null when it had none or no bodies are kept",
    ),
];
