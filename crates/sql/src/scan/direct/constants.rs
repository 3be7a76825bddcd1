//! Direct reads of constants: one row whose values are known when a query is planned, as that of `SELECT 1`.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use atsdb_dialect::parse::headings::Headings;
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::sync::Arc;

/// The maximum size in bytes of a row that is kept.
const ROW_BYTES_MAX: usize = 64 << 10;

/// The row of a query that reads nothing.
#[derive(Debug)]
pub(crate) struct DirectConstants {
    row: RecordBatch,
}

impl DirectConstants {
    /// The row of an optimized plan; `None` if it has another form. The query must always have the same answer.
    pub(crate) fn of(plan: &LogicalPlan, headings: &Headings) -> Option<Self> {
        let LogicalPlan::Projection(projection) = plan else { return None };
        let LogicalPlan::EmptyRelation(input) = projection.input.as_ref() else { return None };
        if !input.produce_one_row {
            return None;
        }
        let schema = headings.apply(&Arc::new(plan.schema().as_arrow().clone()));
        let columns = projection.expr.iter().map(value).collect::<Option<Vec<_>>>()?;
        let row = RecordBatch::try_new(schema, columns).ok()?;
        (row.get_array_memory_size() <= ROW_BYTES_MAX).then_some(Self { row })
    }

    pub(super) fn read(&self) -> Vec<RecordBatch> {
        vec![self.row.clone()]
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.row.schema()
    }
}

fn value(expr: &Expr) -> Option<ArrayRef> {
    match expr {
        Expr::Alias(alias) => value(&alias.expr),
        Expr::Literal(value, _) => value.to_array_of_size(1).ok(),
        _ => None,
    }
}
