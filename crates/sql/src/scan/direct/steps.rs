//! The steps of a direct read after its groups were aggregated: the operators of its plan above the aggregate, which
//! are applied to all groups at once.

use crate::scan::text_of_index::TextOfIndex;
use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{SortColumn, filter_record_batch, lexsort_to_indices, take_record_batch};
use arrow::datatypes::SchemaRef;
use atsdb_dialect::text::plan_walk::DynWalk;
use atsdb_engine::ReadSnapshot;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use std::sync::Arc;

type Expression = Arc<dyn PhysicalExpr>;

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum GroupStep {
    Project { expressions: Vec<Expression>, schema: SchemaRef },
    Filter(Expression),
    Sort { keys: Vec<PhysicalSortExpr>, fetch: Option<usize> },
    Limit { skip: usize, fetch: Option<usize> },
}

impl GroupStep {
    /// Returns the steps that an operator consists of, and its input; `None` for an operator that is not supported
    /// here.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<(Vec<Self>, &Arc<dyn ExecutionPlan>)> {
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let expressions = projection.expr().iter().map(|projected| Arc::clone(&projected.expr)).collect();
            return Some((vec![Self::Project { expressions, schema: plan.schema() }], projection.input()));
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let mut steps = vec![Self::Filter(Arc::clone(filter.predicate()))];
            if let Some(columns) = filter.projection() {
                let input = filter.input().schema();
                let column = |at: &usize| -> Expression {
                    Arc::new(datafusion::physical_expr::expressions::Column::new(input.field(*at).name(), *at))
                };
                steps.push(Self::Project { expressions: columns.iter().map(column).collect(), schema: plan.schema() });
            }
            steps.extend(Self::fetch(filter.fetch()));
            return Some((steps, filter.input()));
        }
        if let Some(sort) = plan.downcast_ref::<SortExec>() {
            let keys = sort.expr().iter().cloned().collect();
            return Some((vec![Self::Sort { keys, fetch: sort.fetch() }], sort.input()));
        }
        if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
            return Some((vec![Self::Limit { skip: limit.skip(), fetch: limit.fetch() }], limit.input()));
        }
        // All groups are one partition, so these have nothing to do but to count.
        let is_passed = plan.downcast_ref::<LocalLimitExec>().is_some()
            || plan.downcast_ref::<SortPreservingMergeExec>().is_some()
            || plan.downcast_ref::<CoalescePartitionsExec>().is_some()
            || plan.downcast_ref::<RepartitionExec>().is_some()
            || plan.downcast_ref::<CooperativeExec>().is_some();
        match plan.children().as_slice() {
            [input] if is_passed => Some((Self::fetch(plan.fetch()).into_iter().collect(), input)),
            _ => None,
        }
    }

    fn fetch(fetch: Option<usize>) -> Option<Self> {
        fetch.map(|fetch| Self::Limit { skip: 0, fetch: Some(fetch) })
    }

    /// Returns whether an expression of the step reads strings, which it finds in the dictionaries of a snapshot.
    fn has_strings(&self) -> bool {
        let is_of_index = |inner: &Expression| Ok(text_of_index(inner).is_some());
        let has = |expression: &Expression| expression.dyn_exists(is_of_index).unwrap_or(true);
        match self {
            Self::Project { expressions, .. } => expressions.iter().any(has),
            Self::Filter(predicate) => has(predicate),
            Self::Sort { keys, .. } => keys.iter().any(|key| has(&key.expr)),
            Self::Limit { .. } => false,
        }
    }

    /// The same step over another snapshot, or over none.
    fn over(&self, snapshot: Option<&ReadSnapshot>) -> Result<Self> {
        let over = |expression: &Expression| over(expression, snapshot);
        Ok(match self {
            Self::Project { expressions, schema } => {
                let expressions = expressions.iter().map(over).collect::<Result<_>>()?;
                Self::Project { expressions, schema: Arc::clone(schema) }
            }
            Self::Filter(predicate) => Self::Filter(over(predicate)?),
            Self::Sort { keys, fetch } => {
                let key =
                    |key: &PhysicalSortExpr| Ok(PhysicalSortExpr { expr: over(&key.expr)?, options: key.options });
                Self::Sort { keys: keys.iter().map(key).collect::<Result<_>>()?, fetch: *fetch }
            }
            Self::Limit { .. } => self.clone(),
        })
    }

    fn apply(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let values = |expression: &Expression| expression.evaluate(&rows)?.into_array(rows.num_rows());
        match self {
            Self::Project { expressions, schema } => {
                let columns: Vec<ArrayRef> = expressions.iter().map(values).collect::<Result<_>>()?;
                let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
                Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
            }
            Self::Filter(predicate) => Ok(filter_record_batch(&rows, values(predicate)?.as_boolean())?),
            Self::Sort { keys, fetch } => {
                let column =
                    |key: &PhysicalSortExpr| Ok(SortColumn { values: values(&key.expr)?, options: Some(key.options) });
                let columns: Vec<SortColumn> = keys.iter().map(column).collect::<Result<_>>()?;
                let order: UInt32Array = lexsort_to_indices(&columns, *fetch)?;
                Ok(take_record_batch(&rows, &order)?)
            }
            Self::Limit { skip, fetch } => {
                let skip = (*skip).min(rows.num_rows());
                let left = rows.num_rows() - skip;
                Ok(rows.slice(skip, fetch.unwrap_or(left).min(left)))
            }
        }
    }
}

/// Steps in their order, without a snapshot.
#[derive(Debug, PartialEq)]
pub(super) struct Steps(Vec<KeptStep>);

#[derive(Debug, PartialEq)]
struct KeptStep {
    step: GroupStep,
    has_strings: bool,
}

impl Steps {
    pub(super) fn of(steps: &[GroupStep]) -> Result<Self> {
        let kept = |step: &GroupStep| Ok(KeptStep { step: step.over(None)?, has_strings: step.has_strings() });
        steps.iter().map(kept).collect::<Result<Vec<_>>>().map(Self)
    }

    /// The rows after all steps. Strings come from the snapshot.
    pub(super) fn apply(&self, rows: RecordBatch, snapshot: &ReadSnapshot) -> Result<RecordBatch> {
        self.0.iter().try_fold(rows, |rows, KeptStep { step, has_strings }| {
            if *has_strings { step.over(Some(snapshot))?.apply(rows) } else { step.apply(rows) }
        })
    }
}

/// The call that returns strings, and its function, if an expression is one.
fn text_of_index(expression: &Expression) -> Option<(&ScalarFunctionExpr, &TextOfIndex)> {
    let call = expression.downcast_ref::<ScalarFunctionExpr>()?;
    Some((call, call.fun().inner().downcast_ref::<TextOfIndex>()?))
}

/// An expression whose strings come from another snapshot, or from none.
fn over(expression: &Expression, snapshot: Option<&ReadSnapshot>) -> Result<Expression> {
    let moved = Arc::clone(expression).dyn_transform_up(|expression| {
        let Some((call, text)) = text_of_index(&expression) else { return Ok(Transformed::no(expression)) };
        let function = Arc::new(ScalarUDF::new_from_impl(text.over(snapshot.cloned())));
        let field = call.return_field(&arrow::datatypes::Schema::empty())?;
        let options = Arc::new(call.config_options().clone());
        let moved = ScalarFunctionExpr::new(call.name(), function, call.args().to_vec(), field, options);
        Ok(Transformed::yes(Arc::new(moved) as Expression))
    });
    moved.data()
}
