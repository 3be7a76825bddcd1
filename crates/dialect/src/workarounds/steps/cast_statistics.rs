//! The least and greatest value of a cast column. DataFusion casts those of the column, but the least number is not the
//! least text. It answers `min` and `max` of a whole table from such statistics; a plan with a cast that may change the
//! order of values is executed instead.
//!
//! [#25221](https://github.com/apache/datafusion/issues/25221) is fixed upstream by
//! [#25227](https://github.com/apache/datafusion/pull/25227), which is not in 55.2.

use crate::text::plan_walk::DynWalk;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::CastExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use std::sync::Arc;

/// Wraps DataFusion's rule that answers aggregates from statistics.
pub(crate) fn answer_from_true_statistics(optimizer: &mut PhysicalOptimizer) {
    for rule in &mut optimizer.rules {
        if rule.name() == "aggregate_statistics" {
            *rule = Arc::new(TrueStatistics { inner: Arc::clone(rule) });
        }
    }
}

#[derive(Debug)]
struct TrueStatistics {
    inner: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
}

impl PhysicalOptimizerRule for TrueStatistics {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let may_change_order = plan.dyn_exists(|step| {
            let Some(projection) = step.downcast_ref::<ProjectionExec>() else { return Ok(false) };
            let schema = projection.input().schema();
            Ok(projection.expr().iter().any(|column| changes_order(column.expr.as_ref(), &schema)))
        })?;
        if may_change_order { Ok(plan) } else { self.inner.optimize(plan, options) }
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema_check(&self) -> bool {
        self.inner.schema_check()
    }
}

/// Returns whether an expression is a cast after which values may have another order. Only casts have statistics.
fn changes_order(expr: &dyn PhysicalExpr, schema: &Schema) -> bool {
    let Some(cast) = expr.downcast_ref::<CastExpr>() else { return false };
    let inner = cast.expr();
    let keeps_order = inner.data_type(schema).is_ok_and(|from| keeps_order(&from, cast.cast_type()));
    !keeps_order || changes_order(inner.as_ref(), schema)
}

fn keeps_order(from: &DataType, to: &DataType) -> bool {
    let is_time = |data_type: &DataType| matches!(data_type, DataType::Timestamp(..) | DataType::Date32);
    from == to
        || (from.is_integer() && to.is_numeric())
        || (from.is_floating() && to.is_floating())
        || (from.is_decimal() && (to.is_floating() || to.is_decimal()))
        || (is_time(from) && is_time(to))
}
