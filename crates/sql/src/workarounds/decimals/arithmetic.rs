//! Plans quotients and products of decimals, on which the types of a statement's columns depend.

use super::operation::{Operation, Sign};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// The digits of integers of 64 bits.
const INTEGER_DIGITS: u8 = 20;

/// Runs while a statement is planned.
#[derive(Debug)]
pub(crate) struct DecimalArithmetic;

impl ExprPlanner for DecimalArithmetic {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let sign = match expr.op {
            BinaryOperator::Divide => Sign::Quotient,
            BinaryOperator::Multiply => Sign::Product,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let is_decimal = |of: &DataType| matches!(of, DataType::Decimal128(..));
        if !is_decimal(&left) && !is_decimal(&right) {
            return Ok(PlannerResult::Original(expr));
        }
        let (Some(wide), Some(by)) = (decimal_of(&left), decimal_of(&right)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let Some(operation) = Operation::of(sign, &wide, &by) else { return Ok(PlannerResult::Original(expr)) };
        let operand = |expr: Expr, from: &DataType, to: DataType| if *from == to { expr } else { cast(expr, to) };
        let (left, right) = (operand(expr.left, &left, wide), operand(expr.right, &right, by));
        Ok(PlannerResult::Planned(operation.call(left, right)))
    }
}

/// The decimal type that holds all numbers of a type.
fn decimal_of(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(..) => Some(data_type.clone()),
        integer if integer.is_integer() => Some(DataType::Decimal128(INTEGER_DIGITS, 0)),
        _ => None,
    }
}
