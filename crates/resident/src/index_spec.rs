//! The indexes of an in-memory table.

use atsdb_core::{ColumnId, TableDefinition};

/// The specification of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// The index's name; a key without a name is named after its columns.
    pub name: String,
    /// The positions of the index's columns in the table.
    pub positions: Vec<usize>,
    /// Whether the index is a unique key.
    pub is_key: bool,
    /// Whether a NULL of the key equals another NULL.
    pub nulls_equal: bool,
}

impl IndexSpec {
    /// Returns the indexes of a table: its keys, then the declared indexes. Of several over the same columns it returns
    /// the first; keys count as the same only if they treat NULLs alike.
    pub fn all_of(definition: &TableDefinition) -> Vec<Self> {
        let positions = |ids: &[ColumnId]| -> Vec<usize> {
            let position = |id: &ColumnId| definition.columns.iter().position(|column| column.id == *id);
            ids.iter().filter_map(position).collect()
        };
        let named = |name: Option<&String>, positions: &[usize]| match name {
            Some(name) => name.clone(),
            None => {
                let names: Vec<&str> = positions.iter().map(|at| definition.columns[*at].name.as_str()).collect();
                names.join(", ")
            }
        };
        let keys = definition.unique.iter().map(|unique| {
            let positions = positions(&unique.columns);
            Self {
                name: named(unique.name.as_ref(), &positions),
                positions,
                is_key: true,
                nulls_equal: unique.nulls_equal,
            }
        });
        let indexes = definition.indexes.iter().map(|index| {
            let positions = positions(&index.columns);
            Self { name: index.name.clone(), positions, is_key: false, nulls_equal: false }
        });
        let mut all: Vec<Self> = Vec::new();
        for spec in keys.chain(indexes) {
            let same = |other: &Self| {
                other.positions == spec.positions && (!spec.is_key || other.nulls_equal == spec.nulls_equal)
            };
            if !spec.positions.is_empty() && !all.iter().any(same) {
                all.push(spec);
            }
        }
        all
    }
}
