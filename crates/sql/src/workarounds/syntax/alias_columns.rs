//! `t AS u(x)` with fewer names than columns: the others keep theirs. DataFusion wants a name for each column. A
//! subquery or a view still needs all names.
//!
//! No upstream issue known.

use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Cte, Query, SetExpr, Statement, TableAliasColumnDef, TableFactor, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Adds the names that aliases leave out.
pub(super) fn complete_aliases(statement: &mut Statement, tables: &[Table]) {
    let _ = statement.visit(&mut Completing { tables, hidden: Vec::new() });
}

struct Completing<'a> {
    tables: &'a [Table],
    /// Names of common table expressions, which hide tables of the same name.
    hidden: Vec<String>,
}

impl VisitorMut for Completing<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.extend(ctes.map(|Cte { alias, .. }| alias.name.value.clone()));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let (names, alias) = match factor {
            TableFactor::Table { name, alias: Some(alias), args: None, .. } => {
                let name = match name.0.as_slice() {
                    [part] => part.as_ident().map(|name| name.value.as_str()),
                    _ => None,
                };
                (name.and_then(|name| self.columns_of(name)), alias)
            }
            TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                let width = match subquery.body.as_ref() {
                    SetExpr::Values(values) => values.rows.first().map_or(0, |row| row.content.len()),
                    _ => 0,
                };
                (Some((1..=width).map(|column| format!("column{column}")).collect()), alias)
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

impl Completing<'_> {
    fn columns_of(&self, name: &str) -> Option<Vec<String>> {
        let is_hidden = self.hidden.iter().any(|hidden| same_name(hidden, name));
        let table = self.tables.iter().find(|table| !is_hidden && same_name(&table.definition.name, name))?;
        let columns = table.definition.columns.iter().map(|column| column.name.clone()).collect();
        table.definition.view.is_none().then_some(columns)
    }
}
