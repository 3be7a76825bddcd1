//! A date beside a time in `CASE`, `coalesce`, `greatest`, `least` and `nullif` becomes a time of the same unit.
//! DataFusion would make nanoseconds of both, whose range ends in the years 1677 and 2262.
//!
//! No upstream issue known.

use crate::functions::times::types::is_utc;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::AnalyzerRule;

/// Functions whose arguments have one type.
const OF_ONE_TYPE: [&str; 4] = ["coalesce", "greatest", "least", "nullif"];

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct DatesBesideTimes;

impl AnalyzerRule for DatesBesideTimes {
    fn name(&self) -> &str {
        "dates_beside_times"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_changed = match &mut expr {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter_mut().map(|(_, result)| result.as_mut());
            unite(results.chain(case.else_expr.as_deref_mut()).collect(), schema)
        }
        Expr::ScalarFunction(call) if OF_ONE_TYPE.contains(&call.func.name()) => {
            unite(call.args.iter_mut().collect(), schema)
        }
        _ => false,
    };
    if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

/// Casts the dates among expressions to the type of the first time. Returns whether there are both.
fn unite(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let types: Vec<Option<DataType>> = exprs.iter().map(|expr| expr.get_type(schema).ok()).collect();
    let Some(time) = types.iter().flatten().find(|of| is_time(of)) else { return false };
    let mut is_changed = false;
    for (expr, _) in exprs.into_iter().zip(&types).filter(|(_, of)| **of == Some(DataType::Date32)) {
        *expr = cast(std::mem::take(expr), time.clone());
        is_changed = true;
    }
    is_changed
}

/// Returns whether a type is one of times to which a date may be cast.
pub(crate) fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, zone) if zone.as_deref().is_none_or(is_utc))
}
