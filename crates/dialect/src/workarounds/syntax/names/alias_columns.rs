//! `t AS u(x)` with fewer names than columns: the others keep theirs, with a number if it is one of the names.
//! DataFusion wants a name for each column, and no name twice. A view, and a subquery that selects the `*` of one, of
//! functions or of merged columns, still need all names. More names than columns are an error that counts both.
//!
//! No upstream issue known.

use super::relation_columns::RelationColumns;
use crate::text::errors::too_many_names;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::tokens::created_columns::CREATED_QUERY;
use atsdb_core::name::with_free_names;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{Query, Statement, TableAlias, TableAliasColumnDef, TableFactor, VisitorMut};
use std::ops::ControlFlow;

/// Adds the names that aliases leave out.
pub(crate) fn complete_aliases(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    match visit_mut(statement, &mut Completing(RelationColumns::new(tables))) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Completing<'a>(RelationColumns<'a>);

impl VisitorMut for Completing<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.0.begin(query);
        for part in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let columns = self.0.of_query(&part.query);
            if let Some(columns) = &columns {
                complete(&mut part.alias, columns)?;
            }
            self.0.note(&part.alias, columns);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.0.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let (names, alias) = match factor {
            TableFactor::Table { name, alias: Some(alias), args: None, .. } if !alias.columns.is_empty() => {
                (self.0.of_table(name), alias)
            }
            // Those of `CREATE TABLE ... AS` name the columns of the table.
            TableFactor::Derived { subquery, alias: Some(alias), .. }
                if !alias.columns.is_empty() && alias.name.value != CREATED_QUERY =>
            {
                (self.0.of_query(subquery), alias)
            }
            _ => return ControlFlow::Continue(()),
        };
        names.map_or(ControlFlow::Continue(()), |names| complete(alias, &names))
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
