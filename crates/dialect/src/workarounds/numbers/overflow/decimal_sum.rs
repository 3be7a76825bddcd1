//! `+` and `-` of decimals that fail if the result has more digits than a decimal can have. DataFusion checks only that
//! it has 128 bits, in which there is room for a part of the numbers of 39 digits, and then leaves out the last digit.
//!
//! No upstream issue known.

use crate::text::datafusion_errors::external;
use crate::text::decimals::{digits_before, too_many_digits};
use crate::workarounds::shared::operator::{Kernel, OperatorFunction};
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::decimal;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::kernels::numeric::{add, sub};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{ColumnarValue, Expr, Operator, ScalarUDF};
use datafusion::physical_expr_common::datum::apply;

/// A sum or difference of decimals that has all digits of its operands, and might need more than a decimal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DecimalSum {
    is_difference: bool,
    /// The digits of the result after the point.
    scale: i8,
}

impl DecimalSum {
    /// The operation for an operator; `None` for another operator, and if the result always fits.
    pub(super) fn of(operator: Operator, left: &DataType, right: &DataType) -> Option<Self> {
        let (DataType::Decimal128(left_digits, left_scale), DataType::Decimal128(right_digits, right_scale)) =
            (left, right)
        else {
            return None;
        };
        let is_difference = match operator {
            Operator::Plus => false,
            Operator::Minus => true,
            _ => return None,
        };
        let whole = digits_before(*left_digits, *left_scale).max(digits_before(*right_digits, *right_scale));
        let scale = *left_scale.max(right_scale);
        let has_room = whole + i16::from(scale) < i16::from(DECIMAL_DIGITS_MAX);
        (!has_room).then_some(Self { is_difference, scale })
    }

    /// The type of the result of a function, if it is such a sum.
    pub(super) fn type_of_function(function: &ScalarUDF) -> Option<DataType> {
        OperatorFunction::<Self>::kernel_of(function).map(|sum| sum.data_type())
    }

    /// The operation on the operands of an operator.
    pub(super) fn call(self, binary: BinaryExpr) -> Expr {
        OperatorFunction::call(self, vec![*binary.left, *binary.right])
    }

    fn data_type(self) -> DataType {
        DataType::Decimal128(DECIMAL_DIGITS_MAX, self.scale)
    }

    fn overflow(self) -> DataFusionError {
        external(too_many_digits(self.scale))
    }
}

impl Kernel for DecimalSum {
    fn symbol(&self) -> &'static str {
        if self.is_difference { "-" } else { "+" }
    }

    fn result_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type())
    }

    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        let [left, right] = operands else { return internal_err!("{} needs two operands", self.symbol()) };
        let results = if self.is_difference { apply(left, right, sub) } else { apply(left, right, add) };
        let results = results.map_err(|error| if is_overflow(&error) { self.overflow() } else { error })?;
        let fits = match &results {
            ColumnarValue::Array(values) => {
                values.as_primitive::<Decimal128Type>().validate_decimal_precision(DECIMAL_DIGITS_MAX).is_ok()
            }
            ColumnarValue::Scalar(ScalarValue::Decimal128(Some(value), ..)) => {
                decimal::fits(*value, DECIMAL_DIGITS_MAX)
            }
            ColumnarValue::Scalar(_) => true,
        };
        if fits { Ok(results) } else { Err(self.overflow()) }
    }
}

fn is_overflow(error: &DataFusionError) -> bool {
    matches!(error, DataFusionError::ArrowError(inner, _) if matches!(**inner, ArrowError::ArithmeticOverflow(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_results_that_may_be_too_long_are_checked() {
        let of = |(left, left_scale), (right, right_scale)| {
            let types = (DataType::Decimal128(left, left_scale), DataType::Decimal128(right, right_scale));
            DecimalSum::of(Operator::Plus, &types.0, &types.1)
        };
        assert_eq!(of((37, 2), (30, 2)), None);
        assert_eq!(of((20, 2), (20, 18)), None);
        let scale_of = |sum: Option<DecimalSum>| sum.map(|sum| sum.scale);
        assert_eq!(scale_of(of((38, 2), (5, 1))), Some(2));
        assert_eq!(scale_of(of((20, 0), (38, 19))), Some(19));
        assert_eq!(
            DecimalSum::of(Operator::Multiply, &DataType::Decimal128(38, 0), &DataType::Decimal128(38, 0)),
            None
        );
        assert_eq!(DecimalSum::of(Operator::Plus, &DataType::Int64, &DataType::Int64), None);
    }

    #[test]
    fn a_result_with_too_many_digits_is_an_error() {
        let number = |value: i128| ColumnarValue::Scalar(ScalarValue::Decimal128(Some(value), DECIMAL_DIGITS_MAX, 0));
        let half = 5 * 10_i128.pow(37);
        let sum = DecimalSum { is_difference: false, scale: 0 };
        let difference = DecimalSum { is_difference: true, scale: 0 };
        assert!(sum.compute(&[number(half), number(half)]).is_err());
        assert!(sum.compute(&[number(3 * half / 2), number(2 * half - 1)]).is_err());
        assert!(difference.compute(&[number(-half), number(half)]).is_err());
        match sum.compute(&[number(half), number(half - 1)]).unwrap() {
            ColumnarValue::Scalar(ScalarValue::Decimal128(Some(value), precision, 0)) => {
                assert_eq!((value, precision), (10_i128.pow(38) - 1, DECIMAL_DIGITS_MAX));
            }
            other => panic!("{other:?}"),
        }
        let rows = |values: Vec<Option<i128>>| {
            let values: datafusion::arrow::array::Decimal128Array = values.into_iter().collect();
            ColumnarValue::Array(std::sync::Arc::new(values.with_data_type(DataType::Decimal128(38, 0))))
        };
        assert!(sum.compute(&[rows(vec![Some(1), None, Some(half)]), number(half)]).is_err());
        assert!(sum.compute(&[rows(vec![Some(1), None]), number(half)]).is_ok());
    }
}
