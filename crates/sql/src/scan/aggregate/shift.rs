//! A column of integers plus or minus a constant: `x + 1`, `x - 1`, `10 - x`, also with casts to other types of
//! integers. The sum follows from the sum and the number of the column's values, both of which chunks state. But an
//! operation whose result does not fit its type is an error, so the column's type or bounds must exclude that.

use crate::scan::pushdown::value_of;
use atsdb_dialect::workarounds::IntegerOperation;
use atsdb_engine::{Scan, Value};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::sync::Arc;

/// A constant that is added to the values of a column, or from which they are subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shift {
    /// Whether the values are subtracted.
    is_negated: bool,
    constant: i128,
    /// The smallest and the largest value for which no step of the expression leaves its type.
    valid: (i128, i128),
}

impl Shift {
    /// The values themselves.
    pub(super) const NONE: Self = Self { is_negated: false, constant: 0, valid: (i128::MIN, i128::MAX) };

    /// The column whose values an expression shifts. `None` if it is not such an expression.
    pub(super) fn of(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<(usize, Self)> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let is_integer = schema.field(column.index()).data_type().is_integer();
            return is_integer.then_some((column.index(), Self::NONE));
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            let (column, shift) = Self::of(cast.expr(), schema)?;
            return Some((column, shift.within(cast.cast_type())?));
        }
        let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
        let (of, is_negated, constant) = match (IntegerOperation::of_function(call.fun())?, call.args()) {
            (IntegerOperation::Plus, [left, right]) => match (integer_of(left), integer_of(right)) {
                (None, Some(constant)) => (left, false, constant),
                (Some(constant), None) => (right, false, constant),
                _ => return None,
            },
            (IntegerOperation::Minus, [left, right]) => match (integer_of(left), integer_of(right)) {
                (None, Some(constant)) => (left, false, -constant),
                (Some(constant), None) => (right, true, constant),
                _ => return None,
            },
            (IntegerOperation::Negative, [of]) => (of, true, 0),
            _ => return None,
        };
        let (column, shift) = Self::of(of, schema)?;
        let shift = if is_negated { shift.negated() } else { shift };
        Some((column, shift.plus(constant).within(call.return_type())?))
    }

    fn plus(self, constant: i128) -> Self {
        Self { constant: self.constant + constant, ..self }
    }

    fn negated(self) -> Self {
        Self { is_negated: !self.is_negated, constant: -self.constant, ..self }
    }

    /// The same shift, valid only where its result is in a type of integers. `None` if that is nowhere.
    fn within(self, data_type: &DataType) -> Option<Self> {
        let (min, max) = range_of(data_type)?;
        let (first, last) = if self.is_negated {
            (self.constant - max, self.constant - min)
        } else {
            (min - self.constant, max - self.constant)
        };
        let valid = (self.valid.0.max(first), self.valid.1.min(last));
        (valid.0 <= valid.1).then_some(Self { valid, ..self })
    }

    /// Returns whether no value in the chunks of a scan leaves a type when it is shifted. `column` is its position in
    /// the scan.
    pub(super) fn is_valid_for(&self, scan: &Scan, column: usize) -> bool {
        let includes = |(min, max): (i128, i128)| self.valid.0 <= min && max <= self.valid.1;
        let of_type = || range_of(scan.schema().field(column).data_type());
        let of_chunks = || scan.integer_bounds(*scan.request().columns.get(column)?);
        *self == Self::NONE || of_type().is_some_and(includes) || of_chunks().is_some_and(includes)
    }

    /// The sum of the shifted values, for a number of values with a sum.
    pub(super) fn sum(&self, sum: i128, count: u64) -> i128 {
        let own = if self.is_negated { -sum } else { sum };
        own + self.constant * i128::from(count)
    }
}

fn integer_of(expr: &Arc<dyn PhysicalExpr>) -> Option<i128> {
    match value_of(expr.downcast_ref::<Literal>()?.value())? {
        Value::Int(value) => Some(value.into()),
        Value::UInt(value) => Some(value.into()),
        _ => None,
    }
}

/// The smallest and the largest integer of a type; `None` for other types.
fn range_of(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: DataType = DataType::Int32;

    fn plus(constant: i128) -> Option<Shift> {
        Shift::NONE.within(&INT)?.plus(constant).within(&INT)
    }

    #[test]
    fn a_shift_is_valid_where_each_step_is_in_its_type() {
        let (min, max) = (i128::from(i32::MIN), i128::from(i32::MAX));
        assert_eq!(plus(1).unwrap().valid, (min, max - 1));
        assert_eq!(plus(-1).unwrap().valid, (min + 1, max));
        let from_ten = Shift::NONE.within(&INT).unwrap().negated().plus(10).within(&INT).unwrap();
        assert_eq!(from_ten.valid, (10 - max, max), "10 - (-2147483638) is too large");
        // There and back: the step between still has to be in its type.
        let back = plus(5).unwrap().plus(-5).within(&INT).unwrap();
        assert_eq!((back.constant, back.valid), (0, (min, max - 5)));
        let far = plus(max).unwrap().plus(max).within(&INT).unwrap();
        assert_eq!(far.valid, (min, min + 1));
        assert_eq!(far.plus(max).within(&INT), None);
    }

    #[test]
    fn sums_of_shifted_values_are_those_of_each_value() {
        let values = [-7_i128, 0, 5, i128::from(i64::MAX)];
        let (sum, count) = (values.iter().sum::<i128>(), values.len() as u64);
        for (is_negated, constant) in [(false, 0), (false, -9), (true, 3), (true, i128::from(i64::MIN))] {
            let shift = Shift { is_negated, constant, ..Shift::NONE };
            let each = values.iter().map(|value| if is_negated { constant - value } else { constant + value });
            assert_eq!(shift.sum(sum, count), each.sum::<i128>());
        }
        assert_eq!(plus(1).unwrap().sum(0, 0), 0);
    }
}
