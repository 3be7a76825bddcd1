//! Operators of network addresses: `<<`, `<<=`, `>>`, `>>=`, `&`, `|`, `+` and `-`. A constant of text beside an
//! address is read as one.
//!
//! Part of [`ordered_texts`](super).

use super::own_order::address_type_of;
use crate::functions::addresses::functions::{AddressCall, address_function};
use crate::functions::types::declared::is_untyped;
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
            return Ok(PlannerResult::Original(expr));
        }
        let RawBinaryExpr { op, left, right } = expr;
        let is_integer = |operand: &Expr| operand.get_type(schema).is_ok_and(|of| of.is_integer());
        let are_addresses = (of_left || is_untyped(&left)) && (of_right || is_untyped(&right));
        let (call, operands) = match &op {
            B::PGBitwiseShiftLeft if are_addresses => (C::IsStrictlyWithin, vec![left, right]),
            B::PGBitwiseShiftRight if are_addresses => (C::IsStrictlyWithin, vec![right, left]),
            B::Custom(name) if name == "<<=" && are_addresses => (C::IsWithin, vec![left, right]),
            B::Custom(name) if name == ">>=" && are_addresses => (C::IsWithin, vec![right, left]),
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
