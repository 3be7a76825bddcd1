//! Operators of ranges: `@>`, `<@`, `&&`, `<<`, `>>`, `&<`, `&>`, `-|-`, `+`, `*` and `-`. A constant of text beside a
//! range is read as one.
//!
//! Part of [`ordered_texts`](super).

use super::own_order::{name_of_type, no_operator, range_type_of};
use crate::functions::base::text_types::RangeType;
use crate::functions::ranges::calls::RangeCall;
use crate::functions::ranges::element::is_element_type;
use crate::functions::ranges::functions::range_function;
use crate::functions::types::declared::is_untyped;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Runs while a statement is planned, before the planners that look at arrays and texts.
#[derive(Debug)]
pub(crate) struct RangeOperands;

impl ExprPlanner for RangeOperands {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some((call, is_swapped)) = call_of(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
        let (of_left, of_right) = (range_type_of(&expr.left, schema), range_type_of(&expr.right, schema));
        let Some(of) = of_left.or(of_right) else { return Ok(PlannerResult::Original(expr)) };
        let RawBinaryExpr { op, left, right } = expr;
        let is_range = |operand: &Expr, own: Option<RangeType>| own == Some(of) || is_untyped(operand);
        let (container, value, of_value) =
            if is_swapped { (of_right, &left, of_left) } else { (of_left, &right, of_right) };
        let call = if is_range(&left, of_left) && is_range(&right, of_right) {
            call
        } else if call == RangeCall::Contains
            && container.is_some()
            && of_value.is_none()
            && is_element(value, of, schema)
        {
            RangeCall::ContainsElement
        } else {
            return Err(no_operator(&name_of_type(&left, schema), &op.to_string(), &name_of_type(&right, schema)));
        };
        let operands = if is_swapped { vec![right, left] } else { vec![left, right] };
        Ok(PlannerResult::Planned(range_function(call, Some(of)).call(operands)))
    }
}

/// The call that an operator of two ranges means, and whether its operands are swapped. `None` if ranges have no such
/// operator, or if it compares them.
fn call_of(operator: &BinaryOperator) -> Option<(RangeCall, bool)> {
    use BinaryOperator as B;
    use RangeCall as C;
    Some(match operator {
        B::AtArrow => (C::Contains, false),
        B::ArrowAt => (C::Contains, true),
        B::PGOverlap => (C::Overlaps, false),
        B::PGBitwiseShiftLeft => (C::IsBefore, false),
        B::PGBitwiseShiftRight => (C::IsBefore, true),
        B::Custom(name) if name == "&<" => (C::EndsWithin, false),
        B::Custom(name) if name == "&>" => (C::StartsWithin, false),
        B::Custom(name) if name == "-|-" => (C::IsAdjacent, false),
        B::Plus => (C::Union, false),
        B::Multiply => (C::Intersection, false),
        B::Minus => (C::Difference, false),
        _ => return None,
    })
}

fn is_element(operand: &Expr, of: RangeType, schema: &DFSchema) -> bool {
    operand.get_type(schema).is_ok_and(|data_type| is_element_type(of, &data_type))
}
