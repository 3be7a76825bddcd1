//! Whether the results of an operation on floats are in range. A result is out of range if it is infinite although no
//! operand is, or zero although the result is not: with PostgreSQL's rules for each operation.
//!
//! Part of [`overflow`](super). No upstream issue known.

use datafusion::arrow::array::{Array, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

/// The rule by which results of an operation are out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RangeRule {
    Sum,
    Product,
    Quotient,
    Exponential,
    Power,
    /// A multiple of one operand.
    Multiple,
}

impl RangeRule {
    /// Returns whether zero may be a result that is too small.
    fn has_small(self) -> bool {
        self != Self::Sum
    }

    fn is_too_small(self, operands: &[f64]) -> bool {
        match (self, operands) {
            (Self::Product, [left, right]) => *left != 0.0 && *right != 0.0,
            (Self::Quotient, [left, right]) => *left != 0.0 && !right.is_infinite(),
            (Self::Power, [base, exponent]) => *base != 0.0 && !base.is_infinite() && !exponent.is_infinite(),
            (Self::Exponential, [exponent]) => !exponent.is_infinite(),
            (Self::Multiple, [of]) => *of != 0.0,
            _ => false,
        }
    }

    fn is_too_large(self, operands: &[f64]) -> bool {
        match (self, operands) {
            (Self::Quotient, [left, _]) => !left.is_infinite(),
            _ => !operands.iter().any(|operand| operand.is_infinite()),
        }
    }
}

/// Fails if a result is out of range.
pub(super) fn check_range(results: &ColumnarValue, operands: &[ColumnarValue], rule: RangeRule) -> Result<()> {
    let results = match results {
        ColumnarValue::Scalar(value) => value.to_array()?,
        ColumnarValue::Array(values) => values.clone(),
    };
    match results.data_type() {
        DataType::Float64 => check::<Float64Type>(results.as_primitive(), operands, rule),
        DataType::Float32 => check::<Float32Type>(results.as_primitive(), operands, rule),
        _ => Ok(()),
    }
}

fn check<T>(results: &PrimitiveArray<T>, operands: &[ColumnarValue], rule: RangeRule) -> Result<()>
where
    T: ArrowPrimitiveType<Native: Into<f64>>,
{
    let has_small = rule.has_small();
    let may_be_lost = |result: T::Native| {
        let result: f64 = result.into();
        result.is_infinite() | (has_small & (result == 0.0))
    };
    // All results are checked without a branch first, because nearly always all are in range.
    if !results.values().iter().fold(false, |found, result| found | may_be_lost(*result)) {
        return Ok(());
    }
    let operands = operands.iter().map(Operand::<T>::of).collect::<Result<Vec<_>>>()?;
    let mut values = vec![0.0; operands.len()];
    for (row, result) in results.values().iter().enumerate().filter(|(_, result)| may_be_lost(**result)) {
        if results.is_null(row) {
            continue;
        }
        values.iter_mut().zip(&operands).for_each(|(value, operand)| *value = operand.at(row));
        let result: f64 = (*result).into();
        if result == 0.0 && rule.is_too_small(&values) {
            return exec_err!("value out of range: underflow");
        }
        if result.is_infinite() && rule.is_too_large(&values) {
            return exec_err!("value out of range: overflow");
        }
    }
    Ok(())
}

/// An operand: one value for all rows, or one for each.
struct Operand<T: ArrowPrimitiveType> {
    values: PrimitiveArray<T>,
    is_constant: bool,
}

impl<T: ArrowPrimitiveType<Native: Into<f64>>> Operand<T> {
    fn of(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Scalar(value) => {
                Self { values: value.to_array()?.as_primitive::<T>().clone(), is_constant: true }
            }
            ColumnarValue::Array(values) => Self { values: values.as_primitive::<T>().clone(), is_constant: false },
        })
    }

    fn at(&self, row: usize) -> f64 {
        self.values.value(if self.is_constant { 0 } else { row }).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Float32Array, Float64Array};
    use datafusion::common::ScalarValue;
    use std::sync::Arc;

    fn doubles(values: &[Option<f64>]) -> ColumnarValue {
        ColumnarValue::Array(Arc::new(Float64Array::from(values.to_vec())) as ArrayRef)
    }

    #[test]
    fn a_result_is_lost_only_if_no_operand_is_like_it() {
        let constant = |value: f64| ColumnarValue::Scalar(ScalarValue::from(value));
        let ok = |rule, result: f64, operands: &[f64]| {
            let operands: Vec<ColumnarValue> = operands.iter().map(|value| constant(*value)).collect();
            check_range(&constant(result), &operands, rule).is_ok()
        };
        let infinite = f64::INFINITY;
        assert!(!ok(RangeRule::Sum, infinite, &[1e308, 1e308]) && ok(RangeRule::Sum, infinite, &[infinite, 1.0]));
        assert!(ok(RangeRule::Sum, 0.0, &[1.0, -1.0]) && ok(RangeRule::Sum, f64::NAN, &[infinite, -infinite]));
        assert!(!ok(RangeRule::Product, 0.0, &[1e-300, 1e-300]) && ok(RangeRule::Product, 0.0, &[0.0, 1e-300]));
        assert!(!ok(RangeRule::Quotient, 0.0, &[1e-300, 1e300]) && ok(RangeRule::Quotient, 0.0, &[1.0, infinite]));
        assert!(!ok(RangeRule::Quotient, infinite, &[1e300, 1e-300]));
        assert!(!ok(RangeRule::Exponential, 0.0, &[-1e6]) && ok(RangeRule::Exponential, 0.0, &[-infinite]));
        assert!(!ok(RangeRule::Power, 0.0, &[10.0, -400.0]) && ok(RangeRule::Power, 0.0, &[0.5, infinite]));
    }

    #[test]
    fn rows_without_a_value_are_in_range() {
        let results = doubles(&[None, Some(1.0)]);
        let ColumnarValue::Array(array) = &results else { unreachable!() };
        let values = array.as_primitive::<Float64Type>().values().to_vec();
        let mut lost = values;
        lost[0] = f64::INFINITY;
        let nulls = array.nulls().cloned();
        let results = ColumnarValue::Array(Arc::new(Float64Array::new(lost.into(), nulls)));
        let operands = [doubles(&[Some(1e308), Some(1.0)]), doubles(&[None, Some(0.0)])];
        check_range(&results, &operands, RangeRule::Sum).unwrap();
        let reals = |values: Vec<f32>| ColumnarValue::Array(Arc::new(Float32Array::from(values)));
        let results = reals(vec![1.0, f32::INFINITY]);
        assert!(check_range(&results, &[reals(vec![1.0, 3e38]), reals(vec![0.0, 3e38])], RangeRule::Sum).is_err());
    }
}
