//! The tables of a store as snapshots list them. Snapshots that see the same tables share one list: a list is large if
//! there are many tables, and most statements read only one of them.

use atsdb_core::{LastTables, Result, Snapshot, Table};
use std::fmt;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

/// A table that clones share: the definition of a table with many columns is large, and a query refers to it in many
/// places.
#[derive(Clone)]
pub struct SharedTable {
    /// The list that it is in, which its snapshot shares.
    list: Arc<[Table]>,
    at: usize,
}

impl SharedTable {
    /// A table as one of a list; `None` if it is not there with this definition.
    pub(crate) fn among(list: &Arc<[Table]>, table: &Table) -> Option<Self> {
        let at = list.iter().position(|listed| listed.id == table.id)?;
        let is_same = ptr::eq(&list[at], table) || list[at] == *table;
        is_same.then(|| Self { list: Arc::clone(list), at })
    }
}

impl From<Table> for SharedTable {
    fn from(table: Table) -> Self {
        Self { list: Arc::from([table]), at: 0 }
    }
}

impl Deref for SharedTable {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.list[self.at]
    }
}

impl fmt::Debug for SharedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The tables of a store, by number.
#[derive(Debug, Clone)]
pub(crate) struct ListedTables {
    /// The tables that users see.
    pub(crate) shown: Arc<[Table]>,
    /// The tables that are hidden from users.
    pub(crate) hidden: Arc<[Table]>,
}

/// The tables that were listed last.
#[derive(Debug, Default)]
pub(crate) struct LastListedTables(LastTables<ListedTables>);

impl LastListedTables {
    /// The tables that a snapshot sees. They are only read if they differ from those that were listed last.
    pub(crate) fn of(&self, snapshot: &dyn Snapshot) -> Result<ListedTables> {
        match snapshot.tables_recorded()? {
            Some(recorded) => self.0.get(recorded, || list(snapshot)),
            None => list(snapshot),
        }
    }
}

fn list(snapshot: &dyn Snapshot) -> Result<ListedTables> {
    let (hidden, shown): (Vec<Table>, Vec<Table>) =
        snapshot.tables()?.into_iter().partition(|table| table.definition.is_hidden());
    Ok(ListedTables { shown: shown.into(), hidden: hidden.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ColumnType, TableDefinition, TableId};

    #[test]
    fn a_table_of_a_list_is_shared_only_with_the_same_definition() {
        let definition = |name: &str| TableDefinition::new(name).with_column("n", ColumnType::Int64, None);
        let tables = [("a", 1), ("b", 2)].map(|(name, id)| Table::new(TableId(id), definition(name)));
        let list: Arc<[Table]> = tables.to_vec().into();
        for (listed, own) in list.iter().zip(&tables) {
            for table in [listed, own] {
                assert!(ptr::eq(&*SharedTable::among(&list, table).unwrap(), listed));
            }
        }
        let [changed, other] = [(2, "c"), (3, "b")].map(|(id, name)| Table::new(TableId(id), definition(name)));
        assert!(SharedTable::among(&list, &changed).is_none());
        assert!(SharedTable::among(&list, &other).is_none());
        assert_eq!(*SharedTable::from(other.clone()).clone(), other);
    }
}
