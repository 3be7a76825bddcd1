//! `<<` and `>>` of a SMALLINT, which is shifted as an INTEGER and then cut to 16 bits, as in PostgreSQL: `1::int2 <<
//! 17` is 0. DataFusion returns an INTEGER if the other operand is one, and else shifts by the last four bits of it.
//!
//! No upstream issue known.

use crate::functions::base::answers::{answer, are_constant};
use crate::workarounds::shared::expressions::rewrite_expressions;
use crate::workarounds::shared::operator::{Kernel, OperatorFunction};
use datafusion::arrow::array::{ArrayRef, AsArray, Int16Array};
use datafusion::arrow::datatypes::{DataType, Int16Type, Int32Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, cast};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct SmallShifts;

impl AnalyzerRule for SmallShifts {
    fn name(&self) -> &str {
        "small_shifts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &expr else { return Transformed::no(expr) };
    let shift = match op {
        Operator::BitwiseShiftLeft => SmallShift::Left,
        Operator::BitwiseShiftRight => SmallShift::Right,
        _ => return Transformed::no(expr),
    };
    let has_type = |operand: &Expr, is_it: fn(&DataType) -> bool| operand.get_type(schema).is_ok_and(|of| is_it(&of));
    if !has_type(left, |of| *of == DataType::Int16) || !has_type(right, |of| of.is_integer() || of.is_null()) {
        return Transformed::no(expr);
    }
    let operands = vec![left.as_ref().clone(), cast(right.as_ref().clone(), DataType::Int32)];
    Transformed::yes(OperatorFunction::call(shift, operands))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SmallShift {
    Left,
    Right,
}

impl SmallShift {
    fn of(self, value: i16, count: i32) -> i16 {
        let (value, count) = (i32::from(value), count.cast_unsigned());
        let shifted = match self {
            Self::Left => value.wrapping_shl(count),
            Self::Right => value.wrapping_shr(count),
        };
        let [lowest, low, ..] = shifted.to_le_bytes();
        i16::from_le_bytes([lowest, low])
    }
}

impl Kernel for SmallShift {
    fn symbol(&self) -> &'static str {
        match self {
            Self::Left => "<<",
            Self::Right => ">>",
        }
    }

    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        let is_constant = are_constant(operands);
        let arrays = ColumnarValue::values_to_arrays(operands)?;
        let [values, counts] = arrays.as_slice() else {
            return internal_err!("{} of {} operands", self.symbol(), operands.len());
        };
        let rows = values.as_primitive::<Int16Type>().iter().zip(counts.as_primitive::<Int32Type>());
        let shifted = rows.map(|(value, count)| value.zip(count).map(|(value, count)| self.of(value, count)));
        let shifted: ArrayRef = Arc::new(shifted.collect::<Int16Array>());
        answer(is_constant, shifted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_are_shifted_as_integers() {
        for (value, count, left, right) in [
            (1, 2, 4, 0),
            (1, 15, -32_768, 0),
            (1, 16, 0, 0),
            (1, 17, 0, 0),
            (1, 32, 1, 1),
            (1, -1, 0, 0),
            (-8, 1, -16, -4),
            (-8, 18, 0, -1),
            (-8, 33, -16, -4),
        ] {
            assert_eq!(SmallShift::Left.of(value, count), left, "{value} << {count}");
            assert_eq!(SmallShift::Right.of(value, count), right, "{value} >> {count}");
        }
    }
}
