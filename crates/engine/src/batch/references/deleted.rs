//! Rows of parents that a statement deletes beside others that it changes: `ON DELETE` applies to the rows that refer
//! to them, and `ON UPDATE` to those that refer to the others.

use crate::batch::Batch;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::KeyColumns;
use crate::batch::references::children::references_to;
use crate::batch::references::lookup::ForeignKeySide;
use crate::batch::references::moved::named_columns;
use crate::batch::references::state::DeletedRows;
use crate::read::scan::Scan;
use arrow::array::{Array, UInt32Array};
use arrow::compute::take;
use atsdb_core::name::same_name;
use atsdb_core::{Column, Result, Table};

impl Batch {
    /// Notes rows of a chunk, given by their numbers in it, that are about to be deleted by a statement that also
    /// changes rows. For a statement that only deletes, [`set_deleting`](Self::set_deleting) is enough.
    pub fn note_deleted(
        &mut self,
        table: &Table,
        (scan, position): (&Scan, usize),
        numbers: &UInt32Array,
    ) -> Result<()> {
        let referenced = self.referenced_columns(table)?;
        if referenced.is_empty() {
            return Ok(());
        }
        let stored = scan.read_stored(position, &referenced)?;
        let deleted = stored.iter().map(|array| Ok(take(array, numbers, None)?)).collect::<Result<Vec<_>>>()?;
        let columns = named_columns(table, &referenced, deleted)?;
        self.changes.references_mut().note_deleted(DeletedRows { table: table.id, columns });
        Ok(())
    }

    /// The keys of the rows that were deleted beside changed ones, in the form in which they are looked up.
    pub(super) fn deleted_keys(
        &self,
        parent: &Table,
        side: &ForeignKeySide<'_>,
        deleted: &[DeletedRows],
    ) -> Result<Vec<KeyColumns>> {
        let mut keys = Vec::new();
        for rows in deleted.iter().filter(|rows| rows.table == parent.id) {
            let all = side.of_added(&self.handle.shared, parent, &rows.columns)?;
            let distinct = Groups::of(std::slice::from_ref(&all), false)?.distinct(&all)?;
            if distinct.first().is_some_and(|array| !array.is_empty()) {
                keys.push(distinct);
            }
        }
        Ok(keys)
    }

    /// The positions of a table's columns that foreign keys refer to.
    fn referenced_columns(&mut self, table: &Table) -> Result<Vec<usize>> {
        if table.definition.is_in_memory() || !self.is_parent(table.id)? {
            return Ok(Vec::new());
        }
        let base = self.base()?;
        let references = references_to(&self.changes.tables(&base), &table.definition);
        let is_referenced = |column: &Column| {
            let mut names = references.iter().flat_map(|reference| &reference.key.parent_columns);
            names.any(|name| same_name(name, &column.name))
        };
        let columns = &table.definition.columns;
        Ok((0..columns.len()).filter(|at| is_referenced(&columns[*at])).collect())
    }
}
