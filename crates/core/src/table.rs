//! A table of a store: its number, its definition, and the definition's version.

use crate::id::TableId;
use crate::schema::TableDefinition;
use parking_lot::Mutex;

/// The version of a table's definition: 1 for the first, incremented by each change. A change to a table names the
/// version that it was made under, and the store refuses it if the version is outdated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionVersion(pub i64);

impl DefinitionVersion {
    /// The version of a new table's definition.
    pub const FIRST: Self = Self(1);

    /// Returns the next version.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl TableDefinition {
    /// Returns whether users do not see the table: it is a change log, the entry of a schema or of an enumerated type,
    /// or belongs to the program.
    pub fn is_hidden(&self) -> bool {
        self.logs.is_some() || self.system || self.is_entry()
    }
}

/// The integrity record of a store's list of visible tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TablesRecord {
    /// The number of tables.
    pub count: i64,
    /// The sum of their hashes.
    pub hash: i64,
}

/// The visible tables as they were read last, in the form that their reader keeps them. As long as a snapshot sees the
/// same record, it sees the same tables.
#[derive(Debug)]
pub struct LastTables<T>(Mutex<Option<(TablesRecord, T)>>);

impl<T> Default for LastTables<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> LastTables<T> {
    /// Returns the tables with this record. They are only read if those that were read last have another one.
    pub fn get<E>(&self, recorded: TablesRecord, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if let Some((last, tables)) = &*self.0.lock()
            && *last == recorded
        {
            return Ok(tables.clone());
        }
        let tables = read()?;
        *self.0.lock() = Some((recorded, tables.clone()));
        Ok(tables)
    }
}

/// A table of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The table's number.
    pub id: TableId,
    /// The definition's version.
    pub version: DefinitionVersion,
    /// The definition.
    pub definition: TableDefinition,
}

impl Table {
    /// Creates a table with its first definition.
    pub fn new(id: TableId, definition: TableDefinition) -> Self {
        Self { id, version: DefinitionVersion::FIRST, definition }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_again_only_if_their_record_is_another() {
        let last = LastTables::<&str>::default();
        let record = |hash| TablesRecord { count: 1, hash };
        assert_eq!(last.get(record(1), || Err("unread")), Err("unread"), "a failure is not kept");
        assert_eq!(last.get(record(1), || Ok::<_, &str>("one")), Ok("one"));
        assert_eq!(last.get(record(1), || Err("read again")), Ok("one"));
        assert_eq!(last.get(record(2), || Ok::<_, &str>("two")), Ok("two"));
        assert_eq!(last.get(record(1), || Err("only the last is kept")), Err("only the last is kept"));
    }
}
