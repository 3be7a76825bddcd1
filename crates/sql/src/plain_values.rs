//! First and last values of mapped columns are gathered as text: DataFusion puts one value for each group into a new
//! dictionary, which for `u8` ends at 256 groups, however few different values there are.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::logical_plan::{Aggregate, Projection};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Runs when `DISTINCT ON` has become an aggregate.
#[derive(Debug)]
pub(crate) struct PlainValues;

impl OptimizerRule for PlainValues {
    fn name(&self) -> &str {
        "plain_values"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        let values = aggregate.aggr_expr.iter().map(|expr| plain(expr, aggregate)).collect::<Result<Vec<_>>>()?;
        if values.iter().all(Option::is_none) {
            return Ok(Transformed::no(plan));
        }
        let group_count = aggregate.schema.fields().len() - values.len();
        let mut answer: Vec<Expr> =
            aggregate.schema.columns().into_iter().take(group_count).map(Expr::Column).collect();
        let mut gathered = Vec::with_capacity(values.len());
        for (at, (value, expr)) in values.into_iter().zip(&aggregate.aggr_expr).enumerate() {
            let (qualifier, field) = aggregate.schema.qualified_field(group_count + at);
            match value {
                None => {
                    gathered.push(expr.clone());
                    answer.push(Expr::Column(Column::from((qualifier, field))));
                }
                Some(value) => {
                    let name = format!("{} as text", field.name());
                    gathered.push(value.alias(name.clone()));
                    let mapped = cast(Expr::Column(Column::new_unqualified(name)), field.data_type().clone());
                    answer.push(mapped.alias_qualified(qualifier.cloned(), field.name()));
                }
            }
        }
        let gathering = Aggregate::try_new(Arc::clone(&aggregate.input), aggregate.group_expr.clone(), gathered)?;
        let gathering = Arc::new(LogicalPlan::Aggregate(gathering));
        let answer = Projection::try_new_with_schema(answer, gathering, Arc::clone(&aggregate.schema))?;
        Ok(Transformed::yes(LogicalPlan::Projection(answer)))
    }
}

/// The aggregate of a first or last value over text, if it is one over a mapped column.
fn plain(expr: &Expr, aggregate: &Aggregate) -> Result<Option<Expr>> {
    let inner = match expr {
        Expr::Alias(alias) => alias.expr.as_ref(),
        other => other,
    };
    let Expr::AggregateFunction(AggregateFunction { func, params }) = inner else { return Ok(None) };
    let ([value], "first_value" | "last_value") = (params.args.as_slice(), func.name()) else { return Ok(None) };
    let DataType::Dictionary(_, plain) = value.get_type(aggregate.input.schema())? else { return Ok(None) };
    let mut params = params.clone();
    params.args = vec![cast(value.clone(), *plain)];
    Ok(Some(Expr::AggregateFunction(AggregateFunction { func: Arc::clone(func), params })))
}
