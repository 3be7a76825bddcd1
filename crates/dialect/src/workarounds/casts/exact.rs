//! Casts of times that a comparison must not move to its literal: to a finer unit, and of a local time to an instant.
//!
//! DataFusion moves a cast from a column to the literal it is compared with, even if that loses precision: from
//! `CAST(t AS TIMESTAMP(3)) < '12:00:00.5'`, with `t` in seconds, it would make `t < '12:00:00'`. It also inserts such
//! casts itself wherever units differ. So after types are made equal, these casts become functions. DataFusion leaves
//! functions alone, and each function reports which times a literal stands for.
//!
//! Waits for [#25095](https://github.com/apache/datafusion/issues/25095) (a local time as an instant). DataFusion 55.2
//! fixes the half of [#22142](https://github.com/apache/datafusion/issues/22142) that is about coarser units; for finer
//! ones no upstream issue is known.

use super::cast_methods::cast_methods;
use crate::functions::base::arguments::per_second;
use crate::functions::times::types::{is_shifted, is_utc};
use crate::text::plan_walk::DynWalk;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::optimizer::AnalyzerRule;

/// Runs after types are made equal, and after all rules that look for casts.
#[derive(Debug)]
pub(crate) struct ExactCasts;

impl AnalyzerRule for ExactCasts {
    fn name(&self) -> &str {
        "exact_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(as_function(expr, schema)))
    }
}

fn as_function(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match TimeCast::of(&expr, schema) {
        Some((cast, times)) => Transformed::yes(ScalarUDF::new_from_impl(cast).call(vec![times])),
        None => Transformed::no(expr),
    }
}

/// `CAST(t AS target)`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeCast {
    target: DataType,
    /// Whether this is a TRY_CAST: a time that does not fit becomes NULL.
    is_try: bool,
    signature: Signature,
}

impl TimeCast {
    /// Returns the cast and its operand if the expression is a cast of a column that cannot be reversed without loss.
    fn of(expr: &Expr, schema: &DFSchema) -> Option<(Self, Expr)> {
        let (times, target, is_try) = match expr {
            Expr::Cast(cast) => (cast.expr.as_ref(), cast.field.data_type().clone(), false),
            Expr::TryCast(cast) => (cast.expr.as_ref(), cast.field.data_type().clone(), true),
            // DataFusion replaces these functions by casts later.
            Expr::ScalarFunction(call) if matches!(call.func.name(), "arrow_cast" | "arrow_try_cast") => {
                (call.args.first()?, expr.get_type(schema).ok()?, call.func.name() == "arrow_try_cast")
            }
            _ => return None,
        };
        let is_column = |expr: &Expr| Ok(matches!(expr, Expr::Column(_) | Expr::OuterReferenceColumn(..)));
        if !times.dyn_exists(is_column).ok()? || !loses_when_reversed(&times.get_type(schema).ok()?, &target) {
            return None;
        }
        Some((Self { target, is_try, signature: Signature::any(1, Volatility::Immutable) }, times.clone()))
    }
}

fn loses_when_reversed(from: &DataType, to: &DataType) -> bool {
    let (DataType::Timestamp(from_unit, from_zone), DataType::Timestamp(to_unit, to_zone)) = (from, to) else {
        return false;
    };
    per_second(*to_unit) > per_second(*from_unit) || is_shifted(from_zone.as_deref(), to_zone.as_deref())
}

impl ScalarUDFImpl for TimeCast {
    cast_methods!("cast_time", "try_cast_time");

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let options = CastOptions { safe: self.is_try, ..CastOptions::default() };
        args.args[0].cast_to(&self.target, Some(&options))
    }

    /// Returns the range of times that are equal to the literal after the cast. It is empty for a literal between two
    /// counts of the coarser unit, which still has a place in their order.
    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        let ([times], Some(value)) = (args, literal.as_literal()) else { return Ok(PreimageResult::None) };
        let from = info.get_data_type(times)?;
        let (DataType::Timestamp(narrow, from_zone), DataType::Timestamp(fine, to_zone)) = (&from, &self.target) else {
            return Ok(PreimageResult::None);
        };
        let ratio = per_second(*fine) / per_second(*narrow);
        // A time that does not fit becomes NULL here, so no range of times stands for the literal.
        let is_partial = self.is_try || is_shifted(from_zone.as_deref(), to_zone.as_deref());
        if is_partial || ratio <= 1 || value.data_type() != self.target {
            return Ok(PreimageResult::None);
        }
        let ScalarValue::Int64(Some(count)) = value.cast_to(&DataType::Int64)? else {
            return Ok(PreimageResult::None);
        };
        let after = count.div_euclid(ratio) + 1;
        let first = if count.rem_euclid(ratio) == 0 { after - 1 } else { after };
        let time = |count: i64| ScalarValue::Int64(Some(count)).cast_to(&from);
        let interval = Box::new(Interval::try_new(time(first)?, time(after)?)?);
        Ok(PreimageResult::Range { expr: times.clone(), interval })
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(match (&self.target, inputs) {
            (DataType::Timestamp(_, zone), [times]) if !self.is_try && zone.as_deref().is_none_or(is_utc) => {
                times.sort_properties
            }
            _ => SortProperties::Unordered,
        })
    }
}
