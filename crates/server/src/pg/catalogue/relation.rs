//! Rows with named, typed columns: tables of the catalogue, and what queries make of them.

use super::value::Value;
use std::rc::Rc;

/// A column of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct ColumnName {
    /// The table, or its alias.
    pub(in crate::pg) table: Option<String>,
    pub(in crate::pg) name: String,
    pub(in crate::pg) type_id: u32,
    /// Merged with the same column of another table: found by its own name alone, once.
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

/// The name of a column that every table of the catalogue has, and that no `*` shows.
pub(in crate::pg) const SYSTEM_COLUMN: &str = "tableoid";

impl ColumnName {
    /// Whether it is found by its table and name alone.
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

    /// The same rows, whose columns belong to an alias and may have other names.
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

/// Where a name leads, in some columns; `None` if it is not among them.
pub(in crate::pg) fn find(columns: &[ColumnName], table: Option<&str>, name: &str) -> Option<usize> {
    let is_it = |column: &ColumnName| match table {
        Some(table) => column.table.as_deref() == Some(table) && column.name == name,
        None => !column.is_hidden && column.name == name,
    };
    columns.iter().position(is_it)
}
