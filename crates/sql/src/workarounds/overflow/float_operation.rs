//! `+`, `-`, `*` and `/` of floats that fail if the result is out of range, or if the divisor is zero, as in
//! PostgreSQL. DataFusion returns infinity or zero.
//!
//! No upstream issue known.

use super::float_range::{RangeRule, check_range};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::kernels::numeric::{add, div, mul, sub};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::{BinaryExpr, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use std::sync::Arc;

/// The checked operation on two floats of one type for an operator of DataFusion's.
pub(super) fn of_binary(binary: BinaryExpr) -> Expr {
    let Some(sign) = FloatSign::of(binary.op) else { return Expr::BinaryExpr(binary) };
    let operation = FloatOperation { sign, signature: Signature::user_defined(Volatility::Immutable) };
    let function = Arc::new(ScalarUDF::new_from_impl(operation));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![*binary.left, *binary.right]))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FloatSign {
    Plus,
    Minus,
    Times,
    By,
}

impl FloatSign {
    pub(super) fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Plus => Some(Self::Plus),
            Operator::Minus => Some(Self::Minus),
            Operator::Multiply => Some(Self::Times),
            Operator::Divide => Some(Self::By),
            _ => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::By => "/",
        }
    }

    fn range_rule(self) -> RangeRule {
        match self {
            Self::Plus | Self::Minus => RangeRule::Sum,
            Self::Times => RangeRule::Product,
            Self::By => RangeRule::Quotient,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatOperation {
    sign: FloatSign,
    signature: Signature,
}

impl ScalarUDFImpl for FloatOperation {
    fn name(&self) -> &str {
        self.sign.text()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(first) => Ok(first.clone()),
            None => internal_err!("{} without operands", self.name()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), args.arg_fields[0].data_type().clone(), is_nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    /// Uses the name of DataFusion's own operator, because plans refer to expressions by these names.
    fn schema_name(&self, operands: &[Expr]) -> Result<String> {
        Ok(match operands {
            [left, right] => format!("{} {} {}", left.schema_name(), self.name(), right.schema_name()),
            _ => self.name().to_owned(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else { return internal_err!("{} needs two operands", self.name()) };
        let results = match self.sign {
            FloatSign::Plus => apply(left, right, add)?,
            FloatSign::Minus => apply(left, right, sub)?,
            FloatSign::Times => apply(left, right, mul)?,
            FloatSign::By if !may_divide(left, right)? => return Err(ArrowError::DivideByZero.into()),
            FloatSign::By => apply(left, right, div)?,
        };
        check_range(&results, &args.args, self.sign.range_rule())?;
        Ok(results)
    }
}

fn is_zero(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float64(Some(value)) => *value == 0.0,
        ScalarValue::Float32(Some(value)) => *value == 0.0,
        _ => false,
    }
}

/// Whether the division is allowed: no value other than NULL is divided by zero.
fn may_divide(left: &ColumnarValue, right: &ColumnarValue) -> Result<bool> {
    let dividends = match left {
        ColumnarValue::Scalar(value) if value.is_null() => return Ok(true),
        ColumnarValue::Scalar(_) => None,
        ColumnarValue::Array(values) => values.logical_nulls(),
    };
    let divisors = match right {
        ColumnarValue::Scalar(value) => {
            let has_dividend = match left {
                ColumnarValue::Array(values) => values.len() > values.logical_null_count(),
                ColumnarValue::Scalar(_) => true,
            };
            return Ok(!has_dividend || !is_zero(value));
        }
        ColumnarValue::Array(values) => values,
    };
    let is_null = |row: usize| dividends.as_ref().is_some_and(|nulls| nulls.is_null(row));
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
    Ok(zeros.into_iter().all(|row| divisors.is_null(row) || is_null(row)))
}
