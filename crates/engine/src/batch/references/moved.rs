//! Rows of parents that are removed and added again with other keys: which key became which.

use crate::batch::Batch;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::KeyColumns;
use crate::batch::references::lookup::ForeignKeySide;
use crate::batch::references::state::MovedRows;
use crate::read::scan::Scan;
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{concat, filter, take};
use arrow::datatypes::{Field, Schema};
use atsdb_core::{Error, Result, Table};
use std::sync::Arc;

/// Keys that rows of a parent had, and those that they have now, in the form in which they are looked up.
#[derive(Default)]
pub(super) struct ChangedKeys {
    pub(super) before: Vec<KeyColumns>,
    /// The present keys, in one array for each column.
    after: KeyColumns,
}

impl ChangedKeys {
    /// The values of a column in the present keys, for these of the former ones, counted over all.
    pub(super) fn present(&self, at: usize, keys: &[u32]) -> Result<ArrayRef> {
        Ok(take(&self.after[at], &UInt32Array::from(keys.to_vec()), None)?)
    }
}

impl Batch {
    /// Notes the new values of rows of a chunk that are about to be removed and added again: rows that refer to them
    /// may have to follow. Each piece has the rows' numbers in the chunk, and their new values with the table's
    /// columns, which are converted as by [`stored`](Self::stored).
    pub fn note_moved(
        &mut self,
        table: &Table,
        (scan, position): (&Scan, usize),
        pieces: &[(UInt32Array, RecordBatch)],
    ) -> Result<()> {
        let followed = if pieces.is_empty() { Vec::new() } else { self.followed_columns(table)? };
        if followed.is_empty() {
            return Ok(());
        }
        let stored = scan.read_stored(position, &followed)?;
        for (numbers, rows) in pieces {
            let before = stored.iter().map(|array| Ok(take(array, numbers, None)?)).collect::<Result<Vec<_>>>()?;
            let mut after = Vec::with_capacity(followed.len());
            for at in &followed {
                let name = &table.definition.columns[*at].name;
                let values = rows.column_by_name(name);
                let values = values.ok_or_else(|| Error::internal(format!("a changed row has no column {name}")))?;
                after.push(self.stored(table, *at, values)?);
            }
            self.keep_moved(table, &followed, (before, after))?;
        }
        Ok(())
    }

    /// Notes rows that are removed and added again, given as all of their columns in stored form, before and after.
    pub(super) fn note_moved_stored(&mut self, table: &Table, before: &[ArrayRef], after: &[ArrayRef]) -> Result<()> {
        let followed = self.followed_columns(table)?;
        let columns =
            |all: &[ArrayRef]| -> Vec<ArrayRef> { followed.iter().map(|at| ArrayRef::clone(&all[*at])).collect() };
        let (before, after) = (columns(before), columns(after));
        if followed.is_empty() { Ok(()) } else { self.keep_moved(table, &followed, (before, after)) }
    }

    fn keep_moved(
        &mut self,
        table: &Table,
        followed: &[usize],
        (before, after): (Vec<ArrayRef>, Vec<ArrayRef>),
    ) -> Result<()> {
        let (before, after) = (named_columns(table, followed, before)?, named_columns(table, followed, after)?);
        self.changes.references_mut().note_moved(MovedRows { table: table.id, before, after });
        Ok(())
    }

    /// The positions of a table's columns that foreign keys refer to whose rows follow other keys.
    fn followed_columns(&mut self, table: &Table) -> Result<Vec<usize>> {
        if table.definition.is_in_memory() || !self.is_parent(table.id)? {
            return Ok(Vec::new());
        }
        let followed = self.changes.references().parents().and_then(|parents| parents.get(&table.id));
        Ok(followed.into_iter().flatten().copied().collect())
    }

    /// The keys of a parent that its moved rows have exchanged for others.
    pub(super) fn changed_keys(
        &self,
        parent: &Table,
        side: &ForeignKeySide<'_>,
        moved: &[MovedRows],
    ) -> Result<ChangedKeys> {
        let (shared, mut changed) = (&self.handle.shared, ChangedKeys::default());
        let mut pieces: Vec<KeyColumns> = Vec::new();
        for rows in moved.iter().filter(|rows| rows.table == parent.id) {
            let before = side.of_added(shared, parent, &rows.before)?;
            let after = side.of_added(shared, parent, &rows.after)?;
            let groups = Groups::of(std::slice::from_ref(&before), false)?;
            let present = groups.find(&after)?;
            let is_changed = |(row, present): (usize, Option<u32>)| {
                let former = groups.group(row);
                former.is_some() && former != present
            };
            let mask: BooleanArray = present.into_iter().enumerate().map(|row| Some(is_changed(row))).collect();
            if mask.true_count() > 0 {
                let kept = |columns: &KeyColumns| -> Result<KeyColumns> {
                    columns.iter().map(|array| Ok(filter(array, &mask)?)).collect()
                };
                changed.before.push(kept(&before)?);
                pieces.push(kept(&after)?);
            }
        }
        if !pieces.is_empty() {
            let whole = |at: usize| {
                let column: Vec<&dyn Array> = pieces.iter().map(|columns| columns[at].as_ref()).collect();
                Ok(concat(&column)?)
            };
            changed.after = (0..side.positions.len()).map(whole).collect::<Result<_>>()?;
        }
        Ok(changed)
    }
}

/// The columns of a table at these positions, with their names.
pub(super) fn named_columns(table: &Table, positions: &[usize], arrays: Vec<ArrayRef>) -> Result<RecordBatch> {
    let names = positions.iter().map(|at| &table.definition.columns[*at].name).zip(&arrays);
    let fields: Vec<Field> = names.map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}
