//! `GROUP BY` and `DISTINCT` over intervals: intervals of the same length are one group, which shows the first of them.
//! DataFusion groups by months, days and the rest one by one.
//!
//! Part of [`comparison`](super::comparison).

use super::order::order;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::logical_plan::{Aggregate, Distinct, Projection};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use std::sync::Arc;

/// Groups by lengths instead of intervals.
pub(super) fn by_length(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Distinct(Distinct::All(input)) if has_intervals(input.schema()) => {
            let keys = input.schema().columns().into_iter().map(Expr::Column).collect();
            grouped(Aggregate::try_new(input, keys, Vec::new())?).map(Transformed::yes)
        }
        LogicalPlan::Aggregate(aggregate)
            if aggregate.group_expr.iter().any(|key| is_interval(key, aggregate.input.schema()))
                && !aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_))) =>
        {
            grouped(aggregate).map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    }
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

fn has_intervals(schema: &DFSchema) -> bool {
    schema.fields().iter().any(|field| matches!(field.data_type(), DataType::Interval(_)))
}

/// The same rows and columns, grouped by lengths.
fn grouped(aggregate: Aggregate) -> Result<LogicalPlan> {
    let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
    let (mut keys, mut functions) = (Vec::with_capacity(group_expr.len()), aggr_expr);
    let mut answer = Vec::with_capacity(schema.fields().len());
    for (at, key) in group_expr.into_iter().enumerate() {
        let (qualifier, field) = schema.qualified_field(at);
        if !is_interval(&key, input.schema()) {
            answer.push(Expr::Column(Column::from((qualifier, field))));
            keys.push(key);
            continue;
        }
        let (length, first) = (format!("{} as length {at}", field.name()), format!("{} as first {at}", field.name()));
        let key = key.unalias();
        functions.push(first_value_udaf().call(vec![key.clone()]).alias(first.clone()));
        keys.push(order(key).alias(length));
        let shown = Expr::Column(Column::new_unqualified(first));
        answer.push(shown.alias_qualified(qualifier.cloned(), field.name()));
    }
    for at in answer.len()..schema.fields().len() {
        let (qualifier, field) = schema.qualified_field(at);
        answer.push(Expr::Column(Column::from((qualifier, field))));
    }
    let grouping = LogicalPlan::Aggregate(Aggregate::try_new(input, keys, functions)?);
    Ok(LogicalPlan::Projection(Projection::try_new(answer, Arc::new(grouping))?))
}
