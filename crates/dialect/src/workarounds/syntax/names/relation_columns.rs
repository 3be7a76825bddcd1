//! The columns of relations in a statement, where all of them are known: those of tables, common table expressions and
//! `VALUES`, and of subqueries over them.
//!
//! Part of [`alias_columns`](super::alias_columns), [`natural`](crate::workarounds::syntax::queries::natural) and
//! [`outer_merged`](crate::workarounds::syntax::queries::outer_merged).

use super::named_tables::{NamedTables, of_cte};
use super::output_names::name_of;
use super::shown_columns::shown_name;
use crate::text::relations::{columns_of_values, merges_columns, relations_of};
use atsdb_core::Table;
use atsdb_core::name::{same_name, with_free_names};
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor,
    TableWithJoins,
};
use std::slice;

/// The relations that names mean at a place in a statement.
#[derive(Clone)]
pub(crate) struct RelationColumns<'a> {
    tables: NamedTables<'a>,
    /// The names of common table expressions, and their columns as far as the statement names them.
    parts: Vec<(String, Option<Vec<String>>)>,
    /// How many of them were known outside of each query that is entered.
    outer_counts: Vec<usize>,
}

impl<'a> RelationColumns<'a> {
    pub(crate) fn new(tables: &'a [Table]) -> Self {
        Self { tables: NamedTables::new(tables), parts: Vec::new(), outer_counts: Vec::new() }
    }

    /// Enters a query, and notes its common table expressions.
    pub(crate) fn enter(&mut self, query: &Query) {
        self.begin(query);
        for part in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = self.of_query(&part.query);
            self.note(&part.alias, columns);
        }
    }

    /// Leaves the query that was entered last.
    pub(crate) fn leave(&mut self) {
        if let Some(count) = self.outer_counts.pop() {
            self.parts.truncate(count);
        }
    }

    /// Enters a query whose common table expressions the caller notes.
    pub(super) fn begin(&mut self, query: &Query) {
        self.outer_counts.push(self.parts.len());
        self.tables.hide(query);
    }

    /// Notes a common table expression and its columns.
    pub(super) fn note(&mut self, alias: &TableAlias, columns: Option<Vec<String>>) {
        self.parts.push((alias.name.value.clone(), named(alias, columns)));
    }

    /// The columns of all relations of a `FROM`.
    pub(crate) fn of_from(&self, from: &[TableWithJoins]) -> Option<Vec<String>> {
        let mut columns = Vec::new();
        for relation in relations_of(from) {
            columns.extend(match relation {
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    self.of_from(slice::from_ref(table_with_joins.as_ref()))?
                }
                relation => self.of_relation(relation)?,
            });
        }
        Some(columns)
    }

    /// The names of a query's columns; `None` if they are not all known.
    pub(super) fn of_query(&self, query: &Query) -> Option<Vec<String>> {
        if query.with.is_none() {
            return self.of_body(&query.body);
        }
        let mut inner = self.clone();
        inner.enter(query);
        inner.of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => {
                let mut names = Vec::with_capacity(select.projection.len());
                for item in &select.projection {
                    match item {
                        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                            names.extend(self.of_star(item, select)?);
                        }
                        item => names.push(name_of_item(item)?),
                    }
                }
                Some(names)
            }
            SetExpr::Query(query) => self.of_query(query),
            SetExpr::SetOperation { left, .. } => self.of_body(left),
            other => columns_of(other),
        }
    }

    /// The columns that a `*` shows; `None` if they are not known.
    fn of_star(&self, item: &SelectItem, select: &Select) -> Option<Vec<String>> {
        let (options, wanted) = match item {
            SelectItem::Wildcard(options) if !merges_columns(&select.from) => (options, None),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                (options, Some(name.0.last()?.as_ident()?))
            }
            _ => return None,
        };
        if *options != Default::default() {
            return None;
        }
        let is_named = |relation: &TableFactor, wanted: &Ident| {
            shown_name(relation).is_some_and(|name| same_name(&name.value, &wanted.value))
        };
        let mut names = Vec::new();
        for relation in relations_of(&select.from) {
            if wanted.is_none_or(|wanted| is_named(relation, wanted)) {
                names.extend(self.of_relation(relation)?);
            }
        }
        (!names.is_empty()).then_some(names)
    }

    fn of_relation(&self, relation: &TableFactor) -> Option<Vec<String>> {
        let (columns, alias) = match relation {
            TableFactor::Table { name, alias, args: None, .. } => (self.of_table(name), alias),
            TableFactor::Derived { subquery, alias, .. } => (self.of_query(subquery), alias),
            _ => return None,
        };
        match alias {
            Some(alias) => named(alias, columns),
            None => columns,
        }
    }

    /// The columns of a table or a common table expression.
    pub(super) fn of_table(&self, name: &ObjectName) -> Option<Vec<String>> {
        match self.tables.columns_of(name) {
            Some(columns) => Some(columns.into_iter().map(str::to_owned).collect()),
            None => of_cte(&self.parts, name).cloned().flatten(),
        }
    }
}

/// The names that columns have under an alias; `None` if they are not all known.
fn named(alias: &TableAlias, columns: Option<Vec<String>>) -> Option<Vec<String>> {
    let first: Vec<String> = alias.columns.iter().map(|column| column.name.value.clone()).collect();
    match columns {
        Some(columns) => Some(with_free_names(first, columns.iter().map(String::as_str))),
        // Without all names, a query with this alias is refused.
        None => (!first.is_empty()).then_some(first),
    }
}

/// The names of a query's columns; `None` if the statement does not name them all.
pub(crate) fn columns_of(body: &SetExpr) -> Option<Vec<String>> {
    match body {
        SetExpr::Values(values) => Some(columns_of_values(values)),
        SetExpr::Select(select) => select.projection.iter().map(name_of_item).collect(),
        SetExpr::Query(query) => columns_of(&query.body),
        SetExpr::SetOperation { left, .. } => columns_of(left),
        _ => None,
    }
}

/// The name of an item of a SELECT list; `None` for a `*`.
fn name_of_item(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some(name_of(expr).map_or_else(|| "?column?".to_owned(), |name| name.value)),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    }
}
