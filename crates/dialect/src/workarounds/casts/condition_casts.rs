//! Casts in conditions that map different values to the same one: of a time to a date or to a coarser unit, and of an
//! integer to a float with fewer digits. To estimate how many rows pass a condition, DataFusion 55.2 casts ranges of
//! values there and back. A range may then be wider than before, and a condition such as `CAST(time AS DATE) = day`
//! fails: "Selectivity is out of limit". So these casts become functions, of which it estimates nothing.
//!
//! No upstream issue known.

use crate::functions::base::arguments::per_second;
use crate::text::plan_walk::DynWalk;
use crate::workarounds::casts::postgres::plain_cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, Filter, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Runs after conditions have been moved to tables and joins, which look for casts.
#[derive(Debug)]
pub(crate) struct ConditionCasts;

impl OptimizerRule for ConditionCasts {
    fn name(&self) -> &str {
        "condition_casts"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            // One with columns of an outer query is not run as it is.
            LogicalPlan::Filter(Filter { predicate, input, .. }) if !predicate.contains_outer() => {
                let predicate = predicate.dyn_transform_up(|expr| Ok(as_function(expr, input.schema())))?;
                predicate.map_data(|predicate| Filter::try_new(predicate, input).map(LogicalPlan::Filter))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn as_function(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::Cast(cast) = &expr else { return Transformed::no(expr) };
    let target = cast.field.data_type();
    if !cast.expr.get_type(schema).is_ok_and(|from| makes_values_equal(&from, target)) {
        return Transformed::no(expr);
    }
    Transformed::yes(plain_cast(cast.expr.as_ref().clone(), target.clone()))
}

/// Returns whether a cast may give several values of a type the same value.
fn makes_values_equal(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Int64 | DataType::UInt64, DataType::Float32 | DataType::Float64)
        | (DataType::Int32 | DataType::UInt32, DataType::Float32)
        | (DataType::Timestamp(..), DataType::Date32) => true,
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) => per_second(*to) < per_second(*from),
        _ => false,
    }
}
