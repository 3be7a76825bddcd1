//! `nth_value(x, n)`: `n` counts from 1, and is NULL or positive, as in PostgreSQL. DataFusion counts from the end if
//! it is negative, and returns NULL if it is 0.

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{ArrayRef, new_null_array};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::function::{ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{LimitEffect, PartitionEvaluator, ReversedUDWF, WindowUDF, WindowUDFImpl};
use datafusion::physical_plan::PhysicalExpr;
use datafusion::physical_plan::expressions::Literal;
use std::sync::Arc;

/// Replaces DataFusion's function.
pub(super) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().window_functions().get("nth_value") {
        context.register_udwf(WindowUDF::new_from_impl(NthValue { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct NthValue {
    inner: Arc<WindowUDF>,
}

impl WindowUDFImpl for NthValue {
    of_inner!(name, aliases, signature, documentation);

    fn expressions(&self, args: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(args)
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        let n = args.input_exprs().get(1).and_then(|expr| expr.downcast_ref::<Literal>()).map(Literal::value);
        if let Some(n) = n {
            if n.is_null() {
                let result = args.input_fields().first().map_or(DataType::Null, |field| field.data_type().clone());
                return Ok(Box::new(Nulls { result }));
            }
            if let ScalarValue::Int64(Some(..=0)) = n.cast_to(&DataType::Int64)? {
                return exec_err!("the second argument of nth_value must be greater than zero");
            }
        }
        self.inner.partition_evaluator_factory(args)
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.field(args)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        ReversedUDWF::Reversed(Arc::new(WindowUDF::new_from_impl(self.clone())))
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.inner.inner().limit_effect(args)
    }
}

/// The function if `n` is NULL.
#[derive(Debug)]
struct Nulls {
    result: DataType,
}

impl PartitionEvaluator for Nulls {
    fn evaluate_all(&mut self, _: &[ArrayRef], row_count: usize) -> Result<ArrayRef> {
        Ok(new_null_array(&self.result, row_count))
    }
}
