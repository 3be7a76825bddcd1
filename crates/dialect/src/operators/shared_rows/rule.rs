//! Finds copies of a step whose rows its input does not determine.

use super::node::SharedRows;
use crate::text::plan_walk::DynPlanWalk;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::logical_plan::{Distinct, Extension};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::collections::HashSet;
use std::sync::Arc;

/// The functions whose result depends on the order of rows.
const OF_ORDERED_ROWS: [&str; 12] = [
    "any_value",
    "array_agg",
    "first",
    "first_value",
    "lag",
    "last",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "row_number",
    "string_agg",
];

/// Runs after all rules that copy steps, or that look at them.
#[derive(Debug)]
pub struct ShareRows;

impl AnalyzerRule for ShareRows {
    fn name(&self) -> &str {
        "share_rows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_copies(&plan)? {
            return Ok(plan);
        }
        let mut choices = Vec::new();
        // From the inputs upwards: the copies of a choice that reads another one are equal if those of the other are.
        let plan = plan.dyn_transform_up_with_subqueries(|step| numbered(step, &mut choices))?.data;
        let mut copy_counts = vec![0_usize; choices.len()];
        plan.dyn_apply_with_subqueries(|step| {
            if let Some(shared) = shared_rows(step) {
                copy_counts[shared.number] += 1;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let plan = plan.dyn_transform_up_with_subqueries(|step| {
            let single = shared_rows(&step).filter(|shared| copy_counts[shared.number] == 1);
            Ok(match single.map(|shared| shared.input.as_ref().clone()) {
                Some(input) => Transformed::yes(input),
                None => Transformed::no(step),
            })
        })?;
        plan.data.dyn_transform_up_with_subqueries(with_rounds).data()
    }
}

/// A step that chooses rows, and the leaves of its plan.
struct RowChoice {
    step: LogicalPlan,
    leaves: Vec<LeafIdentity>,
}

/// The input of a step whose rows do not depend on where it is executed.
struct FixedInput {
    leaves: Vec<LeafIdentity>,
    /// Whether the step or one below it has a volatile expression.
    is_volatile: bool,
}

/// The address of what a leaf of a plan points to. Copies of a leaf have the same one, and a leaf that was written
/// again has another.
type LeafIdentity = *const ();

fn leaf(step: &LogicalPlan) -> Option<LeafIdentity> {
    match step {
        LogicalPlan::TableScan(scan) => Some(Arc::as_ptr(&scan.source).cast()),
        LogicalPlan::EmptyRelation(empty) => Some(Arc::as_ptr(&empty.schema).cast()),
        LogicalPlan::Values(values) => Some(Arc::as_ptr(&values.schema).cast()),
        _ => None,
    }
}

/// Returns whether a plan has copies of a step. After the rule has run, there is nothing left to do.
fn has_copies(plan: &LogicalPlan) -> Result<bool> {
    let mut leaves: HashSet<LeafIdentity> = HashSet::new();
    let (mut is_repeated, mut is_done) = (false, false);
    plan.dyn_apply_with_subqueries(|step| {
        is_done |= shared_rows(step).is_some();
        if !is_repeated && let Some(leaf) = leaf(step) {
            is_repeated = !leaves.insert(leaf);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_repeated && !is_done)
}

/// Returns whether a step may return other rows of the same input each time. Ranks of rows that are equal in the order
/// of a window are not considered: the window may return all rows of a large table.
fn chooses_rows(step: &LogicalPlan) -> Result<bool> {
    Ok(has_volatile_expressions(step)?
        || match step {
            LogicalPlan::Limit(_) | LogicalPlan::Distinct(Distinct::On(_)) => true,
            LogicalPlan::Aggregate(aggregate) => aggregate.aggr_expr.iter().any(depends_on_order),
            LogicalPlan::Window(window) => window.window_expr.iter().any(depends_on_order),
            _ => false,
        })
}

fn has_volatile_expressions(step: &LogicalPlan) -> Result<bool> {
    let mut is_volatile = false;
    step.dyn_apply_expressions(|expr| {
        is_volatile |= expr.is_volatile();
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_volatile)
}

/// Returns whether the result of a function depends on the order of the rows that it sees. A window function may name
/// an order.
fn depends_on_order(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => depends_on_order(&alias.expr),
        Expr::AggregateFunction(call) => OF_ORDERED_ROWS.contains(&call.func.name()),
        Expr::WindowFunction(call) => call.params.order_by.is_empty() && OF_ORDERED_ROWS.contains(&call.fun.name()),
        _ => false,
    }
}

fn shared_rows(step: &LogicalPlan) -> Option<&SharedRows> {
    match step {
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref::<SharedRows>(),
        _ => None,
    }
}

/// The step below a [`SharedRows`] with the number of its copies, if it is a choice of rows.
fn numbered(step: LogicalPlan, choices: &mut Vec<RowChoice>) -> Result<Transformed<LogicalPlan>> {
    if !chooses_rows(&step)? {
        return Ok(Transformed::no(step));
    }
    let Some(FixedInput { leaves, is_volatile }) = fixed_input(&step)? else { return Ok(Transformed::no(step)) };
    let is_copy = |choice: &RowChoice| choice.leaves == leaves && choice.step == step;
    let number = choices.iter().position(is_copy).unwrap_or(choices.len());
    if number == choices.len() {
        choices.push(RowChoice { step: step.clone(), leaves });
    }
    Ok(Transformed::yes(extension(SharedRows { input: Arc::new(step), number, is_volatile, has_rounds: false })))
}

fn extension(shared: SharedRows) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(shared) })
}

/// Marks the copies in a recursive term of `WITH RECURSIVE`.
fn with_rounds(step: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::RecursiveQuery(mut recursion) = step else { return Ok(Transformed::no(step)) };
    let term = Arc::unwrap_or_clone(recursion.recursive_term);
    let term = term.dyn_transform_up_with_subqueries(|step| {
        Ok(match shared_rows(&step) {
            Some(shared) => Transformed::yes(extension(SharedRows { has_rounds: true, ..shared.clone() })),
            None => Transformed::no(step),
        })
    })?;
    recursion.recursive_term = Arc::new(term.data);
    Ok(Transformed::yes(LogicalPlan::RecursiveQuery(recursion)))
}

/// The input of a step. `None` if its rows depend on an outer row, or on a table whose rows are replaced while the
/// statement runs.
fn fixed_input(step: &LogicalPlan) -> Result<Option<FixedInput>> {
    let (mut leaves, mut is_volatile, mut is_fixed) = (Vec::new(), false, step.all_out_ref_exprs().is_empty());
    step.dyn_apply_with_subqueries(|step| {
        if let LogicalPlan::TableScan(scan) = step {
            let provider = source_as_provider(&scan.source)?;
            is_fixed &= provider.downcast_ref::<CteWorkTable>().is_none();
            is_fixed &= provider.downcast_ref::<StreamingTable>().is_none();
        }
        leaves.extend(leaf(step));
        is_volatile |= has_volatile_expressions(step)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((is_fixed && !leaves.is_empty()).then_some(FixedInput { leaves, is_volatile }))
}
