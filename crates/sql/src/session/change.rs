//! `UPDATE` and `DELETE`.

use super::state::Session;
use crate::dml::change::ChangeKind;
use crate::run::answer::{Answer, Rows};
use crate::run::query::Query;
use crate::run::worker::Started;
use crate::text::params::Parameters;
use crate::text::script::Statement;
use crate::write::change_writer::{ChangeWriter, ChangedRows, Limits};
use crate::write::resident_change::change_resident;
use crate::write::returning::StatementContext;
use atsdb_core::{Error, Result};
use std::sync::Arc;

impl Session {
    pub(super) fn change(&self, statement: &Statement, parameters: &Parameters) -> Result<Answer> {
        self.with_batch_retried(|batch| {
            let snapshot = batch.snapshot()?;
            let (text, place) = (statement.text().to_owned(), statement.place());
            let query = Query { text, place, parameters: parameters.clone(), snapshot, files: None, scope: None };
            let worker = Arc::clone(&self.worker);
            let snapshot_before = query.snapshot.clone();
            let Started { change, rows, spellings, .. } = worker.start(query, &self.interrupt)?;
            let Some(change) = change else { return Err(Error::internal("a change that changes nothing")) };
            if change.kind == ChangeKind::Empty {
                drop(rows);
                let row_count = batch.truncate(&change.table)?;
                return Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) });
            }
            let ChangedRows { row_count, returned } = match change.table.definition.is_in_memory() {
                true => {
                    let found_in = snapshot_before.resident(&change.table)?;
                    change_resident(batch, &change, &found_in, Rows::query(rows))?
                }
                false => ChangeWriter::new(batch, &change, self.limits(), &self.interrupt).run(Rows::query(rows))?,
            };
            let Some(returning) = &change.returning else {
                return Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) });
            };
            let interrupt = &self.interrupt;
            let context = StatementContext { worker, interrupt, snapshot: snapshot_before, spellings, parameters };
            let rows = returning.answer(&context, &change.table, returned, self.options.memory_bytes)?;
            Ok(Answer::Rows(Rows::fixed(rows)))
        })
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { threads: self.options.threads, memory_bytes: self.options.memory_bytes }
    }
}
