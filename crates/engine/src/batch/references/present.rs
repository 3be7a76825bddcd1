//! Keys that are gone, under the present definitions. Since the keys went, tables and columns may have got other names,
//! columns wider types, and foreign keys may have been dropped. So tables and columns are found by their numbers.

use crate::batch::references::children::own_table;
use crate::batch::references::state::GoneKeys;
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::name::same_name;
use atsdb_core::{ColumnId, ForeignKey, Table};

/// A foreign key with its tables, as a view of a batch has them.
pub(super) struct PresentReference {
    pub(super) child: Table,
    pub(super) key: ForeignKey,
    pub(super) parent: Table,
}

impl GoneKeys {
    /// The foreign key that the keys went under. `None` if it was dropped, also with one of its tables: then no row
    /// needs the keys. Of several over the same columns it is the one with the same name.
    pub(super) fn present_in(&self, view: &ReadSnapshot) -> Option<PresentReference> {
        let (child, parent) = (own_table(view, self.reference.child)?, own_table(view, self.parent)?);
        let former = &self.reference.key;
        let is_over_same = |held: &&ForeignKey| {
            held.columns == former.columns
                && held.parent.is_of(&parent.definition)
                && held.parent_columns.len() == self.parent_columns.len()
                && held.parent_columns.iter().zip(&self.parent_columns).all(|(name, id)| is_named(&parent, *id, name))
        };
        let held = child.definition.foreign_keys.iter().filter(is_over_same);
        let key = held.max_by_key(|held| same_name(&held.name, &former.name))?.clone();
        Some(PresentReference { child, key, parent })
    }
}

fn is_named(table: &Table, column: ColumnId, name: &str) -> bool {
    table.definition.column_by_id(column).is_some_and(|column| same_name(&column.name, name))
}
