//! `UPDATE` and `DELETE`.

use super::Session;
use crate::answer::{Answer, Rows};
use crate::change::{CarryOut, Kind, Limits};
use crate::resident::change_resident;
use crate::runtime::{Query, Started};
use crate::script::Statement;
use atsdb_core::{Error, Result};

impl Session {
    pub(super) fn change(&self, statement: &Statement, params: &[(String, String)]) -> Result<Answer> {
        self.with_batch_again(|batch| {
            let snapshot = batch.snapshot()?;
            let found_in = snapshot.clone();
            let text = statement.text().to_owned();
            let query = Query { text, place: statement.place(), params: params.to_vec(), snapshot };
            let Started { change, rows, .. } = self.worker()?.start(query, &self.interrupt)?;
            let Some(change) = change else { return Err(Error::internal("a change that changes nothing")) };
            let row_count = match change.kind {
                Kind::Empty => {
                    drop(rows);
                    batch.truncate(&change.table)?
                }
                _ if change.table.definition.is_in_memory() => {
                    change_resident(batch, &change, &found_in, Rows::query(rows))?
                }
                _ => {
                    let limits = Limits { threads: self.options.threads, memory_bytes: self.options.memory_bytes };
                    CarryOut::new(batch, &change, limits, &self.interrupt).run(Rows::query(rows))?
                }
            };
            Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) })
        })
    }
}
