//! Chooses the sorts after which most columns are read.

use super::operator::{ColumnSource, FetchRowsExec};
use crate::scan::columns_left::{columns_of, over_left, place_of};
use crate::scan::operator::AtsdbScan;
use atsdb_dialect::operators::plan_methods::with_input;
use atsdb_dialect::text::plan_walk::DynWalk;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of rows that a sort returns. More rows are likely to come from most chunks, and nothing is saved.
const ROWS_MAX: usize = 4_096;
/// The minimum number of columns that are worth a second read.
const FETCHED_MIN: usize = 4;
/// The scan must be left with at most one of this many columns.
const SCANNED_SHARE: usize = 2;

/// Adds the rule when the plan is complete but for the filters that sorts publish. These are then pushed down into the
/// changed plan.
pub(crate) fn fetch_late_columns(optimizer: &mut PhysicalOptimizer) {
    if let Some(at) = optimizer.rules.iter().position(|rule| rule.name() == "EnsureCooperative") {
        optimizer.rules.insert(at, Arc::new(LateColumns));
    }
}

#[derive(Debug)]
struct LateColumns;

impl PhysicalOptimizerRule for LateColumns {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.dyn_transform_down(|plan| match replacement(&plan)? {
            Some(replacement) => Ok(Transformed::yes(Arc::new(replacement) as Arc<dyn ExecutionPlan>)),
            None => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "late_columns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same rows, with some columns read after the sort. `None` if the plan is no sort of few rows of a table, or if
/// too little would be saved.
fn replacement(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<FetchRowsExec>> {
    let Some(sort) = sort_of(plan) else { return Ok(None) };
    let Some(keys) = keys_of(plan) else { return Ok(None) };
    let Some(fetch) = sort.fetch().filter(|fetch| *fetch <= ROWS_MAX) else { return Ok(None) };
    let Some(scan) = scan_below(sort.input()) else { return Ok(None) };
    let drops_rows = scan.scan().row_count_max() > fetch as u64;
    if !drops_rows || !scan.reads_whole_chunks() || plan.output_partitioning().partition_count() != 1 {
        return Ok(None);
    }
    let (mut kept, mut fetched, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..plan.schema().fields().len() {
        let Some(sorted) = sorted_column(plan, at) else { return Ok(None) };
        sources.push(match scan_column(sort.input(), sorted).filter(|_| !keys.contains(&sorted)) {
            Some(column) => {
                fetched.push(column);
                ColumnSource::Fetched(fetched.len() - 1)
            }
            None => {
                kept.push(at);
                ColumnSource::Input(kept.len() - 1)
            }
        });
    }
    if fetched.len() < FETCHED_MIN {
        return Ok(None);
    }
    match located_sort(plan, &kept)? {
        Some(input) => FetchRowsExec::new(plan, input, scan, &fetched, sources).map(Some),
        None => Ok(None),
    }
}

/// The sort whose rows a plan returns, all or some of them.
fn sort_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&SortExec> {
    plan.downcast_ref::<SortExec>().or_else(|| sort_of(input_of_sorted(plan)?))
}

/// The input of an operator that returns the rows of its input in their order.
fn input_of_sorted(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        return Some(limit.input());
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return Some(projection.input());
    }
    plan.downcast_ref::<SortPreservingMergeExec>().map(SortPreservingMergeExec::input)
}

/// The position in the sort's input of a column of a plan over a [sort](sort_of). `None` if it is computed above.
fn sorted_column(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<usize> {
    if plan.is::<SortExec>() {
        return Some(column);
    }
    let column = match plan.downcast_ref::<ProjectionExec>() {
        Some(projection) => projected_column(projection, column)?,
        None => column,
    };
    sorted_column(input_of_sorted(plan)?, column)
}

/// The column of its input that a column of a projection is. `None` if it is computed.
fn projected_column(projection: &ProjectionExec, column: usize) -> Option<usize> {
    Some(projection.expr().get(column)?.expr.downcast_ref::<Column>()?.index())
}

/// The columns of the sort's input by which the rows of a plan over a [sort](sort_of) are ordered. `None` if an order
/// is by what is computed above the sort.
fn keys_of(plan: &Arc<dyn ExecutionPlan>) -> Option<BTreeSet<usize>> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return Some(columns_of(sort.expr().iter().map(|key| &key.expr)));
    }
    let mut keys = keys_of(input_of_sorted(plan)?)?;
    for column in own_keys(plan) {
        keys.insert(sorted_column(plan, column)?);
    }
    Some(keys)
}

/// The columns by which an operator itself compares rows.
fn own_keys(plan: &Arc<dyn ExecutionPlan>) -> BTreeSet<usize> {
    let order = match (plan.downcast_ref::<SortExec>(), plan.downcast_ref::<SortPreservingMergeExec>()) {
        (Some(sort), _) => sort.expr(),
        (_, Some(merge)) => merge.expr(),
        _ => return BTreeSet::new(),
    };
    columns_of(order.iter().map(|key| &key.expr))
}

/// The scan at the end of a plan's single line of inputs.
fn scan_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&AtsdbScan> {
    if let Some(scan) = plan.downcast_ref::<AtsdbScan>() {
        return Some(scan);
    }
    let [input] = <[_; 1]>::try_from(plan.children()).ok()?;
    scan_below(input)
}

/// The position in the scan of a column of a plan. `None` if it is computed.
fn scan_column(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<usize> {
    if plan.is::<AtsdbScan>() {
        return Some(column);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return scan_column(filter.input(), filter_input(filter, column));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return scan_column(projection.input(), projected_column(projection, column)?);
    }
    exchange_input(plan).and_then(|input| scan_column(input, column))
}

/// The position in the input of a column that a filter returns.
fn filter_input(filter: &FilterExec, column: usize) -> usize {
    filter.projection().as_ref().map_or(column, |projection| projection[column])
}

/// The input of an operator that only hands rows to other threads.
fn exchange_input(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if let Some(repartition) = plan.downcast_ref::<RepartitionExec>() {
        let is_plain = matches!(repartition.partitioning(), Partitioning::RoundRobinBatch(_));
        return is_plain.then(|| repartition.input());
    }
    plan.downcast_ref::<CoalescePartitionsExec>().map(CoalescePartitionsExec::input)
}

/// A plan whose rows are those of a [sort](sort_of), with the columns `kept`, and after them the locations of the rows.
fn located_sort(plan: &Arc<dyn ExecutionPlan>, kept: &[usize]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        let Some(input) = located_sort(limit.input(), kept)? else { return Ok(None) };
        return Ok(Some(Arc::new(GlobalLimitExec::new(input, limit.skip(), limit.fetch()))));
    }
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        let Some(input) = located_sort(merge.input(), kept)? else { return Ok(None) };
        let order = order_over(merge.expr(), kept)?;
        // A sort leaves out keys that its input has shown to be constant. The new input must show it, too.
        if !input.equivalence_properties().ordering_satisfy(order.clone())? {
            return Ok(None);
        }
        return Ok(Some(Arc::new(SortPreservingMergeExec::new(order, input).with_fetch(merge.fetch()))));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return located_sorted_projection(projection, kept);
    }
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(input) = located(sort.input(), kept)? else { return Ok(None) };
    let sorted = SortExec::new(order_over(sort.expr(), kept)?, input)
        .with_preserve_partitioning(sort.preserve_partitioning())
        .with_fetch(sort.fetch());
    Ok(Some(Arc::new(sorted)))
}

/// The plain columns `kept` of a projection over a [sort](sort_of), and after them the locations of the rows.
fn located_sorted_projection(projection: &ProjectionExec, kept: &[usize]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut needed = own_keys_below(projection.input());
    for column in kept {
        let Some(inner) = projected_column(projection, *column) else { return Ok(None) };
        needed.insert(inner);
    }
    let needed: Vec<usize> = needed.into_iter().collect();
    let Some(input) = located_sort(projection.input(), &needed)? else { return Ok(None) };
    with_locations(projection, kept, &needed, input).map(Some)
}

/// The columns by which the operators down to the next projection compare rows.
fn own_keys_below(plan: &Arc<dyn ExecutionPlan>) -> BTreeSet<usize> {
    let mut keys = own_keys(plan);
    if let Some(input) = input_of_sorted(plan).filter(|_| !plan.is::<ProjectionExec>()) {
        keys.append(&mut own_keys_below(input));
    }
    keys
}

/// A plan with the same rows, the columns `kept` in this order, and after them the locations of the rows.
fn located(plan: &Arc<dyn ExecutionPlan>, kept: &[usize]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<AtsdbScan>() {
        let is_narrow = kept.len() * SCANNED_SHARE <= scan.columns().len();
        return if is_narrow { Ok(Some(Arc::new(scan.located(kept)?))) } else { Ok(None) };
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return located_filter(filter, kept);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return located_projection(projection, kept);
    }
    let Some(input) = exchange_input(plan) else { return Ok(None) };
    let Some(input) = located(input, kept)? else { return Ok(None) };
    with_input(plan, input).map(Some)
}

fn located_filter(filter: &FilterExec, kept: &[usize]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if filter.fetch().is_some() {
        return Ok(None);
    }
    let returned: Vec<usize> = kept.iter().map(|column| filter_input(filter, *column)).collect();
    let mut needed = columns_of([filter.predicate()]);
    needed.extend(&returned);
    let needed: Vec<usize> = needed.into_iter().collect();
    let Some(input) = located(filter.input(), &needed)? else { return Ok(None) };
    let returned = returned.iter().map(|column| place_of(*column, &needed));
    let locations = (needed.len()..needed.len() + 2).map(Ok);
    let filtered = FilterExecBuilder::new(over_left(filter.predicate(), &needed)?, input)
        .with_default_selectivity(filter.default_selectivity())
        .with_batch_size(filter.batch_size())
        .apply_projection(Some(returned.chain(locations).collect::<Result<_>>()?))?
        .build()?;
    Ok(Some(Arc::new(filtered)))
}

fn located_projection(projection: &ProjectionExec, kept: &[usize]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let items = kept.iter().map(|column| &projection.expr()[*column].expr);
    let needed: Vec<usize> = columns_of(items).into_iter().collect();
    match located(projection.input(), &needed)? {
        Some(input) => with_locations(projection, kept, &needed, input).map(Some),
        None => Ok(None),
    }
}

/// A projection with only the columns `kept`, and after them the locations of the rows, over an input with the columns
/// `needed` and the locations.
fn with_locations(
    projection: &ProjectionExec,
    kept: &[usize],
    needed: &[usize],
    input: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut exprs = Vec::with_capacity(kept.len() + 2);
    for column in kept {
        let item = &projection.expr()[*column];
        exprs.push(ProjectionExpr { expr: over_left(&item.expr, needed)?, alias: item.alias.clone() });
    }
    for (at, field) in input.schema().fields().iter().enumerate().skip(needed.len()) {
        exprs.push(ProjectionExpr { expr: Arc::new(Column::new(field.name(), at)), alias: field.name().clone() });
    }
    Ok(Arc::new(ProjectionExec::try_new(exprs, input)?))
}

/// An order over the columns that are left.
fn order_over(order: &LexOrdering, left: &[usize]) -> Result<LexOrdering> {
    let mut keys = Vec::with_capacity(order.len());
    for key in order.iter() {
        keys.push(PhysicalSortExpr::new(over_left(&key.expr, left)?, key.options));
    }
    match LexOrdering::new(keys) {
        Some(order) => Ok(order),
        None => internal_err!("a sort without keys"),
    }
}
