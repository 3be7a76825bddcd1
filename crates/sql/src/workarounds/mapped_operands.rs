//! `mapped || 5`: DataFusion joins a text with a value of another type, but not a string of a dictionary, as mapped
//! columns have it. The string becomes a text.
//!
//! No upstream issue known.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Runs while a statement is planned, because the planner asks for the types of operands.
#[derive(Debug)]
pub(crate) struct MappedOperands;

impl ExprPlanner for MappedOperands {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op == BinaryOperator::StringConcat {
            let mapped = match (expr.left.get_type(schema), expr.right.get_type(schema)) {
                (Ok(DataType::Dictionary(..)), Ok(other)) if is_other(&other) => Some(&mut expr.left),
                (Ok(other), Ok(DataType::Dictionary(..))) if is_other(&other) => Some(&mut expr.right),
                _ => None,
            };
            if let Some(mapped) = mapped {
                *mapped = cast(std::mem::take(mapped), DataType::Utf8);
            }
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// Whether it is neither a text nor an array.
fn is_other(data_type: &DataType) -> bool {
    let is_mapped = matches!(data_type, DataType::Dictionary(..));
    !(is_mapped || data_type.is_string() || data_type.is_nested() || data_type.is_null())
}
