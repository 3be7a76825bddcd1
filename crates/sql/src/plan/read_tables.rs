//! The error for a column of a table that the statement does not read: `SELECT x.a FROM t`. The planner says only that
//! there is no such column.

use atsdb_core::name::same_name;
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::relations::alias_of;
use atsdb_dialect::text::tree_walk::visit;
use datafusion::common::{DataFusionError, SchemaError, TableReference};
use datafusion::sql::sqlparser::ast::{Statement as Ast, TableFactor, Visitor};
use std::ops::ControlFlow;

/// The names of the tables that a statement reads, wherever in it.
#[derive(Default)]
pub(super) struct ReadTables(Vec<ReadTable>);

struct ReadTable {
    /// The name of the relation, if it has one.
    name: Option<String>,
    alias: Option<String>,
}

impl ReadTables {
    pub(super) fn of(statement: &Ast) -> Self {
        let mut tables = Self::default();
        let _ = visit(statement, &mut tables);
        tables
    }

    /// Replaces the error about a column of another table.
    pub(super) fn explain(&self, error: DataFusionError) -> DataFusionError {
        let Some(table) = table_of_missing_column(&error).map(str::to_owned) else { return error };
        let is_named = |name: &Option<String>| name.as_ref().is_some_and(|name| same_name(name, &table));
        if self.0.iter().any(|read| is_named(if read.alias.is_some() { &read.alias } else { &read.name })) {
            return error;
        }
        external(match self.0.iter().find(|read| is_named(&read.name)).and_then(|read| read.alias.as_ref()) {
            Some(alias) => sql_error(format!("invalid reference to FROM-clause entry for table \"{table}\""))
                .with_hint(format!("in this statement it is named by its alias: {alias}")),
            None => sql_error(format!("missing FROM-clause entry for table \"{table}\"")),
        })
    }
}

impl Visitor for ReadTables {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let name = match factor {
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => name.0.last(),
            _ => None,
        };
        self.0.push(ReadTable {
            name: name.and_then(|name| name.as_ident()).map(|name| name.value.clone()),
            alias: alias_of(factor).map(|alias| alias.name.value.clone()),
        });
        ControlFlow::Continue(())
    }
}

/// The table of a column that does not exist.
fn table_of_missing_column(error: &DataFusionError) -> Option<&str> {
    match error {
        DataFusionError::SchemaError(error, _) => match error.as_ref() {
            SchemaError::FieldNotFound { field, .. } => field.relation.as_ref().map(TableReference::table),
            _ => None,
        },
        DataFusionError::Context(_, error) | DataFusionError::Diagnostic(_, error) => table_of_missing_column(error),
        DataFusionError::Collection(errors) => errors.first().and_then(table_of_missing_column),
        _ => None,
    }
}
