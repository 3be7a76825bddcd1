//! Finds the latest row of each series without reading older rows: an aggregate by a mapped column that needs only the
//! latest rows of each group gets its rows from a scan that starts at the latest chunk and stops early. This applies to
//! `SELECT DISTINCT ON (sensor) ... ORDER BY sensor, time DESC`, which is an aggregate of first values, and to
//! `max(time)`, `last(x, time)` and `first_value(x ORDER BY time DESC)` with `GROUP BY sensor`. The aggregate stays:
//! the scan only leaves out rows that cannot matter.

use super::provider::SnapshotTable;
use super::pushdown::is_exact;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment, Sort};
use datafusion::logical_expr::logical_plan::{Aggregate, TableScan};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// The rule runs after conditions have been moved to the tables.
#[derive(Debug)]
pub(crate) struct LatestRows;

impl OptimizerRule for LatestRows {
    fn name(&self) -> &str {
        "latest_rows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        let [Expr::Column(group)] = aggregate.group_expr.as_slice() else { return Ok(Transformed::no(plan)) };
        let Some(input) = reduced(&aggregate.input, aggregate, group)? else { return Ok(Transformed::no(plan)) };
        let Aggregate { group_expr, aggr_expr, schema, .. } = aggregate.clone();
        let aggregate = Aggregate::try_new_with_schema(Arc::new(input), group_expr, aggr_expr, schema)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
    }
}

/// The input of an aggregate, reduced to the rows that it needs; `None` if it needs all.
fn reduced(input: &LogicalPlan, aggregate: &Aggregate, group: &Column) -> Result<Option<LogicalPlan>> {
    match input {
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::TableScan(scan) => {
                let Some(scan) = reduced_scan(scan, input, aggregate, group)? else { return Ok(None) };
                input.with_new_exprs(Vec::new(), vec![LogicalPlan::TableScan(scan)]).map(Some)
            }
            _ => Ok(None),
        },
        LogicalPlan::TableScan(scan) => Ok(reduced_scan(scan, input, aggregate, group)?.map(LogicalPlan::TableScan)),
        _ => Ok(None),
    }
}

/// The reduced scan. `input` has the scan's columns with the names that the aggregate uses.
fn reduced_scan(
    scan: &TableScan,
    input: &LogicalPlan,
    aggregate: &Aggregate,
    group: &Column,
) -> Result<Option<TableScan>> {
    let Ok(provider) = source_as_provider(&scan.source) else { return Ok(None) };
    let Some(table) = provider.downcast_ref::<SnapshotTable>() else { return Ok(None) };
    let definition = table.definition();
    let position = |column: &Column| {
        let at = input.schema().maybe_index_of_column(column)?;
        scan.projection.as_ref().map_or(Some(at), |projection| projection.get(at).copied())
    };
    let time = definition.time_column().map(|time| time.id);
    let is_time = |expr: &Expr| match expr {
        Expr::Column(column) => {
            position(column).is_some_and(|at| definition.columns.get(at).map(|column| column.id) == time)
        }
        _ => false,
    };
    let of_latest = |expr: &Expr| reads_latest(expr, group, &is_time);
    let filters_are_exact = scan.filters.iter().all(|filter| is_exact(filter, definition));
    if time.is_none() || scan.fetch.is_some() || !filters_are_exact || !aggregate.aggr_expr.iter().all(of_latest) {
        return Ok(None);
    }
    // Without aggregates, any row of a group will do.
    if aggregate.aggr_expr.is_empty() {
        return Ok(None);
    }
    let Some(table) = position(group).and_then(|at| table.latest_by(at)) else { return Ok(None) };
    Ok(Some(TableScan { source: provider_as_source(Arc::new(table)), ..scan.clone() }))
}

/// Returns whether an aggregate of a group needs only the rows with the group's latest time.
fn reads_latest(expr: &Expr, group: &Column, is_time: &dyn Fn(&Expr) -> bool) -> bool {
    let inner = match expr {
        Expr::Alias(alias) => alias.expr.as_ref(),
        other => other,
    };
    let Expr::AggregateFunction(AggregateFunction { func, params }) = inner else { return false };
    if params.filter.is_some() || params.null_treatment == Some(NullTreatment::IgnoreNulls) {
        return false;
    }
    let is_group = |expr: &Expr| matches!(expr, Expr::Column(column) if column == group);
    let first_sort = params.order_by.iter().find(|sort| !is_group(&sort.expr));
    let sorts =
        |ascending: bool| matches!(first_sort, Some(Sort { expr, asc, .. }) if *asc == ascending && is_time(expr));
    match (func.name(), params.args.as_slice()) {
        ("max", [value]) => is_time(value),
        ("last", [_, time]) => is_time(time) && params.order_by.is_empty(),
        ("first_value", [value]) => sorts(false) || is_group(value),
        ("last_value", [value]) => sorts(true) || is_group(value),
        _ => false,
    }
}
