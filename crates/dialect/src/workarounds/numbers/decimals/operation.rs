//! A quotient or product of decimals.

use super::quotient_scale::quotient_scale;
use crate::functions::base::answers::{answer, are_constant};
use crate::text::datafusion_errors::external;
use crate::text::decimals::{digits_before, too_many_digits};
use crate::workarounds::shared::operator::{Kernel, OperatorFunction};
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use datafusion::arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, AsArray, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, DecimalType, i256};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, Expr, Operator, ScalarUDF};
use std::sync::Arc;

/// Digits after the point of a quotient: as many as PostgreSQL gives quotients between 1 and 9,999, or those below 1 if
/// the digits before the point leave room.
const QUOTIENT_SCALE_MIN: i8 = 16;
const QUOTIENT_SCALE_MAX: i8 = 20;

/// The digits of integers of 64 bits.
const INTEGER_DIGITS: u8 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sign {
    Quotient,
    Product,
}

impl Sign {
    pub(super) fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Divide => Some(Self::Quotient),
            Operator::Multiply => Some(Self::Product),
            _ => None,
        }
    }

    pub(super) fn operator(self) -> Operator {
        match self {
            Self::Quotient => Operator::Divide,
            Self::Product => Operator::Multiply,
        }
    }
}

/// The decimal type that holds all numbers of a type, if it is one of exact numbers.
pub(super) fn decimal_of(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(..) => Some(data_type.clone()),
        integer if integer.is_integer() => Some(DataType::Decimal128(INTEGER_DIGITS, 0)),
        _ => None,
    }
}

/// The operation on two numbers, which are decimals of any precision and scale, or integers.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Operation {
    sign: Sign,
    precision: u8,
    scale: i8,
}

impl Operation {
    /// The operation on these types; `None` if DataFusion's own is right, or the types are not decimals.
    pub(super) fn of(sign: Sign, left: &DataType, right: &DataType) -> Option<Self> {
        let (DataType::Decimal128(left_digits, left_scale), DataType::Decimal128(right_digits, right_scale)) =
            (left, right)
        else {
            return None;
        };
        let (precision, scale) = match sign {
            Sign::Quotient => {
                let before_point = digits_before(*left_digits, *left_scale) + i16::from(*right_scale);
                let has_room = before_point + i16::from(QUOTIENT_SCALE_MAX) <= i16::from(DECIMAL_DIGITS_MAX);
                let scale = if has_room { QUOTIENT_SCALE_MAX } else { QUOTIENT_SCALE_MIN };
                let scale = scale.max(*left_scale).max(*right_scale);
                (DECIMAL_DIGITS_MAX, scale)
            }
            Sign::Product if left_digits + right_digits < DECIMAL_DIGITS_MAX => return None,
            Sign::Product => {
                let kept = (*left_scale).max(*right_scale).max(QUOTIENT_SCALE_MIN);
                (DECIMAL_DIGITS_MAX, kept.min(left_scale + right_scale))
            }
        };
        Some(Self::new(sign, precision, scale))
    }

    /// The quotient of two numbers that are known: it has the digits that PostgreSQL gives it.
    pub(super) fn of_constants(dividend: (i128, i8), divisor: (i128, i8)) -> Self {
        Self::new(Sign::Quotient, DECIMAL_DIGITS_MAX, quotient_scale(dividend, divisor))
    }

    fn new(sign: Sign, precision: u8, scale: i8) -> Self {
        Self { sign, precision, scale }
    }

    /// The sign of the operation that a function stands for.
    pub(super) fn sign_of(function: &ScalarUDF) -> Option<Sign> {
        OperatorFunction::<Self>::kernel_of(function).map(|operation| operation.sign)
    }

    pub(super) fn call(self, left: Expr, right: Expr) -> Expr {
        OperatorFunction::call(self, vec![left, right])
    }

    fn data_type(&self) -> DataType {
        DataType::Decimal128(self.precision, self.scale)
    }

    /// Computes the result for two numbers, each in units of its scale. 128 bits are faster, and mostly enough.
    fn result(&self, (left, left_scale): (i128, i8), (right, right_scale): (i128, i8)) -> Result<i128> {
        let wide = i256::from_i128;
        let result = match self.sign {
            Sign::Quotient if right == 0 => return Err(ArrowError::DivideByZero.into()),
            Sign::Quotient => {
                let digits = self.scale - left_scale + right_scale;
                quotient(left, right, digits).or_else(|| quotient(wide(left), wide(right), digits)?.to_i128())
            }
            Sign::Product => {
                let digits = self.scale - left_scale - right_scale;
                let narrow = left.checked_mul(right).and_then(|product| quotient(product, 1, digits));
                narrow.or_else(|| quotient(wide(left).checked_mul(wide(right))?, i256::ONE, digits)?.to_i128())
            }
        };
        let fits =
            |result: &i128| Decimal128Type::validate_decimal_precision(*result, self.precision, self.scale).is_ok();
        result.filter(fits).ok_or_else(|| external(too_many_digits(self.scale)))
    }
}

