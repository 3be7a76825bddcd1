//! Direct reads of groups: an aggregate of the rows that satisfy plain conditions, and what follows it, such as an
//! order. How the rows are aggregated is learned from a plan that was made for some values of the parameters.

use super::conditions::OpenConditions;
use super::skips::Skips;
use super::steps::{GroupStep, Steps};
use super::watch::Watch;
use crate::scan::aggregate::{AggregateExec, Aggregation};
use crate::scan::provider::SnapshotTable;
use crate::scan::pushdown::Pushdown;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use atsdb_core::parallel::parallel_map;
use atsdb_core::{Error, ErrorKind, Result, Table, TableDefinition, TableId};
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::plan_walk::{DynPlanWalk, DynWalk};
use atsdb_engine::{Groups, Predicate, ReadSnapshot, Scan};
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The maximum number of chunks to read. If there are more, a plan is executed: the cost of planning does not matter
/// then.
const CHUNKS_MAX: usize = 64;

/// The number of times that a plan is executed at once after there were more chunks to read.
const SKIPS: u32 = 100;

/// The maximum number of rows that one thread reads. If there are more, several threads read them.
const ROWS_OF_A_THREAD: u64 = 1 << 18;

/// The maximum memory of the groups in bytes. If they need more, a plan is executed, which accounts for it and can
/// write to disk.
const MEMORY_MAX: usize = 16 << 20;

/// A read of groups.
#[derive(Debug)]
pub(crate) struct DirectGroups {
    form: GroupsForm,
    /// The columns that are read, by position, and which of them as indices.
    columns: Vec<usize>,
    as_indices: Vec<bool>,
    aggregation: Aggregation,
    /// The number of threads on which the plan would read. Floating-point sums depend on it.
    threads: usize,
    steps: Steps,
    schema: SchemaRef,
    /// Whether the groups once needed too much memory. Then a plan is executed at once.
    needs_plan: AtomicBool,
    /// The next reads that are not tried, because the same rows were in too many chunks.
    skips: Skips,
}

/// The table and the conditions of such a query, from its optimized plan. The conditions may contain parameters.
#[derive(Debug)]
pub(crate) struct GroupsForm {
    table: TableId,
    conditions: OpenConditions,
}

impl GroupsForm {
    /// The form of an optimized plan; `None` if it is another query, or has parameters elsewhere than in conditions.
    pub(crate) fn of(plan: &LogicalPlan) -> Option<Self> {
        let (mut plan, mut is_below, mut conditions) = (plan, false, Vec::new());
        loop {
            let has_parameters = match plan {
                LogicalPlan::Filter(_) | LogicalPlan::TableScan(_) if is_below => false,
                plan => has_parameters(plan),
            };
            if has_parameters {
                return None;
            }
            plan = match plan {
                LogicalPlan::Projection(projection) if conditions.is_empty() => &projection.input,
                LogicalPlan::SubqueryAlias(alias) if conditions.is_empty() => &alias.input,
                LogicalPlan::Sort(sort) if !is_below => &sort.input,
                LogicalPlan::Limit(limit) if !is_below => &limit.input,
                LogicalPlan::Filter(filter) if !is_below => &filter.input,
                LogicalPlan::Aggregate(aggregate) if !is_below => {
                    is_below = true;
                    &aggregate.input
                }
                LogicalPlan::Filter(filter) => {
                    conditions.extend(split_conjunction(&filter.predicate).into_iter().cloned());
                    &filter.input
                }
                LogicalPlan::TableScan(scan) if is_below && scan.fetch.is_none() => {
                    let provider = source_as_provider(&scan.source).ok()?;
                    let table = provider.downcast_ref::<SnapshotTable>().filter(|table| table.is_whole())?;
                    conditions.extend(scan.filters.iter().flat_map(split_conjunction).cloned());
                    let conditions = OpenConditions::new(conditions);
                    return Some(Self { table: table.source().1.id, conditions });
                }
                _ => return None,
            };
        }
    }
}

fn has_parameters(plan: &LogicalPlan) -> bool {
    let mut has_some = false;
    let _ = plan.dyn_apply_expressions(|expr| {
        has_some |= expr.dyn_exists(|expr| Ok(matches!(expr, Expr::Placeholder(_))))?;
        Ok(TreeNodeRecursion::Continue)
    });
    has_some
}

