//! Grouping by a mapped column groups by its indices, which are equal if and only if the strings are. The strings are
//! looked up for the groups, not for the rows.

use super::provider::SnapshotTable;
use super::text_of_index::TextOfIndex;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::logical_plan::{
    Aggregate, Filter, Projection, SubqueryAlias, TableScan, TableScanBuilder,
};
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// The rule runs after conditions have been moved to the tables, and after the rules that look for a mapped column
/// among the groups.
#[derive(Debug)]
pub(crate) struct GroupByIndex;

impl OptimizerRule for GroupByIndex {
    fn name(&self) -> &str {
        "group_by_index"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        if aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
            return Ok(Transformed::no(plan));
        }
        match by_indices(aggregate)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// A mapped column that a plan also returns as indices.
struct IndexedColumn {
    /// The plan, which returns the indices in addition to its previous columns.
    plan: LogicalPlan,
    /// The indices.
    column: Column,
    /// The function that returns their strings.
    text: Arc<ScalarUDF>,
}

fn by_indices(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let mut input = LogicalPlan::clone(&aggregate.input);
    let mut groups = aggregate.group_expr.clone();
    let mut answer = Vec::with_capacity(aggregate.schema.fields().len());
    let mut has_changed = false;
    for (at, (qualifier, field)) in aggregate.schema.iter().enumerate() {
        let indexed = match groups.get(at).cloned().map(Expr::unalias) {
            Some(Expr::Column(column)) => with_index(&input, &column)?,
            _ => None,
        };
        answer.push(match indexed {
            Some(IndexedColumn { plan, column, text }) => {
                has_changed = true;
                input = plan;
                groups[at] = Expr::Column(column.clone());
                let text = ScalarFunction::new_udf(text, vec![Expr::Column(column)]);
                Expr::ScalarFunction(text).alias_qualified(qualifier.cloned(), field.name())
            }
            None => Expr::Column(Column::from((qualifier, field))),
        });
    }
    if !has_changed {
        return Ok(None);
    }
    let aggregate = Aggregate::try_new(Arc::new(input), groups, aggregate.aggr_expr.clone())?;
    Projection::try_new(answer, Arc::new(LogicalPlan::Aggregate(aggregate)))
        .map(|plan| Some(LogicalPlan::Projection(plan)))
}

/// Adds the indices of a column to a plan; `None` if the column is not a mapped column of a table.
fn with_index(plan: &LogicalPlan, column: &Column) -> Result<Option<IndexedColumn>> {
    match plan {
        LogicalPlan::TableScan(scan) => of_scan(scan, column),
        LogicalPlan::Filter(filter) => {
            let Some(below) = with_index(&filter.input, column)? else { return Ok(None) };
            let plan = LogicalPlan::Filter(Filter::try_new(filter.predicate.clone(), Arc::new(below.plan))?);
            Ok(Some(IndexedColumn { plan, ..below }))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let Some(at) = alias.schema.maybe_index_of_column(column) else { return Ok(None) };
            let inner = Column::from(alias.input.schema().qualified_field(at));
            let Some(below) = with_index(&alias.input, &inner)? else { return Ok(None) };
            let column = Column::new(Some(alias.alias.clone()), below.column.name);
            let plan = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(below.plan), alias.alias.clone())?);
            Ok(Some(IndexedColumn { plan, column, text: below.text }))
        }
        LogicalPlan::Projection(projection) => {
            let Some(at) = projection.schema.maybe_index_of_column(column) else { return Ok(None) };
            let Expr::Column(inner) = projection.expr[at].clone().unalias() else { return Ok(None) };
            let Some(below) = with_index(&projection.input, &inner)? else { return Ok(None) };
            let exprs = projection.expr.iter().cloned().chain([Expr::Column(below.column.clone())]).collect();
            let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(below.plan))?);
            Ok(Some(IndexedColumn { plan, ..below }))
        }
        _ => Ok(None),
    }
}

fn of_scan(scan: &TableScan, column: &Column) -> Result<Option<IndexedColumn>> {
    let Ok(provider) = source_as_provider(&scan.source) else { return Ok(None) };
    let Some(table) = provider.downcast_ref::<SnapshotTable>() else { return Ok(None) };
    let Some(at) = scan.projected_schema.maybe_index_of_column(column) else { return Ok(None) };
    let position = scan.projection.as_ref().map_or(Some(at), |projection| projection.get(at).copied());
    let Some(position) = position else { return Ok(None) };
    let Some(with_index) = table.with_index(position) else { return Ok(None) };
    let (snapshot, of) = table.source();
    let text = TextOfIndex::new(snapshot.cloned(), of.clone(), &of.definition.columns[position]);
    let source = provider_as_source(Arc::new(with_index));
    let index = source.schema().fields().len() - 1;
    let name = source.schema().field(index).name().clone();
    let projection = match &scan.projection {
        Some(projection) => projection.iter().copied().chain([index]).collect(),
        None => (0..=index).collect(),
    };
    let scan = TableScanBuilder::new(scan.table_name.clone(), source)
        .with_projection(Some(projection))
        .with_filters(scan.filters.clone())
        .with_fetch(scan.fetch)
        .build()?;
    let column = Column::new(Some(scan.table_name.clone()), name);
    let text = Arc::new(ScalarUDF::new_from_impl(text));
    Ok(Some(IndexedColumn { plan: LogicalPlan::TableScan(scan), column, text }))
}