/// The quotient of two numbers times `10^digits`, rounded half away from zero. `None` if a step needs more bits.
fn quotient<T: ArrowNativeTypeOp>(dividend: T, divisor: T, digits: i8) -> Option<T> {
    let power = T::usize_as(10).pow_checked(digits.unsigned_abs().into()).ok()?;
    let (dividend, divisor) = if digits >= 0 {
        (dividend.mul_checked(power).ok()?, divisor)
    } else {
        (dividend, divisor.mul_checked(power).ok()?)
    };
    let (quotient, rest) = (dividend.div_checked(divisor).ok()?, dividend.mod_checked(divisor).ok()?);
    let size_of = |number: T| if number.is_lt(T::ZERO) { number.neg_wrapping() } else { number };
    let (rest, size) = (size_of(rest), size_of(divisor));
    if rest.is_lt(size.sub_wrapping(rest)) {
        Some(quotient)
    } else if dividend.is_lt(T::ZERO) == divisor.is_lt(T::ZERO) {
        quotient.add_checked(T::ONE).ok()
    } else {
        quotient.sub_checked(T::ONE).ok()
    }
}

impl Kernel for Operation {
    fn symbol(&self) -> &'static str {
        match self.sign {
            Sign::Quotient => "/",
            Sign::Product => "*",
        }
    }

    fn result_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type())
    }

    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(operands)?;
        let [left, right] = arrays.as_slice() else { return internal_err!("{} needs two operands", self.symbol()) };
        let ((left, left_scale), (right, right_scale)) = (decimals(left)?, decimals(right)?);
        let result = |(left, right): (Option<i128>, Option<i128>)| match (left, right) {
            (Some(left), Some(right)) => self.result((left, left_scale), (right, right_scale)).map(Some),
            _ => Ok(None),
        };
        let results = left.iter().zip(right.iter()).map(result).collect::<Result<Decimal128Array>>()?;
        let results: ArrayRef = Arc::new(results.with_data_type(self.data_type()));
        answer(are_constant(operands), results)
    }
}

fn decimals(array: &ArrayRef) -> Result<(Decimal128Array, i8)> {
    match decimal_of(array.data_type()) {
        Some(data_type @ DataType::Decimal128(_, scale)) => {
            Ok((cast(array, &data_type)?.as_primitive::<Decimal128Type>().clone(), scale))
        }
        _ => internal_err!("an operation on decimals over {}", array.data_type()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(digits: u8, scale: i8) -> DataType {
        DataType::Decimal128(digits, scale)
    }

    #[test]
    fn quotients_are_rounded_away_from_zero() {
        let quotient = Operation::of(Sign::Quotient, &decimal(38, 0), &decimal(20, 0)).unwrap();
        assert_eq!(quotient.data_type(), decimal(38, 16));
        let one = 10_i128.pow(16);
        for (left, right, expected) in [(30, 4, 75 * one / 10), (1, 3, one / 3), (2, 3, 2 * one / 3 + 1)] {
            assert_eq!(quotient.result((left, 0), (right, 0)).unwrap(), expected);
            assert_eq!(quotient.result((-left, 0), (right, 0)).unwrap(), -expected);
            assert_eq!(quotient.result((-left, 0), (-right, 0)).unwrap(), expected);
        }
        assert!(quotient.result((1, 0), (0, 0)).is_err());
        assert!(quotient.result((10_i128.pow(30), 0), (1, 0)).is_err());
        let quotient = Operation::of(Sign::Quotient, &decimal(10, 2), &decimal(5, 1)).unwrap();
        assert_eq!(quotient.data_type(), decimal(38, 20));
        assert_eq!(quotient.result((100, 2), (30, 1)).unwrap(), 10_i128.pow(20) / 3);
    }

    #[test]
    fn products_that_have_too_many_digits_are_rounded() {
        assert_eq!(Operation::of(Sign::Product, &decimal(10, 2), &decimal(20, 0)), None);
        let product = Operation::of(Sign::Product, &decimal(38, 16), &decimal(38, 16)).unwrap();
        assert_eq!(product.data_type(), decimal(38, 16));
        let one = 10_i128.pow(16);
        assert_eq!(product.result((3 * one / 2, 16), (-one / 2, 16)).unwrap(), -3 * one / 4);
        assert!(product.result((one * 10_i128.pow(12), 16), (one * 10_i128.pow(12), 16)).is_err());
    }
}
