//! `+`, `-`, `*`, `/` and `%` of floats that fail if the result is out of range, or if the divisor is zero, as in
//! PostgreSQL. DataFusion returns infinity, zero or NaN. A result that is not a number is the one NaN.
//!
//! No upstream issue known.

use super::float_range::{RangeRule, check_range};
use super::one_nan;
use crate::workarounds::shared::operator::{Kernel, OperatorFunction};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::kernels::numeric::{add, div, mul, neg, rem, sub};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{ColumnarValue, Expr, Operator};
use datafusion::physical_expr_common::datum::apply;
use std::sync::Arc;

/// The checked operation on two floats of one type for an operator of DataFusion's.
pub(super) fn of_binary(binary: BinaryExpr) -> Expr {
    match FloatOperation::of(binary.op) {
        Some(operation) => OperatorFunction::call(operation, vec![*binary.left, *binary.right]),
        None => Expr::BinaryExpr(binary),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FloatOperation {
    Plus,
    Minus,
    Times,
    By,
    Remainder,
}

impl FloatOperation {
    pub(super) fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Plus => Some(Self::Plus),
            Operator::Minus => Some(Self::Minus),
            Operator::Multiply => Some(Self::Times),
            Operator::Divide => Some(Self::By),
            Operator::Modulo => Some(Self::Remainder),
            _ => None,
        }
    }

    /// `None` if each result is in range: a remainder is exact.
    fn range_rule(self) -> Option<RangeRule> {
        match self {
            Self::Plus | Self::Minus => Some(RangeRule::Sum),
            Self::Times => Some(RangeRule::Product),
            Self::By => Some(RangeRule::Quotient),
            Self::Remainder => None,
        }
    }
}

impl Kernel for FloatOperation {
    fn symbol(&self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::By => "/",
            Self::Remainder => "%",
        }
    }

    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        let [left, right] = operands else { return internal_err!("{} needs two operands", self.symbol()) };
        let results = match self {
            Self::Plus => apply(left, right, add)?,
            Self::Minus => apply(left, right, sub)?,
            Self::Times => apply(left, right, mul)?,
            Self::By | Self::Remainder if !may_divide(left, right)? => return Err(ArrowError::DivideByZero.into()),
            Self::By => apply(left, right, div)?,
            Self::Remainder => apply(left, right, rem)?,
        };
        if let Some(rule) = self.range_rule() {
            check_range(&results, operands, rule)?;
        }
        Ok(with_one_nan(results))
    }
}

/// The negation of a float.
pub(super) fn negated(operand: Expr) -> Expr {
    OperatorFunction::call(FloatNegation, vec![operand])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FloatNegation;

impl Kernel for FloatNegation {
    fn symbol(&self) -> &'static str {
        "-"
    }

    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        let [operand] = operands else { return internal_err!("negation needs one operand") };
        let negated = match operand {
            ColumnarValue::Array(values) => ColumnarValue::Array(neg(values)?),
            ColumnarValue::Scalar(value) => ColumnarValue::Scalar(value.arithmetic_negate()?),
        };
        Ok(with_one_nan(negated))
    }
}

/// The results without a sign of NaN.
fn with_one_nan(results: ColumnarValue) -> ColumnarValue {
    match results {
        ColumnarValue::Scalar(value) => ColumnarValue::Scalar(one_nan::value(value)),
        ColumnarValue::Array(values) => ColumnarValue::Array(one_nan::values(values)),
    }
}

fn is_zero(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float64(Some(value)) => *value == 0.0,
        ScalarValue::Float32(Some(value)) => *value == 0.0,
        _ => false,
    }
}

fn is_nan(values: &ArrayRef, row: usize) -> bool {
    match values.data_type() {
        DataType::Float64 => values.as_primitive::<Float64Type>().value(row).is_nan(),
        DataType::Float32 => values.as_primitive::<Float32Type>().value(row).is_nan(),
        _ => false,
    }
}

/// Returns whether the division is allowed: no value other than NULL and NaN is divided by zero.
fn may_divide(left: &ColumnarValue, right: &ColumnarValue) -> Result<bool> {
    let dividends = match left {
        ColumnarValue::Scalar(value) => value.to_array()?,
        ColumnarValue::Array(values) => Arc::clone(values),
    };
    let is_constant = matches!(left, ColumnarValue::Scalar(_));
    let is_number = |row: usize| {
        let row = if is_constant { 0 } else { row };
        dividends.is_valid(row) && !is_nan(&dividends, row)
    };
    let divisors = match right {
        ColumnarValue::Scalar(value) => return Ok(!is_zero(value) || !(0..dividends.len()).any(is_number)),
        ColumnarValue::Array(values) => values,
    };
    let zeros: Vec<usize> = match divisors.data_type() {
        DataType::Float64 => {
            let divisors = divisors.as_primitive::<Float64Type>();
            divisors.values().iter().enumerate().filter(|(_, value)| **value == 0.0).map(|(row, _)| row).collect()
        }
        DataType::Float32 => {
            let divisors = divisors.as_primitive::<Float32Type>();
            divisors.values().iter().enumerate().filter(|(_, value)| **value == 0.0).map(|(row, _)| row).collect()
        }
        _ => Vec::new(),
    };
    Ok(zeros.into_iter().all(|row| divisors.is_null(row) || !is_number(row)))
}
