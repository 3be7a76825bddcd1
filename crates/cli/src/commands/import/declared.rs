//! The parts of a new table's definition that come from flags, not from the files: its engine and its indexes.

use crate::args::{ImportArgs, ImportEngine};
use atsdb::{ColumnId, Error, Result, TableDefinition};

/// The flags.
#[derive(Debug, Clone, Default)]
pub(super) struct DeclaredTable {
    in_memory: bool,
    /// The columns of each index.
    indexes: Vec<Vec<String>>,
}

impl DeclaredTable {
    pub(super) fn of(args: &ImportArgs) -> Result<Self> {
        let in_memory = args.engine == Some(ImportEngine::Memory);
        if in_memory && !args.map.is_empty() {
            return Err(Error::usage("tables in memory have no mapped columns").with_hint("leave --map out"));
        }
        let columns = |text: &String| text.split(',').map(|name| name.trim().to_owned()).collect();
        Ok(Self { in_memory, indexes: args.index.iter().map(columns).collect() })
    }

    /// The table to create.
    pub(super) fn apply(&self, shown: &TableDefinition) -> Result<TableDefinition> {
        let mut definition = shown.clone();
        if self.in_memory {
            definition.memory = Some(atsdb::InMemory::default());
            definition.columns.iter_mut().for_each(|column| column.map = None);
        }
        for names in &self.indexes {
            let ids = names.iter().map(|name| Ok(definition.column(name)?.id)).collect::<Result<Vec<ColumnId>>>()?;
            definition.add_index(None, ids);
        }
        definition.check()?;
        Ok(definition)
    }

    /// Returns the flags that contradict the existing table.
    pub(super) fn unused(&self, definition: &TableDefinition) -> Result<Vec<String>> {
        let mut unused = Vec::new();
        if self.in_memory && !definition.is_in_memory() {
            unused.push("--engine memory".to_owned());
        }
        for names in &self.indexes {
            let ids = names.iter().map(|name| Ok(definition.column(name)?.id)).collect::<Result<Vec<ColumnId>>>()?;
            if !definition.indexes.iter().any(|index| index.columns == ids) {
                unused.push(format!("--index {}", names.join(",")));
            }
        }
        Ok(unused)
    }
}
