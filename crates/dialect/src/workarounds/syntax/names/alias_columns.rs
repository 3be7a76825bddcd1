//! `t AS u(x)` with fewer names than columns: the others keep theirs. DataFusion wants a name for each column. A
//! subquery or a view still needs all names.
//!
//! No upstream issue known.

use super::named_tables::NamedTables;
use crate::text::relations::columns_of_values;
use crate::text::tree_walk::visit_mut;
use atsdb_core::Table;
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement, TableAliasColumnDef, TableFactor, VisitorMut};
use std::ops::ControlFlow;

/// Adds the names that aliases leave out.
pub(crate) fn complete_aliases(statement: &mut Statement, tables: &[Table]) {
    let _ = visit_mut(statement, &mut Completing { tables: NamedTables::new(tables) });
}

struct Completing<'a> {
    tables: NamedTables<'a>,
}

impl VisitorMut for Completing<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.tables.hide(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
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
        let names: Vec<String> = names.unwrap_or_default();
        if !alias.columns.is_empty() && alias.columns.len() < names.len() {
            let missing = names.into_iter().skip(alias.columns.len());
            alias.columns.extend(missing.map(TableAliasColumnDef::from_name));
        }
        ControlFlow::Continue(())
    }
}
