//! The names in a query that are not those of tables.

use super::names::{ident, schema_and_name};
use atsdb::sql::tree_walk::visit;
use datafusion::sql::sqlparser::ast::{Query, TableFactor, Visitor};
use std::ops::ControlFlow;

/// The names in FROM that are not tables, also in subqueries: common table expressions and functions.
#[derive(Default)]
pub(super) struct NotTables {
    ctes: Vec<String>,
    functions: Vec<String>,
}

impl NotTables {
    /// Collects the names of a query.
    pub(super) fn of(query: &Query) -> Self {
        let mut names = Self::default();
        let _: ControlFlow<()> = visit(query, &mut names);
        names
    }

    /// Returns whether a name means no table.
    pub(super) fn has(&self, schema: Option<&str>, name: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|other| other == name);
        schema.is_none() && is_in(&self.ctes) || is_in(&self.functions)
    }
}

impl Visitor for NotTables {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.ctes.extend(query.with.iter().flat_map(|with| &with.cte_tables).map(|cte| ident(&cte.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } = factor {
            self.functions.push(schema_and_name(name).1);
        }
        ControlFlow::Continue(())
    }
}
