//! The frame of functions that replace an operator of DataFusion's. Such a function has the operator's name, because
//! plans refer to expressions by name, and is NULL where an operand is. A [`Kernel`] says what is computed.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// The computation of a replaced operator.
pub(crate) trait Kernel: Debug + Eq + Hash + Send + Sync + 'static {
    /// The operator as it is written: `+`.
    fn symbol(&self) -> &'static str;

    /// The type of the result.
    fn result_type(&self, operands: &[DataType]) -> Result<DataType> {
        match operands.first() {
            Some(first) => Ok(first.clone()),
            None => internal_err!("{} without operands", self.symbol()),
        }
    }

    /// Computes the result for operands, one or two.
    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue>;
}

/// The function for a kernel. It takes its operands as they are: their types have been settled.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OperatorFunction<K> {
    kernel: K,
    signature: Signature,
}

impl<K: Kernel> OperatorFunction<K> {
    /// The kernel's operation on operands.
    pub(crate) fn call(kernel: K, operands: Vec<Expr>) -> Expr {
        let function = Self { kernel, signature: Signature::user_defined(Volatility::Immutable) };
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(function)), operands))
    }

    /// The kernel of a function, if it is one of this kind.
    pub(crate) fn kernel_of(function: &ScalarUDF) -> Option<&K> {
        function.inner().downcast_ref::<Self>().map(|function| &function.kernel)
    }
}

impl<K: Kernel> ScalarUDFImpl for OperatorFunction<K> {
    fn name(&self) -> &str {
        self.kernel.symbol()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.kernel.result_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, is_nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    /// NULL if an operand is the constant NULL: as in PostgreSQL, the other operand is not computed then, unless it is
    /// a constant, too.
    fn simplify(&self, operands: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_null = |operand: &Expr| operand.as_literal().is_some_and(ScalarValue::is_null);
        let is_skipped = |operand: &Expr| operand.as_literal().is_some() || operand.any_column_refs();
        if !operands.iter().any(is_null) || !operands.iter().all(is_skipped) {
            return Ok(ExprSimplifyResult::Original(operands));
        }
        let types = operands.iter().map(|operand| context.get_data_type(operand)).collect::<Result<Vec<_>>>()?;
        let null = ScalarValue::try_from(&self.return_type(&types)?)?;
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(null, None)))
    }

    /// Uses the name of DataFusion's own operator, because plans refer to expressions by these names.
    fn schema_name(&self, operands: &[Expr]) -> Result<String> {
        Ok(match operands {
            [left, right] => format!("{} {} {}", left.schema_name(), self.name(), right.schema_name()),
            [of] => format!("({} {})", self.name(), of.schema_name()),
            _ => self.name().to_owned(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.kernel.compute(&args.args)
    }
}
