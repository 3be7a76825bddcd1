//! A table of a store: its number, its definition, and which one that is.

use crate::id::TableId;
use crate::schema::TableDefinition;

/// Which of a table's definitions: 1 for the first, one more with each change. Whoever does something to a table under
/// a definition names its version, and the store refuses what was done under an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionVersion(pub i64);

impl DefinitionVersion {
    /// The version that a new table has.
    pub const FIRST: Self = Self(1);

    /// The version after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A table of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its number.
    pub id: TableId,
    /// Which of its definitions this is.
    pub version: DefinitionVersion,
    /// What it is.
    pub definition: TableDefinition,
}

impl Table {
    /// A table with its first definition.
    pub fn new(id: TableId, definition: TableDefinition) -> Self {
        Self { id, version: DefinitionVersion::FIRST, definition }
    }
}
