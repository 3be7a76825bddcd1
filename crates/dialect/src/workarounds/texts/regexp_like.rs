//! `regexp_like` and `~` of a pattern with look-around or references to groups, which Rust's regular expressions lack.
//! The operator becomes a call of the function if its pattern may have them, or is not known yet. Once the pattern
//! turns out to have none, the call becomes the operator.
//!
//! No upstream issue known.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::text_of;
use crate::functions::base::of_inner::of_inner;
use crate::functions::texts::regexps::for_each_row;
use crate::text::backtracking_patterns::may_backtrack;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::array::BooleanBuilder;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, lit,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Replaces DataFusion's `regexp_like`.
pub(crate) fn register(context: &SessionContext) {
    context.register_udf(regexp_like());
}

fn regexp_like() -> ScalarUDF {
    ScalarUDF::new_from_impl(RegexpLike { inner: datafusion::functions::regex::regexp_like() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpLike {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for RegexpLike {
    of_inner!(name, signature, documentation);

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let columns = arrays.iter().map(|array| cast(array, &DataType::Utf8)).collect::<Result<Vec<_>, _>>()?;
        let mut matched = BooleanBuilder::with_capacity(columns[0].len());
        for_each_row(&columns, |search| {
            if search.as_ref().is_some_and(|search| search.is_global) {
                return exec_err!("regexp_like() does not support the \"global\" option");
            }
            matched.append_option(search.map(|search| search.expression.is_match(search.text)).transpose()?);
            Ok(())
        })?;
        answer(is_constant, Arc::new(matched.finish()))
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.get(1).is_some_and(is_linear) {
            true => self.inner.simplify(args, context),
            false => Ok(ExprSimplifyResult::Original(args)),
        }
    }
}

/// Returns whether a pattern is known and has neither look-around nor references to groups.
fn is_linear(pattern: &Expr) -> bool {
    match pattern {
        Expr::Literal(value, _) => !text_of(value).is_some_and(may_backtrack),
        _ => false,
    }
}

/// Replaces `~`, `~*`, `!~` and `!~*`. Runs after types have been made equal.
#[derive(Debug)]
pub(crate) struct MatchByFunction;

impl AnalyzerRule for MatchByFunction {
    fn name(&self) -> &str {
        "match_by_function"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, rewrite)
    }
}

fn rewrite(expr: Expr, _: &DFSchema) -> Result<Transformed<Expr>> {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(op, RegexMatch | RegexNotMatch | RegexIMatch | RegexNotIMatch) && !is_linear(&right) =>
        {
            let flags = if matches!(op, RegexIMatch | RegexNotIMatch) { "i" } else { "" };
            let call = regexp_like().call(vec![*left, *right, lit(flags)]);
            let is_negated = matches!(op, RegexNotMatch | RegexNotIMatch);
            Ok(Transformed::yes(if is_negated { Expr::Not(Box::new(call)) } else { call }))
        }
        other => Ok(Transformed::no(other)),
    }
}
