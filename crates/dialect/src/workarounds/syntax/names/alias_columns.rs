//! `t AS u(x)` with fewer names than columns: the others keep theirs, with a number if it is one of the names.
//! DataFusion wants a name for each column, and no name twice. A view, and a subquery that selects the `*` of one, of
//! functions or of merged columns, still need all names. More names than columns are an error that counts both.
//!
//! No upstream issue known.

use super::named_tables::{NamedTables, of_cte};
use super::output_names::name_of;
use super::shown_columns::shown_name;
use crate::text::errors::too_many_names;
use crate::text::relations::{columns_of_values, merges_columns, relations_of};
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::tokens::created_columns::CREATED_QUERY;
use atsdb_core::name::{same_name, with_free_names};
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias,
    TableAliasColumnDef, TableFactor, VisitorMut,
};
use std::ops::ControlFlow;

/// Adds the names that aliases leave out.
pub(crate) fn complete_aliases(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    let mut completing = Completing { tables: NamedTables::new(tables), parts: Vec::new(), outer_counts: Vec::new() };
    match visit_mut(statement, &mut completing) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

#[derive(Clone)]
struct Completing<'a> {
    tables: NamedTables<'a>,
    /// The names of common table expressions, and their columns as far as the statement names them.
    parts: Vec<(String, Option<Vec<String>>)>,
    /// The number of them that were known outside of each query that the visitor is inside of.
    outer_counts: Vec<usize>,
}

impl VisitorMut for Completing<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.outer_counts.push(self.parts.len());
        self.tables.hide(query);
        for part in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let columns = self.of_query(&part.query);
            if let Some(columns) = &columns {
                complete(&mut part.alias, columns)?;
            }
            self.parts.push((part.alias.name.value.clone(), named(&part.alias, columns)));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        if let Some(count) = self.outer_counts.pop() {
            self.parts.truncate(count);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let (names, alias) = match factor {
            TableFactor::Table { name, alias: Some(alias), args: None, .. } if !alias.columns.is_empty() => {
                (self.of_table(name), alias)
            }
            // Those of `CREATE TABLE ... AS` name the columns of the table.
            TableFactor::Derived { subquery, alias: Some(alias), .. }
                if !alias.columns.is_empty() && alias.name.value != CREATED_QUERY =>
            {
                (self.of_query(subquery), alias)
            }
            _ => return ControlFlow::Continue(()),
        };
        names.map_or(ControlFlow::Continue(()), |names| complete(alias, &names))
    }
}

impl Completing<'_> {
    /// The names of a query's columns; `None` if they are not all known.
    fn of_query(&self, query: &Query) -> Option<Vec<String>> {
        let Some(with) = &query.with else { return self.of_body(&query.body) };
        let mut inner = self.clone();
        inner.tables.hide(query);
        for part in &with.cte_tables {
            let columns = inner.of_query(&part.query);
            inner.parts.push((part.alias.name.value.clone(), named(&part.alias, columns)));
        }
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
    fn of_table(&self, name: &ObjectName) -> Option<Vec<String>> {
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

/// Gives an alias as many names as there are columns, if it has some.
fn complete(alias: &mut TableAlias, columns: &[String]) -> ControlFlow<Error> {
    if alias.columns.len() > columns.len() {
        return ControlFlow::Break(too_many_names(&alias.name.value, columns.len(), alias.columns.len()));
    }
    if !alias.columns.is_empty() {
        let aliases = alias.columns.iter().map(|column| column.name.value.clone()).collect();
        let all = with_free_names(aliases, columns.iter().map(String::as_str));
        let missing = all.into_iter().skip(alias.columns.len());
        alias.columns.extend(missing.map(TableAliasColumnDef::from_name));
    }
    ControlFlow::Continue(())
}
