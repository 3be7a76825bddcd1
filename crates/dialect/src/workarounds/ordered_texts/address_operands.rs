//! Operators of network addresses: `<<`, `<<=`, `>>`, `>>=`, `&&`, `~`, `&`, `|`, `+` and `-`. A constant of text
//! beside an address is read as one. Of other values, `&&` compares arrays.
//!
//! Part of [`ordered_texts`](super).

use super::own_order::{address_type_of, name_of_type, no_operator};
use crate::functions::addresses::functions::{AddressCall, address_function};
use crate::functions::types::declared::is_untyped;
use crate::workarounds::arrays::members;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Runs while a statement is planned, before the planners that look at texts.
#[derive(Debug)]
pub(crate) struct AddressOperands;

impl ExprPlanner for AddressOperands {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        use AddressCall as C;
        use BinaryOperator as B;
        let is_address = |operand: &Expr| address_type_of(operand, schema).is_some();
        let (of_left, of_right) = (is_address(&expr.left), is_address(&expr.right));
        if !of_left && !of_right {
            return Ok(match expr.op {
                B::PGOverlap => PlannerResult::Planned(members::overlaps(expr.left, expr.right)),
                _ => PlannerResult::Original(expr),
            });
        }
        let RawBinaryExpr { op, left, right } = expr;
        let is_integer = |operand: &Expr| operand.get_type(schema).is_ok_and(|of| of.is_integer());
        let are_addresses = (of_left || is_untyped(&left)) && (of_right || is_untyped(&right));
        let (call, operands) = match &op {
            B::PGBitwiseShiftLeft if are_addresses => (C::IsStrictlyWithin, vec![left, right]),
            B::PGBitwiseShiftRight if are_addresses => (C::IsStrictlyWithin, vec![right, left]),
            B::Custom(name) if name == "<<=" && are_addresses => (C::IsWithin, vec![left, right]),
            B::Custom(name) if name == ">>=" && are_addresses => (C::IsWithin, vec![right, left]),
            B::PGOverlap if are_addresses => (C::Overlaps, vec![left, right]),
            B::PGOverlap => {
                return Err(no_operator(&name_of_type(&left, schema), "&&", &name_of_type(&right, schema)));
            }
            B::PGBitwiseXor if of_left && is_minus_one(&right) => (C::Not, vec![left]),
            B::BitwiseAnd if are_addresses => (C::And, vec![left, right]),
            B::BitwiseOr if are_addresses => (C::Or, vec![left, right]),
            B::Minus if are_addresses => (C::Difference, vec![left, right]),
            B::Minus if is_integer(&right) => (C::Subtract, vec![left, right]),
            B::Plus if is_integer(&right) => (C::Add, vec![left, right]),
            B::Plus if is_integer(&left) => (C::Add, vec![right, left]),
            _ => return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right })),
        };
        Ok(PlannerResult::Planned(address_function(call).call(operands)))
    }
}

/// Returns whether it is the number with all bits set: `~ x` is written as the exclusive or of `x` and this one.
fn is_minus_one(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_minus_one(&cast.expr),
        Expr::Literal(value, _) => value.to_string() == "-1",
        _ => false,
    }
}
