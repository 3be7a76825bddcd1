//! `UPDATE`, `DELETE` and `MERGE`.

use super::state::Session;
use crate::dml::change::{Change, ChangeKind, Merge};
use crate::run::answer::{Answer, AnswerRows, ColumnsCheck};
use crate::run::query::Query;
use crate::run::worker::Started;
use crate::write::change_writer::{ChangeWriter, ChangedRows, Limits};
use crate::write::earlier_changes::EarlierChanges;
use crate::write::merge::{MergedRows, append_new_rows};
use crate::write::resident_change::change_resident;
use crate::write::returning::StatementContext;
use atsdb_core::{Error, Result};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::script::Statement;
use atsdb_engine::Batch;
use std::sync::Arc;

impl Session {
    /// Executes the statement, and retries it if other writers change the same rows in the meantime.
    pub(super) fn change(
        &self,
        statement: &Statement,
        parameters: &Parameters,
        check: ColumnsCheck<'_>,
    ) -> Result<Answer> {
        self.with_batch_retried(|batch| {
            let snapshot = batch.snapshot()?;
            let (text, position) = (statement.text().to_owned(), statement.position());
            let query = Query { text, position, parameters: parameters.clone(), snapshot, files: None, scope: None };
            let worker = Arc::clone(&self.worker);
            let snapshot = query.snapshot.clone();
            let Started { change, rows, spellings, .. } = worker.start(query, &self.interrupt)?;
            let Some(change) = change else { return Err(Error::internal("a change that changes nothing")) };
            if change.kind == ChangeKind::Empty {
                drop(rows);
                let row_count = batch.truncate(&change.table)?;
                return Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) });
            }
            let context = StatementContext { worker, interrupt: &self.interrupt, snapshot, spellings, parameters };
            let answer = self.apply_change(batch, &change, AnswerRows::query(rows), &context, None)?;
            answer.check_columns(check)?;
            Ok(answer)
        })
    }

    /// Applies a change of rows that were found in the context's snapshot. With `earlier`, rows that earlier parts of
    /// the statement have changed are left out.
    pub(super) fn apply_change(
        &self,
        batch: &mut Batch,
        change: &Change,
        rows: AnswerRows,
        context: &StatementContext<'_>,
        earlier: Option<&mut EarlierChanges>,
    ) -> Result<Answer> {
        if let Some(merge) = &change.merge {
            return self.merge(batch, change, merge, rows, context);
        }
        let others = change.returning.as_ref().map(|returning| returning.other_fields(&rows.schema()));
        let ChangedRows { row_count, returned } = self.change_rows(batch, change, rows, context, earlier)?;
        let Some(returning) = &change.returning else {
            return Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) });
        };
        let (others, bytes_max) = (others.unwrap_or_default(), self.options.memory_bytes);
        let rows = returning.answer(context, &change.table, returned, others, bytes_max)?;
        Ok(Answer::Rows(AnswerRows::fixed(rows)))
    }

    fn change_rows(
        &self,
        batch: &mut Batch,
        change: &Change,
        rows: AnswerRows,
        context: &StatementContext<'_>,
        earlier: Option<&mut EarlierChanges>,
    ) -> Result<ChangedRows> {
        if change.table.definition.is_in_memory() {
            let found_in = context.snapshot.resident(&change.table)?;
            return change_resident(batch, change, &found_in, rows);
        }
        let was_deleting = batch.set_deleting(change.deletes());
        let writer = ChangeWriter::new(batch, change, self.limits(), &self.interrupt);
        let changed = writer.after(earlier).run(rows);
        batch.set_deleting(was_deleting);
        changed
    }

    /// Applies a `MERGE`: matched rows are changed before others are added.
    fn merge(
        &self,
        batch: &mut Batch,
        change: &Change,
        merge: &Merge,
        rows: AnswerRows,
        context: &StatementContext<'_>,
    ) -> Result<Answer> {
        let MergedRows { changed, added } = MergedRows::of(merge, rows, self.options.memory_bytes)?;
        let mut row_count = 0;
        if let Some(first) = changed.first() {
            let rows = AnswerRows::read(first.schema(), changed);
            row_count += self.change_rows(batch, change, rows, context, None)?.row_count;
        }
        for (target, rows) in added {
            row_count += append_new_rows(batch, &change.table, target, rows)?;
        }
        Ok(Answer::Done { verb: change.verb, row_count: Some(row_count) })
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { threads: self.options.threads, memory_bytes: self.options.memory_bytes }
    }
}
