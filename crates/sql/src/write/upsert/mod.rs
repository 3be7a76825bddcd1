//! `INSERT` that decides for each row whose key is there already: `ON CONFLICT (key) DO UPDATE SET ... WHERE ...` and
//! `DO NOTHING` for one of several keys. As if the rows had come one after the other: what one has changed, the next
//! one of the same key finds.
//!
//! The stored rows of the keys are read into memory; `rounds` settles the new ones on them, the first of each key, then
//! the second, and so on, each round one projection; what has come out is then added, or put in its place. Not owned:
//! finding the rows of the keys (`engine`), putting them in their place (`change`).

mod evaluate;
mod rounds;

pub(crate) use evaluate::update_query;

use super::change_writer::{ChangeWriter, Limits};
use super::resident_change::change_resident;
use super::returning::StatementContext;
use crate::dml::change::{Change, Kind};
use crate::dml::conflict::Update;
use crate::run::answer::Rows;
use crate::scan::numbered_scan::NumberedScan;
use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::{Field, Schema};
use atsdb_core::{ConflictPolicy, Error, Result, Table};
use atsdb_engine::{Batch, RowSource};
use evaluate::Evaluation;
use rounds::{Fates, Rounds};
use std::sync::Arc;

/// What has become of the rows.
pub(crate) struct Upserted {
    /// How many were added, or have updated another.
    pub(crate) row_count: u64,
    /// As `RETURNING` has them: each as it was when its turn was over.
    pub(crate) returned: Vec<RecordBatch>,
}

/// Adds complete rows to a table, or updates with them.
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
    let Fates { added, updated, row_count, returned } = rounds.run(|old, new| match &mut evaluation {
        Some(evaluation) => evaluation.next(batch, old, new).map(Some),
        None => Ok(None),
    })?;
    drop(evaluation);
    if let Some((chunks, numbers, rows)) = updated {
        let mut change = change_of(table, &set);
        let columns = change.columns.iter().map(|position| Arc::clone(rows.column(*position))).collect();
        let rows = Rows::fixed(placed(chunks, numbers, columns)?);
        match holders.rows {
            RowSource::Stored(scan) => {
                change.source = Some(NumberedScan { scan: Arc::new(*scan), partitions_in_order: None });
                ChangeWriter::new(batch, &change, limits, context.interrupt).run(rows)?;
            }
            RowSource::Resident(state) => drop(change_resident(batch, &change, &state, rows)?),
        }
    }
    // Another key's row is not looked at.
    batch.append_with(table, &added, ConflictPolicy::Error)?;
    Ok(Upserted { row_count, returned })
}

fn change_of(table: &Table, set: &[usize]) -> Change {
    let definition = &table.definition;
    let in_key = |position: &usize| {
        let id = definition.columns[*position].id;
        definition.time.is_some_and(|time| time.column == id)
            || definition.unique.iter().any(|unique| unique.columns.contains(&id))
    };
    // Rows in memory never change: others come in their place.
    let (kind, columns) = match definition.is_in_memory() || set.iter().any(in_key) {
        true => (Kind::Move, (0..definition.columns.len()).collect()),
        false => (Kind::Set, set.to_vec()),
    };
    let (table, others) = (table.clone(), Vec::new());
    Change { verb: "INSERT", table, columns, others, kind, returning: None, source: None }
}

/// Rows as a change takes them: chunk, row, values.
fn placed(chunks: UInt32Array, numbers: UInt32Array, values: Vec<ArrayRef>) -> Result<RecordBatch> {
    let places: [ArrayRef; 2] = [Arc::new(chunks), Arc::new(numbers)];
    let columns: Vec<ArrayRef> = places.into_iter().chain(values).collect();
    let field = |(at, array): (usize, &ArrayRef)| Field::new(at.to_string(), array.data_type().clone(), true);
    let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|error| Error::internal(error.to_string()))
}
