//! A table of a store: its number, its definition, and the definition's version.

use crate::id::TableId;
use crate::schema::TableDefinition;

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
    /// Whether users do not see the table: it is a change log, the entry of a schema or of an enumerated type,
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
