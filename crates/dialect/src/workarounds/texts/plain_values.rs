//! Values of mapped columns that an aggregate or window function returns, one for each group or row, are handled as
//! text. DataFusion puts each of them into a new dictionary, which for `u8` is full at 256 groups, however few distinct
//! values there are.
//!
//! No upstream issue known for values; [#23127](https://github.com/apache/datafusion/issues/23127) is the same fault in
//! keys of `GROUP BY`.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunction, Sort, WindowFunction};
use datafusion::logical_expr::logical_plan::{Aggregate, Projection, Window};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Functions that return values of their argument.
const GATHERING: [&str; 8] =
    ["first_value", "last_value", "any_value", "nth_value", "array_agg", "lag", "lead", "single_value"];

/// Runs after `DISTINCT ON` has become an aggregate.
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
        let (functions, kept_count) = match &plan {
            LogicalPlan::Aggregate(aggregate) => {
                (&aggregate.aggr_expr, aggregate.schema.fields().len() - aggregate.aggr_expr.len())
            }
            LogicalPlan::Window(window) => (&window.window_expr, window.input.schema().fields().len()),
            _ => return Ok(Transformed::no(plan)),
        };
        let values = functions.iter().map(|expr| plain(expr, &plan)).collect::<Result<Vec<_>>>()?;
        if values.iter().all(Option::is_none) {
            return Ok(Transformed::no(plan));
        }
        let schema = plan.schema();
        let mut answer: Vec<Expr> = schema.columns().into_iter().take(kept_count).map(Expr::Column).collect();
        let mut gathered = Vec::with_capacity(values.len());
        for (at, (value, expr)) in values.into_iter().zip(functions).enumerate() {
            let (qualifier, field) = schema.qualified_field(kept_count + at);
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
        let schema = Arc::clone(schema);
        let gathering = match plan {
            LogicalPlan::Aggregate(Aggregate { input, group_expr, .. }) => {
                LogicalPlan::Aggregate(Aggregate::try_new(input, group_expr, gathered)?)
            }
            LogicalPlan::Window(Window { input, .. }) => LogicalPlan::Window(Window::try_new(gathered, input)?),
            other => other,
        };
        let answer = Projection::try_new_with_schema(answer, Arc::new(gathering), schema)?;
        Ok(Transformed::yes(LogicalPlan::Projection(answer)))
    }
}

/// Applies the function to text, and removes repetitions from its order; `None` if nothing changes.
fn plain(expr: &Expr, plan: &LogicalPlan) -> Result<Option<Expr>> {
    match expr {
        Expr::Alias(alias) => plain(&alias.expr, plan),
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            let LogicalPlan::Aggregate(Aggregate { input, group_expr, .. }) = plan else { return Ok(None) };
            let args = plain_args(func.name(), &params.args, input.schema())?;
            let order_by = plain_order(&params.order_by, group_expr, input.schema())?;
            if args.is_none() && order_by.is_none() {
                return Ok(None);
            }
            let mut params = params.clone();
            params.args = args.unwrap_or(params.args);
            params.order_by = order_by.unwrap_or(params.order_by);
            Ok(Some(Expr::AggregateFunction(AggregateFunction { func: Arc::clone(func), params })))
        }
        Expr::WindowFunction(function) => {
            let LogicalPlan::Window(Window { input, .. }) = plan else { return Ok(None) };
            let WindowFunction { fun, params } = function.as_ref();
            let Some(args) = plain_args(fun.name(), &params.args, input.schema())? else { return Ok(None) };
            let mut function = function.as_ref().clone();
            function.params.args = args;
            Ok(Some(Expr::WindowFunction(Box::new(function))))
        }
        _ => Ok(None),
    }
}

fn plain_args(function: &str, args: &[Expr], schema: &DFSchema) -> Result<Option<Vec<Expr>>> {
    if !GATHERING.contains(&function) {
        return Ok(None);
    }
    let mut changed = false;
    let plain = |expr: &Expr| match expr.get_type(schema)? {
        DataType::Dictionary(_, plain) => {
            changed = true;
            Ok(cast(expr.clone(), *plain))
        }
        _ => Ok(expr.clone()),
    };
    let args = args.iter().map(plain).collect::<Result<Vec<_>>>()?;
    Ok(changed.then_some(args))
}

/// Sorts by text instead of mapped values, because a function keeps the values that it sorts by, too. A repeated sort
/// expression has no effect, and makes DataFusion fail, so it is removed.
fn plain_order(order: &[Sort], groups: &[Expr], schema: &DFSchema) -> Result<Option<Vec<Sort>>> {
    let mut changed = false;
    let mut plain: Vec<Sort> = Vec::with_capacity(order.len());
    for (at, sort) in order.iter().enumerate() {
        if order[..at].iter().any(|before| before.expr == sort.expr) {
            changed = true;
            continue;
        }
        // With one group for each value, there are never more groups than the dictionary can hold.
        let is_group = matches!(groups, [group] if *group == sort.expr);
        match sort.expr.get_type(schema)? {
            DataType::Dictionary(key, value) if *key != DataType::UInt32 && !is_group => {
                changed = true;
                plain.push(Sort { expr: cast(sort.expr.clone(), *value), ..sort.clone() });
            }
            _ => plain.push(sort.clone()),
        }
    }
    Ok(changed.then_some(plain))
}
