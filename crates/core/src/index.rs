//! Adding indexes to a definition, and naming them.

use crate::id::ColumnId;
use crate::limits::NAME_BYTES_MAX;
use crate::schema::{Index, TableDefinition};

impl TableDefinition {
    /// Adds an index and returns it. Without a name it is named after its table and columns.
    pub fn add_index(&mut self, name: Option<&str>, columns: Vec<ColumnId>) -> Index {
        let name = name.map_or_else(|| self.index_name(&columns), str::to_owned);
        let index = Index { id: self.next_index_id(), name, columns };
        self.indexes_given += 1;
        self.indexes.push(index.clone());
        index
    }

    fn index_name(&self, columns: &[ColumnId]) -> String {
        let mut parts = vec![self.local_name()];
        parts.extend(columns.iter().filter_map(|id| self.column_by_id(*id)).map(|column| column.name.as_str()));
        // This leaves room for a numeric suffix.
        let length_max = NAME_BYTES_MAX - 8;
        let mut name = parts.join("_");
        while name.len() > length_max {
            name.pop();
        }
        let free = |name: &String| self.index(name).is_none();
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        std::iter::once(name.clone()).chain(numbered).find(free).unwrap_or(name)
    }
}
