//! An operation on integers that fails if its result does not fit.

use datafusion::arrow::array::Array;
use datafusion::arrow::compute::kernels::numeric::{add, mul, neg, sub};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::{BinaryExpr, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sign {
    Plus,
    Minus,
    Times,
    Negative,
}

impl Sign {
    pub(super) fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Plus => Some(Self::Plus),
            Operator::Minus => Some(Self::Minus),
            Operator::Multiply => Some(Self::Times),
            _ => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus | Self::Negative => "-",
            Self::Times => "*",
        }
    }
}

/// An operation on integers. Both operands already have the same type, which is also the result's.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Operation {
    sign: Sign,
    signature: Signature,
}

impl Operation {
    /// Applies the operation to its operands.
    pub(super) fn call(sign: Sign, operands: Vec<Expr>) -> Expr {
        let operation = Self { sign, signature: Signature::user_defined(Volatility::Immutable) };
        let function = Arc::new(ScalarUDF::new_from_impl(operation));
        Expr::ScalarFunction(ScalarFunction::new_udf(function, operands))
    }
}

impl ScalarUDFImpl for Operation {
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
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    /// Uses the name of DataFusion's own operator, because plans refer to expressions by these names.
    fn schema_name(&self, operands: &[Expr]) -> Result<String> {
        Ok(match operands {
            [left, right] => format!("{} {} {}", left.schema_name(), self.name(), right.schema_name()),
            [of] => format!("(- {})", of.schema_name()),
            _ => self.name().to_owned(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match (self.sign, args.args.as_slice()) {
            (Sign::Plus, [left, right]) => apply(left, right, add),
            (Sign::Minus, [left, right]) => apply(left, right, sub),
            (Sign::Times, [left, right]) => apply(left, right, mul),
            (Sign::Negative, [ColumnarValue::Array(values)]) => Ok(ColumnarValue::Array(neg(values)?)),
            (Sign::Negative, [ColumnarValue::Scalar(value)]) => {
                let negated = neg(&value.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(negated.as_ref() as &dyn Array, 0)?))
            }
            (_, operands) => internal_err!("{} of {} operands", self.name(), operands.len()),
        }
    }
}

/// The checked operation for an operator of DataFusion's.
pub(super) fn of_binary(binary: BinaryExpr) -> Expr {
    match Sign::of(binary.op) {
        Some(sign) => Operation::call(sign, vec![*binary.left, *binary.right]),
        None => Expr::BinaryExpr(binary),
    }
}
