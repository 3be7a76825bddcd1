//! The tables that names in a statement mean, and their columns.
//!
//! Part of [`stars`](super::stars), [`alias_columns`](super::alias_columns), [`shown_columns`](super::shown_columns),
//! [`natural`](crate::workarounds::syntax::queries::natural) and
//! [`group_keys`](crate::workarounds::syntax::queries::group_keys).

use crate::text::table_names::{NamedSchema, TableName};
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{Cte, Ident, ObjectName, Query, TableFactor};

/// The tables of a statement. A common table expression hides the table of its name.
#[derive(Clone)]
pub(crate) struct NamedTables<'a> {
    tables: &'a [Table],
    /// Names of common table expressions.
    hidden: Vec<String>,
}

impl<'a> NamedTables<'a> {
    pub(crate) fn new(tables: &'a [Table]) -> Self {
        Self { tables, hidden: Vec::new() }
    }

    /// Notes the common table expressions of a query.
    pub(crate) fn hide(&mut self, query: &Query) {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.extend(ctes.map(|Cte { alias, .. }| alias.name.value.clone()));
    }

    /// The columns of a table; `None` if the name is that of something else, such as a view.
    pub(crate) fn columns_of(&self, name: &ObjectName) -> Option<Vec<&'a str>> {
        let definition = &self.table(name)?.definition;
        Some(definition.columns.iter().map(|column| column.name.as_str()).collect())
    }

    /// The columns of the primary key of a relation; `None` if it is not a table with one.
    pub(crate) fn key_of(&self, relation: &TableFactor) -> Option<Vec<&'a str>> {
        let TableFactor::Table { name, args: None, .. } = relation else { return None };
        let definition = &self.table(name)?.definition;
        let key = definition.unique.iter().find(|unique| unique.primary)?;
        let mut names = Vec::with_capacity(key.columns.len());
        for id in &key.columns {
            names.push(definition.columns.iter().find(|column| column.id == *id)?.name.as_str());
        }
        Some(names)
    }

    /// The query of a view; `None` if the name is that of something else.
    pub(crate) fn query_of_view(&self, name: &ObjectName) -> Option<&'a str> {
        self.table_or_view(name)?.definition.view.as_ref().map(|view| view.query.as_str())
    }

    /// The same tables for the query of a view, from which the statement hides none.
    pub(crate) fn of_views(&self) -> Self {
        Self::new(self.tables)
    }

    fn table(&self, name: &ObjectName) -> Option<&'a Table> {
        self.table_or_view(name).filter(|table| table.definition.view.is_none())
    }

    fn table_or_view(&self, name: &ObjectName) -> Option<&'a Table> {
        let name = TableName::of(name).ok()?;
        if name.schema == NamedSchema::Unsaid && self.hidden.iter().any(|hidden| same_name(hidden, &name.name)) {
            return None;
        }
        name.find(self.tables)
    }

    /// The name of a relation in the statement, and its columns; `None` if it is not a table, or its columns have other
    /// names in the statement.
    pub(crate) fn relation<'r>(&self, relation: &'r TableFactor) -> Option<(&'r Ident, Vec<Ident>)> {
        let TableFactor::Table { name, alias, args: None, .. } = relation else { return None };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let columns = self.columns_of(name)?.into_iter().map(|column| Ident::with_quote('"', column)).collect();
        let own_name = name.0.last()?.as_ident()?;
        Some((alias.as_ref().map_or(own_name, |alias| &alias.name), columns))
    }
}

/// Returns what `ctes` holds for the common table expression to which a name refers: the last one of this name. `None`
/// if there is none, or if the name has a schema.
pub(crate) fn of_cte<'c, T>(ctes: &'c [(String, T)], name: &ObjectName) -> Option<&'c T> {
    let name = TableName::of(name).ok().filter(|name| name.schema == NamedSchema::Unsaid)?;
    ctes.iter().rev().find(|(cte, _)| same_name(cte, &name.name)).map(|(_, known)| known)
}
