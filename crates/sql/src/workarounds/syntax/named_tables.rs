//! The tables that names in a statement mean, and their columns.
//!
//! Part of [`stars`](super::stars), [`natural`](super::natural), [`alias_columns`](super::alias_columns) and
//! [`order_names`](super::order_names).

use crate::text::table_names::{NamedSchema, TableName};
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{Cte, Ident, ObjectName, Query, TableFactor};

/// The tables of a statement. A common table expression hides the table of its name.
pub(super) struct NamedTables<'a> {
    tables: &'a [Table],
    /// Names of common table expressions.
    hidden: Vec<String>,
}

impl<'a> NamedTables<'a> {
    pub(super) fn new(tables: &'a [Table]) -> Self {
        Self { tables, hidden: Vec::new() }
    }

    /// Notes the common table expressions of a query.
    pub(super) fn hide(&mut self, query: &Query) {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.extend(ctes.map(|Cte { alias, .. }| alias.name.value.clone()));
    }

    /// The columns of a table; `None` if the name is that of something else, such as a view.
    pub(super) fn columns_of(&self, name: &ObjectName) -> Option<Vec<&'a str>> {
        let name = TableName::of(name).ok()?;
        if name.schema == NamedSchema::Unsaid && self.hidden.iter().any(|hidden| same_name(hidden, &name.name)) {
            return None;
        }
        let table = name.find(self.tables)?;
        let columns = table.definition.columns.iter().map(|column| column.name.as_str()).collect();
        table.definition.view.is_none().then_some(columns)
    }

    /// The name of a relation in the statement, and its columns; `None` if it is no table, or its columns have other
    /// names in the statement.
    pub(super) fn relation<'r>(&self, relation: &'r TableFactor) -> Option<(&'r Ident, Vec<Ident>)> {
        let TableFactor::Table { name, alias, args: None, .. } = relation else { return None };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let columns = self.columns_of(name)?.into_iter().map(|column| Ident::with_quote('"', column)).collect();
        let own_name = name.0.last()?.as_ident()?;
        Some((alias.as_ref().map_or(own_name, |alias| &alias.name), columns))
    }
}
