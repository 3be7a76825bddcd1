//! Deletes and changes rows by calls of the engine.

use crate::compare::resident_rows;
use crate::outcome::Answer;
use crate::shape::{ColumnKind, array, is_meant, kind, rows_of};
use crate::subject::RowSelection;
use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use atsdb_core::{Result, Table};
use atsdb_engine::{Batch, ReadSnapshot, Rewrite, ScanRequest};

/// Deletes rows, or sets their note.
pub(crate) fn change(batch: &mut Batch, name: &str, rows: RowSelection, note: Option<Option<i64>>) -> Result<Answer> {
    let snapshot = batch.snapshot()?;
    let table = snapshot.table(name)?.clone();
    let definition = &table.definition;
    if definition.is_in_memory() {
        return change_resident(batch, &snapshot, &table, rows, note);
    }
    let scan = snapshot.scan(&table, &ScanRequest::all(&table))?;
    for position in 0..scan.chunks().len() {
        let Some(batch_rows) = scan.read(position)? else { continue };
        let meant: Vec<bool> =
            rows_of(batch_rows.columns()).iter().map(|row| is_meant(definition, row, rows)).collect();
        if !meant.contains(&true) {
            continue;
        }
        let chunk = scan.chunks()[position].entry.id;
        let rewrite = match note {
            None => {
                let keep: Vec<bool> = meant.iter().map(|meant| !meant).collect();
                Rewrite { keep: Some(BooleanArray::from(keep)), set: Vec::new() }
            }
            Some(note) => {
                let Some(column) = definition.columns.iter().position(|column| kind(column) == ColumnKind::Note) else {
                    return Ok(Answer::Nothing);
                };
                let numbers = meant.iter().enumerate().filter(|(_, meant)| **meant).map(|(number, _)| number as u32);
                let numbers: UInt32Array = numbers.collect();
                let values = array(&definition.columns[column], &vec![note; numbers.len()]);
                let values = batch.stored(&table, column, &values)?;
                Rewrite { keep: None, set: vec![(column, scan.replaced(position, column, &numbers, &values)?)] }
            }
        };
        batch.replace(&table, chunk, scan.rewrite(position, &rewrite)?)?;
    }
    Ok(Answer::Done)
}

fn change_resident(
    batch: &mut Batch,
    snapshot: &ReadSnapshot,
    table: &Table,
    rows: RowSelection,
    note: Option<Option<i64>>,
) -> Result<Answer> {
    let definition = &table.definition;
    let mut meant = resident_rows(snapshot, table)?;
    meant.retain(|(_, row)| is_meant(definition, row, rows));
    let mut added = Vec::new();
    if let Some(note) = note.filter(|_| !meant.is_empty()) {
        let columns = definition.columns.iter().enumerate().map(|(position, column)| {
            let of_row =
                |(_, row): &(_, Vec<Option<i64>>)| if kind(column) == ColumnKind::Note { note } else { row[position] };
            let values: Vec<Option<i64>> = meant.iter().map(of_row).collect();
            batch.stored(table, position, &array(column, &values))
        });
        added.push((columns.collect::<Result<Vec<ArrayRef>>>()?, meant.len()));
    }
    let found_in = snapshot.resident(table)?;
    batch.change_resident(table, &found_in, meant.into_iter().map(|(place, _)| place), added)?;
    Ok(Answer::Done)
}
