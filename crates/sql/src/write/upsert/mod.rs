//! `INSERT` with a decision for each row whose key exists already: `ON CONFLICT (key) DO UPDATE SET ... WHERE ...` and
//! `DO NOTHING` for one of several keys. The result is as if the rows had been inserted one after the other: a row sees
//! the changes of earlier rows with the same key. The stored rows with these keys are read into memory. `rounds`
//! applies the new rows to them, first the first row of each key, then the second, and so on, with one projection for
//! each round. The results are then added, or replace the stored rows. Not owned: finding the stored rows (`engine`),
//! and replacing them (`change`).

mod evaluate;
mod rounds;

pub(crate) use evaluate::update_query;

use super::change_writer::{ChangeWriter, Limits};
use super::resident_change::change_resident;
use super::returning::StatementContext;
use crate::dml::change::{Change, ChangeKind};
use crate::dml::conflict::Update;
use crate::run::answer::AnswerRows;
use crate::scan::numbered_scan::NumberedScan;
use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::{Field, Schema};
use atsdb_core::{ConflictPolicy, Error, Result, Table};
use atsdb_engine::{Batch, RowSource};
use evaluate::Evaluation;
use rounds::{Rounds, UpsertChanges};
use std::sync::Arc;

/// The result of an upsert.
pub(crate) struct Upserted {
    /// The number of rows that were added or that updated another row.
    pub(crate) row_count: u64,
    /// The rows for `RETURNING`, each in its state after its own turn.
    pub(crate) returned: Vec<RecordBatch>,
}

/// Adds complete rows to a table, or uses them to update existing rows.
pub(crate) fn upsert(
    batch: &mut Batch,
    table: &Table,
    (key, update): (usize, Option<&Update>),
    alias: &str,
    rows: &RecordBatch,
    context: &StatementContext<'_>,
    limits: Limits,
) -> Result<Upserted> {
    let holders = batch.conflicting_rows(table, key, rows)?;
    let mut evaluation = update
        .map(|update| Evaluation::new(table, &table.definition.unique[key], update, alias, context))
        .transpose()?;
    let set = evaluation.as_ref().map_or_else(Vec::new, |evaluation| evaluation.set.clone());
    let rounds = Rounds { table, holders: &holders, rows };
    let UpsertChanges { added, updated, row_count, returned } = rounds.run(|old, new| match &mut evaluation {
        Some(evaluation) => evaluation.next(batch, old, new).map(Some),
        None => Ok(None),
    })?;
    drop(evaluation);
    if let Some((chunks, numbers, rows)) = updated {
        let mut change = change_of(table, &set);
        let columns = change.columns.iter().map(|position| Arc::clone(rows.column(*position))).collect();
        let rows = AnswerRows::fixed(placed(chunks, numbers, columns)?);
        match holders.rows {
            RowSource::Stored(scan) => {
                change.source = Some(NumberedScan { scan: Arc::new(*scan), partitions_in_order: None });
                ChangeWriter::new(batch, &change, limits, context.interrupt).run(rows)?;
            }
            RowSource::Resident(state) => drop(change_resident(batch, &change, &state, rows)?),
        }
    }
    // Conflicts with another key are errors.
    batch.append_with(table, &added, ConflictPolicy::Error)?;
    Ok(Upserted { row_count, returned })
}

fn change_of(table: &Table, set: &[usize]) -> Change {
    let definition = &table.definition;
    let moves = |position: &usize| definition.moves_rows(definition.columns[*position].id);
    let (kind, columns) = match set.iter().any(moves) {
        true => (ChangeKind::Move, (0..definition.columns.len()).collect()),
        false => (ChangeKind::Set, set.to_vec()),
    };
    let (table, others) = (table.clone(), Vec::new());
    Change { verb: "INSERT", table, columns, others, kind, returning: None, source: None, merge: None }
}

/// Rows in the form that a change expects: chunk, row, values.
fn placed(chunks: UInt32Array, numbers: UInt32Array, values: Vec<ArrayRef>) -> Result<RecordBatch> {
    let places: [ArrayRef; 2] = [Arc::new(chunks), Arc::new(numbers)];
    let columns: Vec<ArrayRef> = places.into_iter().chain(values).collect();
    let field = |(at, array): (usize, &ArrayRef)| Field::new(at.to_string(), array.data_type().clone(), true);
    let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::from)
}
