//! `t AS u(x)` with fewer names than columns: the others keep theirs, with a number if it is one of the names.
//! DataFusion wants a name for each column, and no name twice. A subquery or a view still needs all names. More names
//! than columns are an error that counts both.
//!
//! No upstream issue known.

use super::named_tables::NamedTables;
use crate::text::errors::too_many_names;
use crate::text::relations::columns_of_values;
use crate::text::tree_walk::visit_mut;
use atsdb_core::name::with_free_names;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement, TableAliasColumnDef, TableFactor, VisitorMut};
use std::ops::ControlFlow;

/// Adds the names that aliases leave out.
pub(crate) fn complete_aliases(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    match visit_mut(statement, &mut Completing { tables: NamedTables::new(tables) }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Completing<'a> {
    tables: NamedTables<'a>,
}

impl VisitorMut for Completing<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.tables.hide(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let (names, alias) = match factor {
            TableFactor::Table { name, alias: Some(alias), args: None, .. } => {
                let columns = self.tables.columns_of(name);
                (columns.map(|columns| columns.into_iter().map(str::to_owned).collect::<Vec<_>>()), alias)
            }
            TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                let names = match subquery.body.as_ref() {
                    SetExpr::Values(values) => Some(columns_of_values(values)),
                    _ => None,
                };
                (names, alias)
            }
            _ => return ControlFlow::Continue(()),
        };
        let Some(names) = names else { return ControlFlow::Continue(()) };
        if alias.columns.len() > names.len() {
            return ControlFlow::Break(too_many_names(&alias.name.value, names.len(), alias.columns.len()));
        }
        if !alias.columns.is_empty() {
            let given = alias.columns.iter().map(|column| column.name.value.clone()).collect();
            let all = with_free_names(given, names.iter().map(String::as_str));
            let missing = all.into_iter().skip(alias.columns.len());
            alias.columns.extend(missing.map(TableAliasColumnDef::from_name));
        }
        ControlFlow::Continue(())
    }
}
