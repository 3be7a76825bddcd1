//! Which indexes a table in memory has.

use atsdb_core::{ColumnId, TableDefinition};

/// One index of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its name; a key without one is named by its columns.
    pub name: String,
    /// Where its columns stand in the table.
    pub positions: Vec<usize>,
    /// Whether no two rows may have the same values in them.
    pub is_key: bool,
}

impl IndexSpec {
    /// The indexes of a table: its keys, then what was declared besides. Of those over the same columns the first.
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
            Self { name: named(unique.name.as_ref(), &positions), positions, is_key: true }
        });
        let indexes = definition.indexes.iter().map(|index| {
            let positions = positions(&index.columns);
            Self { name: index.name.clone(), positions, is_key: false }
        });
        let mut all: Vec<Self> = Vec::new();
        for spec in keys.chain(indexes) {
            let same = |other: &Self| other.positions == spec.positions;
            if !spec.positions.is_empty() && !all.iter().any(same) {
                all.push(spec);
            }
        }
        all
    }
}
