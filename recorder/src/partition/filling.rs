//! A range of offsets whose files are being written.

use std::sync::Arc;
use std::time::Duration;

use exchange::columns::{Column, DEAD_LETTERS, EXCHANGES, LEDGER, RULES_KEY, UNUSED_KEY};
use exchange::wire::{self, Record};

use super::Message;
use super::closing::Closing;
use super::unused::Unused;
use crate::progress::Counts;
use crate::rows::{DeadLetter, Origin, judge, put_dead_letter, put_exchange, put_ledger};
use crate::set::{FileName, SetRoot, Table};
use crate::writer::TableWriter;
use crate::{Bodies, Fill, RecordError, Settings};

/// The open files of one range.
pub(crate) struct Filling {
    set: SetRoot,
    settings: Arc<Settings>,
    name: FileName,
    opened: Duration,
    counts: Counts,
    /// Time of the first exchange, which gives the folder.
    received_at_us: Option<i64>,
    /// Time of the first message, which gives it where there is no exchange.
    message_at_us: Option<i64>,
    exchanges: TableWriter,
    unused: Unused,
    ledger: Option<TableWriter>,
    dead_letters: Option<TableWriter>,
}

impl Filling {
    /// Makes the files of a range that begins at offset `first`.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(super) fn open(
        set: &SetRoot,
        settings: &Arc<Settings>,
        topic: &str,
        partition: i32,
        first: i64,
        now: Duration,
    ) -> Result<Self, RecordError> {
        let temp = set.temp(Table::Exchanges, topic, partition);
        let rules = settings.rules.hash();
        let exchanges = TableWriter::create(temp, EXCHANGES, &[(RULES_KEY, rules.as_str())])?;
        Ok(Self {
            set: set.clone(),
            settings: settings.clone(),
            name: FileName { topic: topic.to_owned(), partition, first, last: first },
            opened: now,
            counts: Counts::default(),
            received_at_us: None,
            message_at_us: None,
            exchanges,
            unused: Unused::default(),
            ledger: None,
            dead_letters: None,
        })
    }

    /// Takes a message; one that cannot be read becomes a dead letter.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(super) fn append(&mut self, message: Message) -> Result<(), RecordError> {
        self.name.last = message.offset;
        self.message_at_us = self.message_at_us.or(message.at_us);
        let record = match &message.payload {
            Some(payload) => wire::decode(payload.clone()).map_err(|error| error.to_string()),
            None => Err("message without a payload".to_owned()),
        };
        match record {
            Ok(Record::Exchange(exchange)) => {
                let judged = judge(&exchange, &self.settings);
                self.unused.see(&judged, &self.settings.rules);
                self.received_at_us.get_or_insert(exchange.request.received_at_us);
                let origin = origin(&self.name, message.offset);
                put_exchange(&mut self.exchanges.rows, origin, &exchange, &judged, &self.settings);
                self.counts.rows += 1;
                self.exchanges.settle()
            }
            Ok(Record::Ledger(ledger)) => {
                let writer = writer(&mut self.ledger, &self.set, &self.name, Table::Ledger, LEDGER)?;
                put_ledger(&mut writer.rows, &ledger);
                self.counts.ledgers += 1;
                writer.settle()
            }
            Err(reason) => {
                let keep = self.settings.bodies != Bodies::None;
                let (key, payload) = (message.key.as_deref(), message.payload.as_deref());
                let letter = DeadLetter { at_us: message.at_us, reason: &reason, key, payload, keep };
                let writer =
                    writer(&mut self.dead_letters, &self.set, &self.name, Table::DeadLetters, DEAD_LETTERS)?;
                put_dead_letter(&mut writer.rows, origin(&self.name, message.offset), &letter);
                self.counts.dead_letters += 1;
                writer.settle()
            }
        }
    }

    /// How full the files are.
    pub(super) fn fill(&self, now: Duration) -> Fill {
        let bytes: usize = self.writers().map(TableWriter::bytes).sum();
        let age = now.saturating_sub(self.opened);
        Fill { rows: self.counts.messages(), bytes: bytes as u64, age }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes held in memory.
    pub(super) fn memory(&self) -> usize {
        self.writers().map(TableWriter::memory).sum()
    }

    /// Ends the row groups.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        let others = self.ledger.iter_mut().chain(&mut self.dead_letters);
        others.chain([&mut self.exchanges]).try_for_each(TableWriter::flush)
    }

    fn writers(&self) -> impl Iterator<Item = &TableWriter> {
        self.ledger.iter().chain(&self.dead_letters).chain([&self.exchanges])
    }

    /// Ends all files and makes them durable where they are.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(super) fn close(mut self) -> Result<Closing, RecordError> {
        if let Some(unused) = self.unused.json() {
            self.exchanges.note(UNUSED_KEY, unused);
        }
        let at_us = self.received_at_us.or(self.message_at_us).unwrap_or(0);
        let close = |writer: Option<TableWriter>| writer.map(TableWriter::close).transpose();
        Ok(Closing {
            ledger: close(self.ledger)?,
            dead_letters: close(self.dead_letters)?,
            exchanges: self.exchanges.close()?,
            name: self.name,
            at_us,
            counts: self.counts,
        })
    }
}

fn origin(name: &FileName, offset: i64) -> Origin<'_> {
    Origin { topic: &name.topic, partition: name.partition, offset }
}

/// The writer of a table that most ranges have no rows of.
fn writer<'a>(
    slot: &'a mut Option<TableWriter>,
    set: &SetRoot,
    name: &FileName,
    table: Table,
    columns: &'static [Column],
) -> Result<&'a mut TableWriter, RecordError> {
    if slot.is_none() {
        let temp = set.temp(table, &name.topic, name.partition);
        *slot = Some(TableWriter::create(temp, columns, &[])?);
    }
    Ok(slot.as_mut().expect("filled above"))
}
