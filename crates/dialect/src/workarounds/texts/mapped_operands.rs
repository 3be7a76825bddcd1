//! `mapped || 5`: DataFusion joins a text with a value of another type, but not a string of a dictionary, as mapped
//! columns have it. The string becomes a text. So does a text that is computed from such strings, as in `CASE WHEN x
//! THEN plain ELSE mapped END || 5`: it has the type of its first result here, and becomes a dictionary later.
//!
//! No upstream issue known.

use crate::text::plan_walk::DynWalk;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Runs while a statement is planned, because the planner asks for the types of operands.
#[derive(Debug)]
pub(crate) struct MappedOperands;

impl ExprPlanner for MappedOperands {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op == BinaryOperator::StringConcat {
            let mapped = match (expr.left.get_type(schema), expr.right.get_type(schema)) {
                (Ok(left), Ok(right)) if is_other(&right) && is_mapped(&expr.left, &left, schema) => {
                    Some(&mut expr.left)
                }
                (Ok(left), Ok(right)) if is_other(&left) && is_mapped(&expr.right, &right, schema) => {
                    Some(&mut expr.right)
                }
                _ => None,
            };
            if let Some(mapped) = mapped {
                *mapped = cast(std::mem::take(mapped), DataType::Utf8);
            }
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// Returns whether an operand of this type is, or may become, a string of a dictionary.
fn is_mapped(operand: &Expr, data_type: &DataType, schema: &DFSchema) -> bool {
    let is_dictionary = |part: &Expr| matches!(part.get_type(schema), Ok(DataType::Dictionary(..)));
    match data_type {
        DataType::Dictionary(..) => true,
        text if text.is_string() => operand.dyn_exists(|part| Ok(is_dictionary(part))).unwrap_or(false),
        _ => false,
    }
}

/// Returns whether it is neither a text nor an array.
fn is_other(data_type: &DataType) -> bool {
    let is_mapped = matches!(data_type, DataType::Dictionary(..));
    !(is_mapped || data_type.is_string() || data_type.is_nested() || data_type.is_null())
}
