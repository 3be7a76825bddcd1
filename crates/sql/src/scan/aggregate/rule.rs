//! Chooses the aggregates of a plan that the operator replaces.

use super::bucket::bucket_of_call;
use super::call::calls_of;
use super::operator::{AggregateExec as ChunkAggregateExec, Aggregation, FirstGroups};
use crate::scan::operator::AtsdbScan;
use atsdb_dialect::operators::plan_methods::{add_before_distribution, with_input};
use atsdb_dialect::text::plan_walk::DynWalk;
use atsdb_engine::GroupKey;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum number of groups that are chosen for a sort. If it needs more, all are returned to it.
const FIRST_MAX: usize = 128;

/// Adds the rule.
pub(crate) fn aggregate_chunks(optimizer: &mut PhysicalOptimizer) {
    add_before_distribution(optimizer, Arc::new(AggregateChunks));
}

#[derive(Debug)]
struct AggregateChunks;

impl PhysicalOptimizerRule for AggregateChunks {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let limited = limited_aggregates(&plan)?;
        plan.dyn_transform_up(|plan| {
            if let Some(replacement) = replacement(&plan, limited.contains(&address(&plan))) {
                return Ok(Transformed::yes(Arc::new(replacement) as Arc<dyn ExecutionPlan>));
            }
            match first_groups_of(&plan)? {
                Some(plan) => Ok(Transformed::yes(plan)),
                None => Ok(Transformed::no(plan)),
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "aggregate_chunks"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn address(plan: &Arc<dyn ExecutionPlan>) -> *const () {
    Arc::as_ptr(plan).cast()
}

/// The aggregates whose groups are sorted and limited. If they are sorted by their only key, or by their smallest or
/// largest value, DataFusion keeps only the groups that are needed.
fn limited_aggregates(plan: &Arc<dyn ExecutionPlan>) -> Result<HashSet<*const ()>> {
    let mut limited = HashSet::new();
    plan.dyn_apply(|plan| {
        if let Some(sort) = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_some()) {
            let mut input = sort.input();
            while let Some(projection) = input.downcast_ref::<ProjectionExec>() {
                input = projection.input();
            }
            limited.insert(address(input));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(limited)
}

/// Replaces the steps of an aggregate by one operator.
fn replacement(plan: &Arc<dyn ExecutionPlan>, is_limited: bool) -> Option<ChunkAggregateExec> {
    let last = plan.downcast_ref::<AggregateExec>()?;
    let first = match last.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned => last,
        AggregateMode::Final | AggregateMode::FinalPartitioned => {
            last.input().downcast_ref::<AggregateExec>().filter(|first| *first.mode() == AggregateMode::Partial)?
        }
        AggregateMode::Partial | AggregateMode::PartialReduce => return None,
    };
    // With a limit, DataFusion reads rows only until there are enough groups.
    let is_plain = first.group_expr().is_single()
        && first.filter_expr().iter().all(Option::is_none)
        && first.limit_options().is_none()
        && last.limit_options().is_none();
    if !is_plain {
        return None;
    }
    let input = Input::of(first.input())?;
    let group_exprs = first.group_expr().expr().iter();
    let key_exprs = group_exprs.map(|(expr, _)| input.resolve(expr)).collect::<Option<Vec<_>>>()?;
    let keys: Vec<GroupKey> = key_exprs.iter().map(|expr| key_of(expr, input.scan)).collect::<Option<_>>()?;
    let (calls, measures) = calls_of(first.aggr_expr(), |expr| input.resolve(expr), input.scan)?;
    let is_mapped = |key: &GroupKey| matches!(key, GroupKey::Values { column } if input.scan.is_index(*column));
    let are_extremes = first.aggr_expr().iter().all(|function| matches!(function.fun().name(), "min" | "max"));
    if is_limited && keys.len() == 1 && calls.len() <= 1 && are_extremes && !is_mapped(&keys[0]) {
        return None;
    }
    // The engine must be able to group by these types.
    input.scan.scan().groups(&keys, &measures)?;
    let aggregation = Aggregation { keys, key_exprs, measures, calls, schema: plan.schema() };
    if !aggregation.is_valid_for(&input.scan.scan()) {
        return None;
    }
    Some(ChunkAggregateExec::new(Arc::clone(plan), input.scan, aggregation))
}

/// A sort of few of the operator's groups, which then returns little more than these. `None` if it is something else.
fn first_groups_of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(count) = sort.fetch().filter(|count| *count <= FIRST_MAX) else { return Ok(None) };
    let mut keys = sort.expr().iter();
    // Groups with equal keys are interchangeable only if there are no further keys.
    let (Some(key), None) = (keys.next(), keys.next()) else { return Ok(None) };
    let Some(column) = key.expr.downcast_ref::<Column>() else { return Ok(None) };
    let first = FirstGroups { column: column.index(), options: key.options, count };
    match with_first(sort.input(), first)? {
        Some(input) => with_input(plan, input).map(Some),
        None => Ok(None),
    }
}

/// The operator, or projections of it, with the groups that a sort needs.
fn with_first(plan: &Arc<dyn ExecutionPlan>, first: FirstGroups) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(aggregate) = plan.downcast_ref::<ChunkAggregateExec>() {
        return Ok(Some(Arc::new(aggregate.with_first(first))));
    }
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let inner = projection.expr().get(first.column).and_then(|item| item.expr.downcast_ref::<Column>());
    let Some(inner) = inner else { return Ok(None) };
    match with_first(projection.input(), FirstGroups { column: inner.index(), ..first })? {
        Some(input) => with_input(plan, input).map(Some),
        None => Ok(None),
    }
}

/// A scan below projections.
struct Input<'a> {
    scan: &'a AtsdbScan,
    /// The projections from the aggregate down.
    projections: Vec<&'a ProjectionExec>,
}

impl<'a> Input<'a> {
    fn of(mut plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let mut projections = Vec::new();
        while let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            projections.push(projection);
            plan = projection.input();
        }
        let scan = plan.downcast_ref::<AtsdbScan>().filter(|scan| scan.reads_whole_chunks())?;
        Some(Self { scan, projections })
    }

    /// Translates an expression over the aggregate's input to one over the scan.
    fn resolve(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        let mut expr = Arc::clone(expr);
        for projection in &self.projections {
            let resolved = expr.dyn_transform_up(|expr| {
                let inner = expr.downcast_ref::<Column>().and_then(|column| projection.expr().get(column.index()));
                Ok(match inner {
                    Some(inner) => Transformed::yes(Arc::clone(&inner.expr)),
                    None => Transformed::no(expr),
                })
            });
            expr = resolved.data().ok()?;
        }
        Some(expr)
    }
}

fn key_of(expr: &Arc<dyn PhysicalExpr>, scan: &AtsdbScan) -> Option<GroupKey> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        return Some(GroupKey::Values { column: column.index() });
    }
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let times = call.args().iter().find_map(|argument| argument.downcast_ref::<Column>())?;
    let column_type = scan.schema().field(times.index()).data_type().clone();
    // The bucket must have the column's type, because that is the type of the result's keys.
    (call.return_type() == &column_type).then_some(())?;
    Some(GroupKey::Bucket { column: times.index(), bucket_of: bucket_of_call(call, &column_type)? })
}
