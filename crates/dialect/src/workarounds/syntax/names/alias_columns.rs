//! `t AS u(x)` with fewer names than columns: the others keep theirs, with a number if it is one of the names.
//! DataFusion wants a name for each column, and no name twice. A view, and a subquery that selects `*`, still need all
//! names. More names than columns are an error that counts both.
//!
//! No upstream issue known.

use super::named_tables::{NamedTables, of_cte};
use super::output_names::name_of;
use crate::text::errors::too_many_names;
use crate::text::relations::columns_of_values;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::tokens::created_columns::CREATED_QUERY;
use atsdb_core::name::with_free_names;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{
    Query, SelectItem, SetExpr, Statement, TableAlias, TableAliasColumnDef, TableFactor, VisitorMut,
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
        self.tables.hide(query);
        self.outer_counts.push(self.parts.len());
        for part in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let columns = columns_of(&part.query.body);
            if let Some(columns) = &columns {
                complete(&mut part.alias, columns)?;
            }
            let named = part.alias.columns.iter().map(|column| column.name.value.clone()).collect::<Vec<_>>();
            self.parts.push((part.alias.name.value.clone(), if named.is_empty() { columns } else { Some(named) }));
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
                let columns = self.tables.columns_of(name);
                let columns = columns.map(|columns| columns.into_iter().map(str::to_owned).collect::<Vec<_>>());
                (columns.or_else(|| of_cte(&self.parts, name).cloned().flatten()), alias)
            }
            // Those of `CREATE TABLE ... AS` name the columns of the table.
            TableFactor::Derived { subquery, alias: Some(alias), .. }
                if !alias.columns.is_empty() && alias.name.value != CREATED_QUERY =>
            {
                (columns_of(&subquery.body), alias)
            }
            _ => return ControlFlow::Continue(()),
        };
        names.map_or(ControlFlow::Continue(()), |names| complete(alias, &names))
    }
}

/// The names of a query's columns; `None` if the statement does not name them all.
pub(crate) fn columns_of(body: &SetExpr) -> Option<Vec<String>> {
    match body {
        SetExpr::Values(values) => Some(columns_of_values(values)),
        SetExpr::Select(select) => {
            let name = |item: &SelectItem| match item {
                SelectItem::UnnamedExpr(expr) => {
                    Some(name_of(expr).map_or_else(|| "?column?".to_owned(), |name| name.value))
                }
                SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
                _ => None,
            };
            select.projection.iter().map(name).collect()
        }
        SetExpr::Query(query) => columns_of(&query.body),
        SetExpr::SetOperation { left, .. } => columns_of(left),
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
