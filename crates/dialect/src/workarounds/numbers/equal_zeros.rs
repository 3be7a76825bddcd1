//! In an order, in a window and for the `DISTINCT` of an aggregate, 0.0 equals -0.0, and all values that are no
//! numbers are equal: their rows are peers, and the next key of the order decides. DataFusion compares floats by all
//! their bits.
//!
//! [#22826](https://github.com/apache/datafusion/issues/22826) is fixed in 55.2 for comparisons, groups and joins; for
//! orders, windows and aggregates no upstream issue is known.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct EqualZeros;

impl AnalyzerRule for EqualZeros {
    fn name(&self) -> &str {
        "equal_zeros"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Sort(mut sort) => {
                let schema = merge_schema(&[sort.input.as_ref()]);
                // Nothing follows the last key, so that its equal values may be in any order.
                let decided = sort.expr.len().saturating_sub(1);
                let mut changed = false;
                for key in sort.expr.iter_mut().take(decided) {
                    changed |= set_plain_zero(&mut key.expr, &schema);
                }
                Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), changed))
            }
            LogicalPlan::Window(_) | LogicalPlan::Aggregate(_) => {
                let schema = merge_schema(&plan.inputs());
                let names = NamePreserver::new(&plan);
                plan.dyn_map_expressions(|expr| {
                    let name = names.save(&expr);
                    let rewritten = expr.dyn_transform_up(|expr| Ok(in_call(expr, &schema)))?;
                    Ok(rewritten.update_data(|expr| name.restore(expr)))
                })
            }
            other => Ok(Transformed::no(other)),
        })
        .data()
    }
}

fn in_call(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::WindowFunction(mut call) => {
            let mut changed = false;
            for key in &mut call.params.partition_by {
                changed |= set_plain_zero(key, schema);
            }
            for key in &mut call.params.order_by {
                changed |= set_plain_zero(&mut key.expr, schema);
            }
            Transformed::new_transformed(Expr::WindowFunction(call), changed)
        }
        Expr::AggregateFunction(mut call) => {
            let AggregateFunctionParams { args, distinct, order_by, .. } = &mut call.params;
            let mut changed = false;
            if *distinct {
                // Their order can only be that of the arguments.
                for value in args.iter_mut().chain(order_by.iter_mut().map(|key| &mut key.expr)) {
                    changed |= set_plain_zero(value, schema);
                }
            } else {
                let decided = order_by.len().saturating_sub(1);
                for key in order_by.iter_mut().take(decided) {
                    changed |= set_plain_zero(&mut key.expr, schema);
                }
            }
            Transformed::new_transformed(Expr::AggregateFunction(call), changed)
        }
        other => Transformed::no(other),
    }
}

/// Replaces a value that is a float and no constant. Returns whether it is one.
fn set_plain_zero(value: &mut Expr, schema: &DFSchema) -> bool {
    let is_float = !matches!(value, Expr::Literal(..))
        && matches!(value.get_type(schema), Ok(DataType::Float32 | DataType::Float64));
    if is_float {
        *value = ScalarUDF::new_from_impl(PlainZero::new()).call(vec![std::mem::take(value)]);
    }
    is_float
}

/// The function that returns its argument, with 0.0 for -0.0 and one value for all that are no numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PlainZero {
    signature: Signature,
}

impl PlainZero {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for PlainZero {
    fn name(&self) -> &str {
        "plain_zero"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Null))
    }

    /// Uses the name of the argument, because plans refer to the functions of windows by the names of their keys.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(arguments.iter().map(|argument| argument.schema_name().to_string()).collect())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(inputs.first().map_or(SortProperties::Unordered, |input| input.sort_properties))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(plain_zeros(array))),
            ColumnarValue::Scalar(value) => {
                ScalarValue::try_from_array(&plain_zeros(&value.to_array()?), 0).map(ColumnarValue::Scalar)
            }
        }
    }
}

fn plain_zeros(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            // The sum of -0.0 and 0.0 is 0.0.
            Arc::new(floats.unary::<_, Float64Type>(|float| if float.is_nan() { f64::NAN } else { float + 0.0 }))
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            Arc::new(floats.unary::<_, Float32Type>(|float| if float.is_nan() { f32::NAN } else { float + 0.0 }))
        }
        _ => Arc::clone(array),
    }
}
