//! Changes of rows in memory: old rows are removed, new ones are added.

use super::assign::{assign, plain};
use super::change_writer::ChangedRows;
use super::returning_rows::ReturningRows;
use crate::dml::change::{Change, ChangeKind};
use crate::run::answer::AnswerRows;
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::UInt32Type;
use atsdb_core::{Error, Result};
use atsdb_engine::Batch;
use atsdb_resident::TableState;
use std::collections::HashSet;

/// Applies a change of rows that were found in a state of the table: part and number in it, then the new values.
pub(crate) fn change_resident(
    batch: &mut Batch,
    change: &Change,
    found_in: &TableState,
    rows: AnswerRows,
) -> Result<ChangedRows> {
    let definition = &change.table.definition;
    let (mut removed, mut added, mut returned) = (HashSet::new(), Vec::new(), ReturningRows::default());
    for rows in rows {
        let rows = rows?;
        let place = |column: usize| {
            let array = rows.columns().get(column).and_then(|array| array.as_primitive_opt::<UInt32Type>());
            array.ok_or_else(|| Error::internal("a row without a location"))
        };
        let (parts, numbers) = (place(0)?, place(1)?);
        for (part, number) in parts.values().iter().zip(numbers.values()) {
            if !removed.insert((*part, *number)) && change.kind != ChangeKind::Delete {
                let name = &definition.name;
                return Err(Error::invalid(format!("UPDATE {name}: a row has several new values"))
                    .with_hint("FROM and WHERE must give at most one row for each row that is updated"));
            }
        }
        let mut whole: Vec<Option<ArrayRef>> = vec![None; definition.columns.len()];
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (array, position) in rows.columns().iter().skip(2).zip(&change.columns) {
            let array = assign(definition, *position, &plain(array, &definition.columns[*position])?, None)?;
            let array = batch.stored(&change.table, *position, &array)?;
            whole[*position] = Some(ArrayRef::clone(&array));
            columns.push(array);
        }
        returned.keep(batch, change, whole, &rows, (parts, numbers))?;
        if !columns.is_empty() {
            added.push((columns, rows.num_rows()));
        }
    }
    let row_count = removed.len() as u64;
    let mut removed: Vec<(u32, u32)> = removed.into_iter().collect();
    removed.sort_unstable();
    batch.change_resident(&change.table, found_in, removed, added)?;
    Ok(ChangedRows { row_count, returned: returned.rows })
}
