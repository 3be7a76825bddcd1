//! `UPDATE` and `DELETE`.

use super::Session;
use crate::answer::{Answer, Rows};
use crate::change::{Carried, CarryOut, Kind, Limits};
use crate::resident::change_resident;
use crate::returning::Asking;
use crate::runtime::{Query, Started};
use crate::script::Statement;
use atsdb_core::{Error, Result};

impl Session {
    pub(super) fn change(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        self.with_batch_again(|batch| {
            let snapshot = batch.snapshot()?;
            let text = statement.text().to_owned();
            let query = Query { text, place: statement.place(), params: params.to_vec(), snapshot };
            let worker = self.worker()?;
            let asked = query.snapshot.clone();
            let Started { change, rows, spellings, .. } = worker.start(query, &self.interrupt)?;
            let Some(change) = change else { return Err(Error::internal("a change that changes nothing")) };
            if change.kind == Kind::Empty {
                drop(rows);
                let row_count = batch.truncate(&change.table)?;
                return Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) });
            }
            let Carried { row_count, returned } = match change.table.definition.is_in_memory() {
                true => {
                    let found_in = asked.resident(&change.table)?;
                    change_resident(batch, &change, &found_in, Rows::query(rows))?
                }
                false => CarryOut::new(batch, &change, self.limits(), &self.interrupt).run(Rows::query(rows))?,
            };
            let Some(returning) = &change.returning else {
                return Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) });
            };
            let asking = Asking { worker, interrupt: &self.interrupt, snapshot: asked, spellings };
            let rows = returning.answer(&asking, &change.table, returned, self.options.memory_bytes)?;
            Ok(Answer::Rows(Rows::fixed(rows)))
        })
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { threads: self.options.threads, memory_bytes: self.options.memory_bytes }
    }
}
