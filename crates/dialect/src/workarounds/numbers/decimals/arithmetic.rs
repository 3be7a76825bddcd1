//! Plans arithmetic of decimals, on which the types of a statement's columns depend.

use super::floats::{double_beside_float, double_beside_integer, is_decimal};
use super::operation::{Operation, Sign, decimal_of};
use crate::text::decimals;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Runs while a statement is planned.
#[derive(Debug)]
pub(crate) struct DecimalArithmetic;

impl ExprPlanner for DecimalArithmetic {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        let sign = match expr.op {
            B::Divide => Some(Sign::Quotient),
            B::Multiply => Some(Sign::Product),
            B::Plus | B::Minus | B::Modulo | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => None,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        double_beside_float(&mut expr.left, &mut expr.right, schema);
        if matches!(expr.op, B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo) {
            double_beside_integer(vec![&mut expr.left, &mut expr.right], schema);
        }
        match sign.and_then(|sign| operation(sign, &expr.left, &expr.right, schema)) {
            Some(planned) => Ok(PlannerResult::Planned(planned)),
            None => Ok(PlannerResult::Original(expr)),
        }
    }
}

/// The quotient or product of two operands; `None` if neither is a decimal, or if DataFusion's own is right.
pub(super) fn operation(sign: Sign, left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (left_type, right_type) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    if !is_decimal(&left_type) && !is_decimal(&right_type) {
        return None;
    }
    let (wide, by) = (decimal_of(&left_type)?, decimal_of(&right_type)?);
    let operation = match (sign, constant(left), constant(right)) {
        (Sign::Quotient, Some(left), Some(right)) => Operation::of_constants(left, right),
        _ => Operation::of(sign, &wide, &by)?,
    };
    Some(operation.call(left.clone(), right.clone()))
}

/// The number that a literal stands for, if it is an integer or a decimal: the number without its point, and its digits
/// after the point.
pub(super) fn constant(expr: &Expr) -> Option<(i128, i8)> {
    match expr {
        Expr::Literal(ScalarValue::Decimal128(Some(value), _, scale), _) => Some((*value, *scale)),
        Expr::Literal(value, _) if value.data_type().is_integer() && !value.is_null() => {
            decimals::read(&value.to_string())
        }
        Expr::Negative(operand) => constant(operand).map(|(value, scale)| (-value, scale)),
        // A literal that fits is an INT.
        Expr::Cast(cast) if cast.field.data_type().is_integer() => {
            constant(&cast.expr).filter(|(_, scale)| *scale == 0)
        }
        _ => None,
    }
}
