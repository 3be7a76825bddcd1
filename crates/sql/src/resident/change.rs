//! `UPDATE` and `DELETE` of rows in memory: old rows go, new ones come.

use crate::answer::Rows;
use crate::assign::assign;
use crate::change::{Change, Kind};
use arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use arrow::datatypes::UInt32Type;
use atsdb_codec::logical_type;
use atsdb_core::{Column, Error, Result};
use atsdb_engine::{Batch, ReadSnapshot};
use std::collections::HashSet;

/// Carries out a change of the rows that a query over the snapshot found. Says how many rows changed.
pub(crate) fn change_resident(batch: &mut Batch, change: &Change, found_in: &ReadSnapshot, rows: Rows) -> Result<u64> {
    let table = &change.table;
    let state = found_in.resident(table)?;
    let (mut gone, mut added) = (HashSet::new(), Vec::new());
    let mut rows_seen = 0;
    for rows in rows {
        let rows = rows?;
        let place = |column: usize| {
            let array = rows.columns().get(column).and_then(|array| array.as_primitive_opt::<UInt32Type>());
            array.ok_or_else(|| Error::internal("a row without a place"))
        };
        let (parts, numbers) = (place(0)?, place(1)?);
        for (part, number) in parts.values().iter().zip(numbers.values()) {
            if !gone.insert((*part, *number)) && change.kind != Kind::Delete {
                let name = &table.definition.name;
                return Err(Error::invalid(format!("UPDATE {name}: a row is to have several new values at once"))
                    .with_hint("FROM and WHERE must give at most one row for each row that is updated"));
            }
        }
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (array, position) in rows.columns().iter().skip(2).zip(&change.columns) {
            let array = typed(array, &table.definition.columns[*position]);
            let array = assign(&table.definition, *position, &array, rows_seen)?;
            columns.push(batch.stored(table, *position, &array)?);
        }
        rows_seen += rows.num_rows() as u64;
        if !columns.is_empty() {
            added.push((columns, rows.num_rows()));
        }
    }
    let row_count = gone.len() as u64;
    let mut gone: Vec<(u32, u32)> = gone.into_iter().collect();
    gone.sort_unstable();
    batch.change_resident(table, &state, gone, added)?;
    Ok(row_count)
}

/// NULLs of no type in the column's.
fn typed(array: &ArrayRef, column: &Column) -> ArrayRef {
    match array.data_type().is_null() {
        true => new_null_array(&logical_type(column), array.len()),
        false => ArrayRef::clone(array),
    }
}
