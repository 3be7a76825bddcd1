//! The rule that makes functions of marked ones, and the marks.

use super::call::{Excluding, Exclusion, Inner};
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::plan_walk::DynWalk;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, internal_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility, WindowFunctionDefinition, WindowUDF,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Aggregates that DataFusion cannot remove rows from.
const ONLY_GROWING: [&str; 3] = ["string_agg", "bool_and", "bool_or"];

/// A condition, or the function of an argument, that stands for an exclusion until it is planned.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExclusionMark {
    exclusion: Exclusion,
    signature: Signature,
}

/// Registers the marks.
pub(crate) fn register(context: &SessionContext) {
    for exclusion in [Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties] {
        // A volatile function is not computed in advance.
        let signature = Signature::one_of(vec![TypeSignature::Nullary, TypeSignature::Any(1)], Volatility::Volatile);
        let mark = ExclusionMark { exclusion, signature };
        context.register_udf(ScalarUDF::new_from_impl(mark));
    }
}

impl ScalarUDFImpl for ExclusionMark {
    fn name(&self) -> &str {
        match self.exclusion {
            Exclusion::CurrentRow => "excluded_current_row",
            Exclusion::Group => "excluded_group",
            Exclusion::Ties => "excluded_ties",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Boolean))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("EXCLUDE was not planned")
    }
}

/// Runs when the types of all expressions are settled.
#[derive(Debug)]
pub(crate) struct ExcludeRows;

impl AnalyzerRule for ExcludeRows {
    fn name(&self) -> &str {
        "exclude_rows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, _| rewrite(expr))
    }
}

fn rewrite(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(call) = expr else { return Ok(Transformed::no(expr)) };
    let WindowFunction { fun, mut params } = *call;
    let exclusion = take_exclusion(&mut params)?;
    if exclusion.is_none() && !loses_rows(&fun, &params) {
        return Ok(Transformed::no(Expr::WindowFunction(Box::new(WindowFunction { fun, params }))));
    }
    let inner = match &fun {
        WindowFunctionDefinition::AggregateUDF(aggregate) => Some(Inner::Aggregate(Arc::clone(aggregate))),
        WindowFunctionDefinition::WindowUDF(function) => Inner::of_one_row(function.name()),
    };
    let Some(inner) = inner else {
        let refused = not_supported(format_args!("EXCLUDE with {}", fun.name()));
        return Err(external(refused.with_hint("leave EXCLUDE out")));
    };
    let function = Excluding::new(
        inner,
        exclusion,
        params.args.len(),
        std::mem::take(&mut params.distinct),
        params.null_treatment.take() == Some(NullTreatment::IgnoreNulls),
    );
    params.args.extend(params.filter.take().map(|filter| *filter));
    let fun = WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::new_from_impl(function)));
    Ok(Transformed::yes(Expr::WindowFunction(Box::new(WindowFunction { fun, params }))))
}

/// Returns whether rows leave the frame of an aggregate that DataFusion cannot remove rows from.
fn loses_rows(function: &WindowFunctionDefinition, params: &WindowFunctionParams) -> bool {
    ONLY_GROWING.contains(&function.name()) && !params.window_frame.start_bound.is_unbounded()
}

/// Takes the mark out of a function's FILTER, or out of its first argument.
fn take_exclusion(params: &mut WindowFunctionParams) -> Result<Option<Exclusion>> {
    let mut exclusion = None;
    if let Some(filter) = params.filter.take() {
        let mut conditions = split_conjunction_owned(*filter);
        conditions.retain(|condition| match mark_of(condition) {
            Some((found, _)) => {
                exclusion = Some(found);
                false
            }
            None => true,
        });
        params.filter = conjunction(conditions).map(Box::new);
    }
    if let Some(value) = params.args.first_mut() {
        let unmarked = std::mem::take(value).dyn_transform_up(|expr| {
            let Some((found, [value])) = mark_of(&expr) else { return Ok(Transformed::no(expr)) };
            exclusion = Some(found);
            Ok(Transformed::yes(value.clone()))
        })?;
        *value = unmarked.data;
    }
    Ok(exclusion)
}

/// The exclusion that an expression marks, and the arguments of the mark.
fn mark_of(expr: &Expr) -> Option<(Exclusion, &[Expr])> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let mark = call.func.inner().downcast_ref::<ExclusionMark>()?;
    Some((mark.exclusion, call.args.as_slice()))
}
