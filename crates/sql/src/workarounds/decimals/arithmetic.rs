//! Plans quotients and products of decimals, and numbers beside decimals, on which the types of a statement's columns
//! depend.

use super::literals::decimal_literal;
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
        use BinaryOperator as B;
        if !matches!(expr.op, B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo) {
            return Ok(PlannerResult::Original(expr));
        }
        let expr = with_decimal_literals(expr, schema);
        let sign = match expr.op {
            B::Divide => Sign::Quotient,
            B::Multiply => Sign::Product,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
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

fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..))
}

/// The expression with a number in the text of the statement as a decimal, if the other operand is a decimal.
fn with_decimal_literals(mut expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    let has_decimals = |expr: &Expr| expr.get_type(schema).is_ok_and(|of| is_decimal(&of));
    if has_decimals(&expr.left) {
        expr.right = decimal_literal(&expr.right).unwrap_or(expr.right);
    } else if has_decimals(&expr.right) {
        expr.left = decimal_literal(&expr.left).unwrap_or(expr.left);
    }
    expr
}

/// The decimal type that holds all numbers of a type.
fn decimal_of(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(..) => Some(data_type.clone()),
        integer if integer.is_integer() => Some(DataType::Decimal128(INTEGER_DIGITS, 0)),
        _ => None,
    }
}
