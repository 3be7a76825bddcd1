//! The rows of a `MERGE`, by what they do: some change rows of the table, others are added to it.

use super::change_writer::bytes_of;
use super::insert::for_named_rows;
use crate::dml::change::{Merge, MergeAction};
use crate::dml::target::Target;
use crate::run::answer::AnswerRows;
use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::compute::kernels::cmp::eq;
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{DataType, Int64Type, UInt32Type};
use atsdb_core::{ConflictPolicy, Error, ErrorKind, Result, Table};
use atsdb_engine::Batch;
use std::collections::HashSet;

/// All rows of a `MERGE`. They are held in memory until the last one is known.
pub(crate) struct MergedRows<'a> {
    /// Locations of rows, and their new values, if they are not to be removed.
    pub(crate) changed: Vec<RecordBatch>,
    /// The rows of each `INSERT`.
    pub(crate) added: Vec<(&'a Target, Vec<RecordBatch>)>,
}

impl<'a> MergedRows<'a> {
    /// Reads the rows of the statement's query. A row of the table that two of them change is an error.
    pub(crate) fn of(merge: &'a Merge, rows: AnswerRows, bytes_max: usize) -> Result<Self> {
        let mut of_actions: Vec<Vec<RecordBatch>> = vec![Vec::new(); merge.actions.len()];
        let (mut changed, mut locations, mut bytes) = (Vec::new(), HashSet::new(), 0_usize);
        for rows in rows {
            let rows = rows?;
            let numbers =
                rows.columns().get(Merge::ACTION).ok_or_else(|| Error::internal("a row without an action"))?;
            let numbers = cast(numbers, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            for (number, action) in merge.actions.iter().enumerate() {
                let columns: Vec<usize> = match action {
                    MergeAction::Nothing => continue,
                    MergeAction::Delete => (0..Merge::ACTION).collect(),
                    MergeAction::Update { values } => (0..Merge::ACTION).chain(values.clone()).collect(),
                    MergeAction::Insert { values, .. } => values.clone().collect(),
                };
                let number_of_action = i64::try_from(number).map_err(|_| Error::internal("too many actions"))?;
                let takes = eq(numbers, &Int64Array::new_scalar(number_of_action))?;
                if takes.true_count() == 0 {
                    continue;
                }
                let found = filter_record_batch(&rows.project(&columns)?, &takes)?;
                bytes = bytes.saturating_add(bytes_of(found.columns()));
                if matches!(action, MergeAction::Insert { .. }) {
                    of_actions[number].push(found);
                } else {
                    note_locations(&found, &mut locations)?;
                    changed.push(found);
                }
            }
            if bytes > bytes_max {
                return Err(Error::new(ErrorKind::Resources, "MERGE: the changed rows do not fit into memory")
                    .with_hint("merge fewer rows at a time, or give the session more memory"));
            }
        }
        let added = merge.actions.iter().zip(of_actions).filter_map(|(action, rows)| match action {
            MergeAction::Insert { target, .. } => Some((target.as_ref(), rows)),
            _ => None,
        });
        Ok(Self { changed, added: added.collect() })
    }
}

/// Refuses rows that were changed before.
fn note_locations(rows: &RecordBatch, seen: &mut HashSet<(u32, u32)>) -> Result<()> {
    let [chunks, numbers, ..] = rows.columns() else { return Err(Error::internal("a row without a location")) };
    let places = (chunks.as_primitive_opt::<UInt32Type>(), numbers.as_primitive_opt::<UInt32Type>());
    let (Some(chunks), Some(numbers)) = places else { return Err(Error::internal("a row without a location")) };
    for (chunk, number) in chunks.values().iter().zip(numbers.values()) {
        if !seen.insert((*chunk, *number)) {
            return Err(Error::invalid("MERGE command cannot affect row a second time")
                .with_hint("at most one row of the source may match each row of the target"));
        }
    }
    Ok(())
}

/// Adds rows, and returns their number. A row whose key exists is an error, whatever the table does with those of an
/// `INSERT`: it would be lost, or replace a row that the statement has found unmatched.
pub(crate) fn append_new_rows(
    batch: &mut Batch,
    table: &Table,
    target: &Target,
    rows: Vec<RecordBatch>,
) -> Result<u64> {
    let Some(first) = rows.first() else { return Ok(0) };
    let rows = AnswerRows::read(first.schema(), rows);
    let mut row_count = 0_u64;
    for_named_rows(table, target, rows, |rows| {
        row_count += rows.num_rows() as u64;
        batch.append_with(table, &rows, ConflictPolicy::Error)
    })?;
    Ok(row_count)
}
