//! The conditions of CHECK constraints, for engines without SQL.

use crate::shape::{ColumnKind, kind, rows_of, violates};
use arrow::array::ArrayRef;
use atsdb_core::{Check, Error, Result, TableDefinition};
use atsdb_engine::{ConditionCompiler, ReadSnapshot, RowCondition};
use std::sync::Arc;

/// Compiles the conditions that tables of histories have.
pub(crate) struct Conditions;

struct Compiled {
    definition: TableDefinition,
    /// The columns that the constraint names, in the order of the table.
    columns: Vec<ColumnKind>,
}

impl ConditionCompiler for Conditions {
    fn compile(&self, definition: &TableDefinition, check: &Check, _: &ReadSnapshot) -> Result<Arc<dyn RowCondition>> {
        let named = definition.columns.iter().filter(|column| check.columns.contains(&column.id));
        Ok(Arc::new(Compiled { definition: definition.clone(), columns: named.map(kind).collect() }))
    }
}

impl RowCondition for Compiled {
    fn first_violation(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<usize>> {
        let rows = rows_of(columns);
        if (columns.len(), rows.len()) != (self.columns.len(), row_count) {
            return Err(Error::internal("a condition gets other columns or rows than its constraint names"));
        }
        let is_violating = |row: &Vec<Option<i64>>| {
            violates(&self.definition, |wanted| {
                let position = self.columns.iter().position(|column| *column == wanted)?;
                row[position]
            })
        };
        Ok(rows.iter().position(is_violating))
    }
}
