//! `+`, `-`, `*` and negation of integers that fail if the result does not fit.

use crate::workarounds::shared::operator::{Kernel, OperatorFunction};
use datafusion::arrow::array::Array;
use datafusion::arrow::compute::kernels::numeric::{add, mul, neg, sub};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{ColumnarValue, Expr, Operator, ScalarUDF};
use datafusion::physical_expr_common::datum::apply;

/// An operation on integers. Both operands already have the same type, which is also the result's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntegerOperation {
    /// `a + b`
    Plus,
    /// `a - b`
    Minus,
    /// `a * b`
    Times,
    /// `-a`
    Negative,
}

impl IntegerOperation {
    pub(super) fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Plus => Some(Self::Plus),
            Operator::Minus => Some(Self::Minus),
            Operator::Multiply => Some(Self::Times),
            _ => None,
        }
    }

    /// The operation that a function of a plan computes, if it computes one.
    pub fn of_function(function: &ScalarUDF) -> Option<Self> {
        OperatorFunction::<Self>::kernel_of(function).copied()
    }
}

impl Kernel for IntegerOperation {
    fn symbol(&self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus | Self::Negative => "-",
            Self::Times => "*",
        }
    }

    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        match (self, operands) {
            (Self::Plus, [left, right]) => apply(left, right, add),
            (Self::Minus, [left, right]) => apply(left, right, sub),
            (Self::Times, [left, right]) => apply(left, right, mul),
            (Self::Negative, [ColumnarValue::Array(values)]) => Ok(ColumnarValue::Array(neg(values)?)),
            (Self::Negative, [ColumnarValue::Scalar(value)]) => {
                let negated = neg(&value.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(negated.as_ref() as &dyn Array, 0)?))
            }
            (_, operands) => internal_err!("{} of {} operands", self.symbol(), operands.len()),
        }
    }
}

/// The checked operation for an operator of DataFusion's.
pub(super) fn of_binary(binary: BinaryExpr) -> Expr {
    match IntegerOperation::of(binary.op) {
        Some(operation) => OperatorFunction::call(operation, vec![*binary.left, *binary.right]),
        None => Expr::BinaryExpr(binary),
    }
}

/// The checked negation.
pub(super) fn negated(operand: Expr) -> Expr {
    OperatorFunction::call(IntegerOperation::Negative, vec![operand])
}
