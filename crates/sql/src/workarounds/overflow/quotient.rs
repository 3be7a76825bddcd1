//! A float divided by zero is an error, as in PostgreSQL. DataFusion returns infinity.
//!
//! No upstream issue known.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::kernels::numeric::div;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::{BinaryExpr, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use std::sync::Arc;

/// The quotient of two floats of one type, checked unless the divisor is a constant other than zero.
pub(super) fn quotient(binary: BinaryExpr) -> Expr {
    if matches!(binary.right.as_ref(), Expr::Literal(value, _) if !is_zero(value)) {
        return Expr::BinaryExpr(binary);
    }
    let quotient = Quotient { signature: Signature::user_defined(Volatility::Immutable) };
    let function = Arc::new(ScalarUDF::new_from_impl(quotient));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![*binary.left, *binary.right]))
}

fn is_zero(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float64(Some(value)) => *value == 0.0,
        ScalarValue::Float32(Some(value)) => *value == 0.0,
        _ => false,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quotient {
    signature: Signature,
}

impl ScalarUDFImpl for Quotient {
    fn name(&self) -> &str {
        "/"
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
            None => internal_err!("a quotient without operands"),
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
            [left, right] => format!("{} / {}", left.schema_name(), right.schema_name()),
            _ => self.name().to_owned(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else { return internal_err!("a quotient needs two operands") };
        if may_divide(left, right)? {
            return apply(left, right, div);
        }
        Err(ArrowError::DivideByZero.into())
    }
}

/// Whether the division is allowed: no value other than NULL is divided by zero.
fn may_divide(left: &ColumnarValue, right: &ColumnarValue) -> Result<bool> {
    let dividends = match left {
        ColumnarValue::Scalar(value) if value.is_null() => return Ok(true),
        ColumnarValue::Scalar(_) => None,
        ColumnarValue::Array(values) => values.logical_nulls(),
    };
    let (divisors, is_constant) = match right {
        ColumnarValue::Scalar(value) => (value.to_array()?, true),
        ColumnarValue::Array(values) => (Arc::clone(values), false),
    };
    let is_null = |row: usize| dividends.as_ref().is_some_and(|nulls| nulls.is_null(row));
    if is_constant {
        let has_dividend = match left {
            ColumnarValue::Array(values) => values.len() > values.logical_null_count(),
            ColumnarValue::Scalar(_) => true,
        };
        let value = ScalarValue::try_from_array(&divisors, 0)?;
        return Ok(!has_dividend || !is_zero(&value));
    }
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
