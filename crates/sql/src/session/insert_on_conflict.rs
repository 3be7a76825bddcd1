//! `INSERT` statements that read existing rows, or return rows: `ON CONFLICT`, `ON DUPLICATE KEY`, `RETURNING`.

use super::state::Session;
use crate::dml::conflict::ConflictAction;
use crate::dml::target::Target;
use crate::run::answer::{Answer, AnswerRows, ColumnsCheck};
use crate::run::query::Query;
use crate::run::worker::Started;
use crate::write::insert::{append_rows, for_named_rows};
use crate::write::returning::{StatementContext, gathered, no_rows};
use crate::write::upsert::{Upserted, upsert};
use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use atsdb_core::{ConflictPolicy, Error, Result, Table};
use atsdb_dialect::text::errors::not_supported;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::script::Statement;
use atsdb_engine::Batch;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of an `INSERT`.
pub(super) enum InsertOutcome {
    /// The number of new rows, the batch's counter of skipped rows, and its value before.
    Counted(u64, Arc<AtomicU64>, u64),
    Answered(RecordBatch),
}

impl InsertOutcome {
    /// Checks the columns of the answer, if it has rows.
    pub(super) fn check_columns(&self, check: ColumnsCheck<'_>) -> Result<()> {
        match self {
            Self::Answered(rows) => check(&rows.schema()),
            Self::Counted(..) => Ok(()),
        }
    }

    /// The statement's answer, after the batch was committed.
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Answered(rows) => Answer::Rows(AnswerRows::fixed(rows)),
            Self::Counted(row_count, skipped_rows, before) => {
                let skipped_rows = skipped_rows.load(Ordering::Relaxed) - before;
                Answer::Done { verb: "INSERT", row_count: Some(row_count.saturating_sub(skipped_rows)) }
            }
        }
    }
}

/// Returns whether an `INSERT` may be one of these. False positives are possible.
pub(super) fn may_have_conflict_clause(text: &str) -> bool {
    let is_word = |word: &str| ["CONFLICT", "DUPLICATE", "RETURNING"].iter().any(|own| own.eq_ignore_ascii_case(word));
    text.split(|character: char| !character.is_ascii_alphabetic()).any(is_word)
}

impl Session {
    /// Executes the statement, and retries it if other writers change the same rows in the meantime.
    pub(super) fn insert_on_conflict(
        &self,
        statement: &Statement,
        parameters: &Parameters,
        check: ColumnsCheck<'_>,
    ) -> Result<Answer> {
        let inserted = self.with_batch_retried(|batch| {
            let snapshot = batch.snapshot()?;
            let query = Query {
                text: statement.text().to_owned(),
                position: statement.position(),
                parameters: parameters.clone(),
                snapshot: snapshot.clone(),
                files: self.query_files(),
                scope: None,
            };
            let worker = Arc::clone(&self.worker);
            let Started { insert, rows, spellings, .. } = worker.start(query, &self.interrupt)?;
            let Some(target) = insert else { return Err(Error::internal("an INSERT that inserts nothing")) };
            let (table, _) = target.resolve_among(snapshot.tables())?;
            let interrupt = &self.interrupt;
            let context = StatementContext { worker, interrupt, snapshot, spellings, parameters };
            let inserted = self.insert_into(batch, &table, &target, AnswerRows::query(rows), &context)?;
            inserted.check_columns(check)?;
            Ok(inserted)
        })?;
        Ok(inserted.answer())
    }

    /// Adds the rows of a statement's query.
    pub(super) fn insert_into(
        &self,
        batch: &mut Batch,
        table: &Table,
        target: &Target,
        rows: AnswerRows,
        context: &StatementContext<'_>,
    ) -> Result<InsertOutcome> {
        let skipped_rows = batch.skipped_rows();
        let before = skipped_rows.load(Ordering::Relaxed);
        let meaning = target.on_duplicate.meaning(table)?;
        if let (ConflictAction::Policy(_), None) = (&meaning, &target.returning) {
            return Ok(InsertOutcome::Counted(append_rows(batch, table, target, rows)?, skipped_rows, before));
        }
        let mut complete = vec![no_rows(table)];
        let mut bytes = 0;
        for_named_rows(table, target, rows, |rows| {
            let rows = batch.complete(table, &rows)?;
            bytes += rows.get_array_memory_size();
            complete.push(rows);
            if bytes > self.options.memory_bytes {
                gathered(std::mem::take(&mut complete), 0).map(drop)
            } else {
                Ok(())
            }
        })?;
        let rows = gathered(complete, self.options.memory_bytes)?.unwrap_or_else(|| no_rows(table));
        let (row_count, returned) = match meaning {
            ConflictAction::Decide(key, update) => {
                let decision = (key, update.as_deref());
                let Upserted { row_count, returned } =
                    upsert(batch, table, decision, &target.alias, &rows, context, self.limits())?;
                (row_count, returned)
            }
            ConflictAction::Policy(ConflictPolicy::Keep) if table.definition.has_unique() => {
                let stays = BooleanArray::from(batch.would_insert(table, &rows)?);
                let rows = filter_record_batch(&rows, &stays)?;
                batch.append_with(table, &rows, ConflictPolicy::Error)?;
                (rows.num_rows() as u64, vec![rows])
            }
            ConflictAction::Policy(ConflictPolicy::Merge)
                if table.definition.has_unique() && target.returning.is_some() =>
            {
                return Err(not_supported("RETURNING in a table whose rows merge").with_hint("leave RETURNING out"));
            }
            ConflictAction::Policy(policy) => {
                batch.append_with(table, &rows, policy)?;
                (rows.num_rows() as u64, vec![rows])
            }
        };
        match &target.returning {
            Some(returning) => {
                let rows = returning.answer(context, table, returned, Vec::new(), self.options.memory_bytes)?;
                Ok(InsertOutcome::Answered(rows))
            }
            None => Ok(InsertOutcome::Counted(row_count, skipped_rows, before)),
        }
    }
}
