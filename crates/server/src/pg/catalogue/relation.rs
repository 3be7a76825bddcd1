//! Rows with named, typed columns: the tables of the catalogue, and the results of queries.

use super::value::Value;
use std::rc::Rc;

/// A column of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct ColumnName {
    /// The table, or its alias.
    pub(in crate::pg) table: Option<String>,
    pub(in crate::pg) name: String,
    pub(in crate::pg) type_id: u32,
    /// `*` does not include a hidden column: one merged by a join, which is found only by its qualified name, or
    /// [`SYSTEM_COLUMN`].
    pub(in crate::pg) is_hidden: bool,
}

/// A row of a relation.
pub(in crate::pg) type Row = Vec<Value>;

/// Rows with columns.
#[derive(Debug, Clone, Default)]
pub(in crate::pg) struct Relation {
    pub(in crate::pg) columns: Vec<ColumnName>,
    pub(in crate::pg) rows: Rc<Vec<Row>>,
}

/// A column that every table of the catalogue has, and that `*` does not include.
pub(in crate::pg) const SYSTEM_COLUMN: &str = "tableoid";

impl ColumnName {
    /// Returns whether this is the system column.
    pub(in crate::pg) fn is_system(&self) -> bool {
        self.is_hidden && self.name == SYSTEM_COLUMN
    }

    pub(in crate::pg) fn new(name: &str, type_id: u32) -> Self {
        Self { table: None, name: name.to_owned(), type_id, is_hidden: false }
    }
}

impl Relation {
    pub(in crate::pg) fn new(columns: Vec<ColumnName>, rows: Vec<Row>) -> Self {
        Self { columns, rows: Rc::new(rows) }
    }

    /// Returns the same rows, with columns that belong to an alias and may be renamed.
    pub(in crate::pg) fn aliased(mut self, alias: &str, names: &[String]) -> Self {
        for (position, column) in self.columns.iter_mut().enumerate() {
            column.table = Some(alias.to_owned());
            if let Some(name) = names.get(position) {
                column.name.clone_from(name);
            }
        }
        self
    }
}

/// Returns the position of the column with this name, or `None` if there is none.
pub(in crate::pg) fn find(columns: &[ColumnName], table: Option<&str>, name: &str) -> Option<usize> {
    let is_it = |column: &ColumnName| match table {
        Some(table) => column.table.as_deref() == Some(table) && column.name == name,
        None => (!column.is_hidden || column.is_system()) && column.name == name,
    };
    columns.iter().position(is_it)
}
