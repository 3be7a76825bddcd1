//! Cached plans: a plan over the tables of one snapshot becomes the same plan over another, as long as no definition
//! has changed in between. A cached plan contains no snapshot, because a snapshot pins the store's state.

use crate::scan::provider::SnapshotTable;
use crate::scan::text_of_index::TextOfIndex;
use atsdb_codec::enumeration_of;
use atsdb_dialect::text::plan_walk::{DynPlanWalk, DynWalk};
use atsdb_engine::ReadSnapshot;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunctionDefinition};
use datafusion::logical_expr::logical_plan::TableScan;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, Volatility};
use std::sync::Arc;

/// Returns the plan over another snapshot, or over none. `None` if it reads anything other than tables of the store.
pub(crate) fn over(plan: LogicalPlan, snapshot: Option<&ReadSnapshot>) -> Result<Option<LogicalPlan>> {
    let mut reads_others = false;
    let moved = plan.dyn_transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source)?;
            let table = provider.downcast_ref::<SnapshotTable>().filter(|table| table.may_be_kept());
            let Some(table) = table else {
                reads_others = true;
                return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
            };
            let source = provider_as_source(Arc::new(table.over(snapshot.cloned())));
            Ok(Transformed::yes(LogicalPlan::TableScan(TableScan { source, ..scan })))
        }
        plan => plan.dyn_map_expressions(|expr| {
            expr.dyn_transform_up(|expr| match &expr {
                Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<TextOfIndex>() {
                    Some(text) => {
                        let func = Arc::new(ScalarUDF::new_from_impl(text.over(snapshot.cloned())));
                        let args = call.args.clone();
                        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(func, args))))
                    }
                    None => Ok(Transformed::no(expr)),
                },
                _ => Ok(Transformed::no(expr)),
            })
        }),
    })?;
    Ok((!reads_others).then_some(moved.data))
}

/// Returns whether a statement's unoptimized plan gives the same answer each time: it uses neither the current time nor
/// random values.
pub(crate) fn is_immutable(plan: &LogicalPlan) -> Result<bool> {
    let mut is_immutable = true;
    plan.dyn_apply_with_subqueries(|plan| {
        plan.dyn_apply_expressions(|expr| {
            expr.dyn_apply(|expr| {
                let volatility = match expr {
                    Expr::ScalarFunction(call) => call.func.signature().volatility,
                    Expr::AggregateFunction(call) => call.func.signature().volatility,
                    Expr::WindowFunction(call) => match &call.fun {
                        WindowFunctionDefinition::AggregateUDF(function) => function.signature().volatility,
                        WindowFunctionDefinition::WindowUDF(function) => function.signature().volatility,
                    },
                    Expr::ScalarVariable(..) => Volatility::Volatile,
                    // The labels of an enumerated type are none of a table's definition.
                    Expr::Cast(cast) if enumeration_of(&cast.field).is_some() => Volatility::Stable,
                    _ => Volatility::Immutable,
                };
                is_immutable &= volatility == Volatility::Immutable;
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(is_immutable)
}
