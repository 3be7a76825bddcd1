//! Finds aggregates whose groups are limited, and not ordered.

use super::operator::FirstGroupsExec;
use crate::operators::plan_methods::{add_before_distribution, with_input, with_replaced_steps};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use std::sync::Arc;

/// The maximum number of groups for which the operator is used.
const GROUPS_MAX: usize = 1_024;

/// Adds the rule. Aggregates that other rules have replaced before are left alone.
pub fn first_groups(optimizer: &mut PhysicalOptimizer) {
    add_before_distribution(optimizer, Arc::new(FirstGroups));
}

#[derive(Debug)]
struct FirstGroups;

impl PhysicalOptimizerRule for FirstGroups {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        with_replaced_steps(plan, with_operator)
    }

    fn name(&self) -> &str {
        "first_groups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with the operator, if it is a limit of the groups of an aggregate.
fn with_operator(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() else { return Ok(None) };
    let group_count = limit.fetch().and_then(|fetch| limit.skip().checked_add(fetch));
    let Some(group_count) = group_count.filter(|count| (1..=GROUPS_MAX).contains(count)) else { return Ok(None) };
    match below(limit.input(), group_count)? {
        Some(input) => with_input(plan, input).map(Some),
        None => Ok(None),
    }
}

/// A plan below a limit, with the operator. `None` if it is not an aggregate, or if the operator would change it.
fn below(plan: &Arc<dyn ExecutionPlan>, group_count: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let has_all_groups =
        plan.is::<ProjectionExec>() || plan.is::<LocalLimitExec>() || plan.is::<CoalescePartitionsExec>();
    let input = match plan.downcast_ref::<AggregateExec>() {
        Some(last) if matches!(last.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned) => {
            below_final(last, group_count)?
        }
        Some(only) if matches!(only.mode(), AggregateMode::Single | AggregateMode::SinglePartitioned) => {
            chosen_rows(only, group_count)?
        }
        None if has_all_groups => match plan.children().as_slice() {
            [input] => below(input, group_count)?,
            _ => None,
        },
        _ => None,
    };
    match input {
        Some(input) => with_input(plan, input).map(Some),
        None => Ok(None),
    }
}

/// The first step of an aggregate, below its last step, with the operator.
fn below_final(last: &AggregateExec, group_count: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let first = last.input().downcast_ref::<AggregateExec>().filter(|first| *first.mode() == AggregateMode::Partial);
    match first.filter(|_| last.limit_options().is_none()) {
        Some(first) => match chosen_rows(first, group_count)? {
            Some(input) => with_input(last.input(), input).map(Some),
            None => Ok(None),
        },
        None => Ok(None),
    }
}

/// The input of an aggregate, with the operator above it.
fn chosen_rows(aggregate: &AggregateExec, group_count: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let group_by = aggregate.group_expr();
    // With a limit of its own, or if rows come in the order of keys, it reads rows only until there are enough groups.
    let reads_all_rows = aggregate.limit_options().is_none() && *aggregate.input_order_mode() == InputOrderMode::Linear;
    if group_by.is_empty() || !group_by.is_single() || !reads_all_rows {
        return Ok(None);
    }
    let keys = group_by.input_exprs();
    let arguments = aggregate.aggr_expr().iter().flat_map(|function| {
        let all = function.all_expressions();
        all.args.into_iter().chain(all.order_by_exprs)
    });
    let conditions = aggregate.filter_expr().iter().flatten().cloned();
    // The aggregate would see other keys than the operator, and a function with an effect is called for each row.
    if keys.iter().cloned().chain(arguments).chain(conditions).any(|expr| is_volatile(&expr)) {
        return Ok(None);
    }
    let input = aggregate.input();
    let schema = input.schema();
    let types = keys.iter().map(|key| key.data_type(&schema)).collect::<Result<Vec<_>>>()?;
    if !types.iter().all(is_equal_by_bytes) {
        return Ok(None);
    }
    Ok(Some(Arc::new(FirstGroupsExec::try_new(Arc::clone(input), keys, group_count)?)))
}

/// Returns whether equal values of a type have equal bytes, and so equal hashes. For numbers with a fraction, -0.0
/// equals 0.0.
fn is_equal_by_bytes(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_temporal()
        || data_type.is_string()
        || data_type.is_binary()
        || *data_type == DataType::Boolean
}