impl DirectGroups {
    /// The read for a form and the plan, on some threads, for some values of its parameters. `None` if the plan does
    /// something else than is supported here.
    pub(crate) fn of(
        form: GroupsForm,
        plan: &Arc<dyn ExecutionPlan>,
        threads: usize,
        parameters: &Parameters,
        headings: &Headings,
    ) -> Option<Self> {
        let schema = headings.apply(&plan.schema());
        let (mut plan, mut steps) = (plan, Vec::new());
        let aggregate = loop {
            if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
                break aggregate;
            }
            let (own, input) = GroupStep::of(plan)?;
            steps.extend(own.into_iter().rev());
            plan = input;
        };
        steps.reverse();
        let (scan, aggregation) = aggregate.parts();
        let definition = &scan.table().definition;
        let Pushdown { range, predicates } = form.conditions.pushdown(parameters, definition).ok()??;
        let request = scan.scan().request().clone();
        let is_of_form =
            scan.table().id == form.table && request.range == range && are_same(&request.predicates, &predicates);
        let columns = scan.columns().to_vec();
        let as_indices = (0..columns.len()).map(|column| scan.is_index(column)).collect();
        let steps = Steps::of(&steps).ok()?;
        let aggregation = aggregation.clone();
        let (needs_plan, skips) = (AtomicBool::new(false), Skips::default());
        is_of_form.then_some(Self { form, columns, as_indices, aggregation, threads, steps, schema, needs_plan, skips })
    }

    /// The groups of the answer; `None` if a plan is needed after all.
    pub(super) fn read(
        &self,
        table: &Table,
        snapshot: &ReadSnapshot,
        parameters: &Parameters,
        watch: Watch<'_>,
    ) -> Result<Option<Vec<RecordBatch>>> {
        if self.needs_plan.load(Ordering::Relaxed) || self.skips.skip_next() {
            return Ok(None);
        }
        let scan = self.form.conditions.scan(parameters, table, snapshot, &self.columns)?;
        let Some(scan) = scan else { return Ok(None) };
        if scan.chunks().len() > CHUNKS_MAX {
            // With other values of parameters there may be fewer.
            if !self.form.conditions.have_parameters() {
                self.skips.begin(SKIPS);
            }
            return Ok(None);
        }
        let scan = scan.with_indices(self.as_indices.clone())?;
        // The rows may have changed since the read was planned.
        if !self.aggregation.is_valid_for(&scan) {
            return Ok(None);
        }
        let Some(mut groups) = self.groups(&scan, watch)? else { return Ok(None) };
        let answer = || -> datafusion::common::Result<RecordBatch> {
            self.aggregation.finish(&mut groups)?;
            let rows = self.aggregation.results(&groups, 0..groups.len())?;
            self.steps.apply(rows, snapshot)
        };
        // A plan is executed where a panic of a function becomes an error.
        let answer = match catch_unwind(AssertUnwindSafe(answer)) {
            Err(_) | Ok(Err(DataFusionError::ResourcesExhausted(_))) => return Ok(None),
            Ok(answer) => answer.map_err(from_datafusion)?,
        };
        let options = RecordBatchOptions::new().with_row_count(Some(answer.num_rows()));
        let named = RecordBatch::try_new_with_options(Arc::clone(&self.schema), answer.columns().to_vec(), &options)?;
        Ok(Some(if named.num_rows() > 0 { vec![named] } else { Vec::new() }))
    }

    /// The groups of all chunks, as this many threads would form them; `None` if they need much memory.
    fn groups(&self, scan: &Scan, watch: Watch<'_>) -> Result<Option<Groups>> {
        let none = self.aggregation.no_groups(scan).map_err(from_datafusion)?;
        let threads = self.threads.min(scan.chunks().len());
        let at_once = if scan.row_count_max() > ROWS_OF_A_THREAD { threads } else { 1 };
        let part = |first| {
            let mut part = none.clone();
            for position in (first..scan.chunks().len()).step_by(threads) {
                watch()?;
                scan.add_to(&mut part, position)?;
                if part.memory_bytes() > MEMORY_MAX / at_once {
                    return Err(Error::new(ErrorKind::Resources, "the groups need much memory"));
                }
            }
            Ok(part)
        };
        let all = || {
            let mut parts = parallel_map(at_once, 0..threads, part)?.into_iter();
            let mut all = parts.next().unwrap_or_else(|| none.clone());
            for part in parts {
                all.merge(&part)?;
            }
            Ok(all)
        };
        match all() {
            Err(error) if Error::kind(&error) == ErrorKind::Resources => {
                self.needs_plan.store(true, Ordering::Relaxed);
                Ok(None)
            }
            groups => groups.map(Some),
        }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn table_id(&self) -> TableId {
        self.form.table
    }

    /// Returns whether this read, with values for its parameters, is the same as another one without parameters. Both
    /// are of statements that differ only in these values, and all parameters are in the conditions.
    pub(super) fn is_same(&self, parameters: &Parameters, other: &Self, definition: &TableDefinition) -> bool {
        (self.form.table, &self.columns, &self.as_indices, &self.schema)
            == (other.form.table, &other.columns, &other.as_indices, &other.schema)
            && self.aggregation == other.aggregation
            && self.steps == other.steps
            && self.form.conditions.is_same(parameters, &other.form.conditions, definition)
    }
}

fn are_same(some: &[Predicate], others: &[Predicate]) -> bool {
    some.len() == others.len() && others.iter().all(|other| some.contains(other))
}
