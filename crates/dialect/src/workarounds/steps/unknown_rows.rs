//! A step that passes its input's rows on, and hides properties of them: by which keys they are sorted or distributed,
//! and which columns are constant or equal.
//!
//! Part of [`grouping_sets`](super::grouping_sets), [`joined_rows`](super::joined_rows) and
//! [`sliding_counts`](super::sliding_counts).

use crate::operators::plan_methods::{only_input, plan_methods};
use crate::text::plan_walk::DynWalk;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::equivalence::{EquivalenceClass, EquivalenceGroup};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
};
use std::fmt;
use std::sync::Arc;

/// Puts steps into plans while DataFusion plans sorts and distributions. Steps that turn out not to change anything are
/// removed afterwards.
pub(super) fn know_less(optimizer: &mut PhysicalOptimizer, place: PlaceSteps) {
    for rule in &mut optimizer.rules {
        if rule.name() == "EnsureRequirements" {
            *rule = Arc::new(WithUnknownRows { rule: Arc::clone(rule), place });
        }
    }
}

/// Puts steps above or below one step of a plan.
pub(super) type PlaceSteps = fn(Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>>;

/// A rule that knows less of some rows.
#[derive(Debug)]
struct WithUnknownRows {
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
    place: PlaceSteps,
}

impl PhysicalOptimizerRule for WithUnknownRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let prepared = plan.dyn_transform_up(self.place)?;
        let has_steps = prepared.transformed;
        let optimized = self.rule.optimize(prepared.data, options)?;
        if !has_steps {
            return Ok(optimized);
        }
        let needed = optimized.dyn_transform_up(|plan| match UnknownRowsExec::superfluous(plan.as_ref()) {
            Some(input) => Ok(Transformed::yes(input)),
            None => Ok(Transformed::no(plan)),
        });
        needed.data()
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// The properties of its rows that a step hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HiddenProperties {
    /// Whether they are sorted by the columns at these positions.
    OrderBy(Vec<usize>),
    /// The keys by which they are sorted.
    Order,
    /// The order, the constant columns and the equal expressions. Equal columns stay known.
    OrderAndConstants,
    /// The same, the equal columns, and the distribution of rows over partitions.
    Everything,
}

impl HiddenProperties {
    /// Returns whether nothing of it is known of an input anyway.
    fn changes_nothing(&self, input: &dyn ExecutionPlan) -> bool {
        let known = &input.properties().eq_properties;
        let is_plain = |class: &EquivalenceClass| class.iter().all(|expr| expr.is::<Column>());
        let has_constants = || !known.constants().is_empty() || !known.eq_group().iter().all(is_plain);
        match self {
            Self::OrderBy(columns) => known.oeq_class().iter().flatten().all(|key| !refers_to(&key.expr, columns)),
            Self::Order => known.oeq_class().is_empty(),
            Self::OrderAndConstants => known.oeq_class().is_empty() && !has_constants(),
            Self::Everything => false,
        }
    }

    /// The properties of an input's rows that stay known.
    fn known(&self, input: &dyn ExecutionPlan) -> Result<PlanProperties> {
        let of_input = input.properties();
        let mut equivalences = EquivalenceProperties::new(input.schema());
        match self {
            Self::OrderBy(columns) => {
                equivalences.add_equivalence_group(of_input.eq_properties.eq_group().clone())?;
                // Rows are sorted by the first keys of an order, too.
                let first_keys = |order: &LexOrdering| -> Vec<_> {
                    order.iter().take_while(|key| !refers_to(&key.expr, columns)).cloned().collect()
                };
                equivalences.add_orderings(of_input.eq_properties.oeq_class().iter().map(first_keys));
            }
            Self::Order => equivalences.add_equivalence_group(of_input.eq_properties.eq_group().clone())?,
            Self::OrderAndConstants => {
                let columns = |class: &EquivalenceClass| {
                    EquivalenceClass::new(class.iter().filter(|expr| expr.is::<Column>()).map(Arc::clone))
                };
                let equal_columns = of_input.eq_properties.eq_group().iter().map(columns);
                equivalences.add_equivalence_group(EquivalenceGroup::new(equal_columns))?;
            }
            Self::Everything => {}
        }
        let partitioning = match self {
            Self::OrderBy(_) | Self::Order | Self::OrderAndConstants => of_input.partitioning.clone(),
            Self::Everything => Partitioning::UnknownPartitioning(of_input.partitioning.partition_count()),
        };
        Ok(PlanProperties::new(equivalences, partitioning, of_input.emission_type, of_input.boundedness))
    }
}

impl fmt::Display for HiddenProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OrderBy(columns) => return write!(f, "order by {columns:?}"),
            Self::Order => "order",
            Self::OrderAndConstants => "order, constants",
            Self::Everything => "order, constants, distribution",
        })
    }
}

/// Returns whether an expression refers to one of the columns at these positions.
fn refers_to(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> bool {
    collect_columns(expr).iter().any(|column| columns.contains(&column.index()))
}

/// Passes rows on, without what is unknown of them.
#[derive(Debug)]
pub(super) struct UnknownRowsExec {
    input: Arc<dyn ExecutionPlan>,
    unknown: HiddenProperties,
    properties: Arc<PlanProperties>,
}

impl UnknownRowsExec {
    /// The step above an input.
    pub(super) fn above(input: Arc<dyn ExecutionPlan>, unknown: HiddenProperties) -> Result<Arc<dyn ExecutionPlan>> {
        let properties = Arc::new(unknown.known(input.as_ref())?);
        Ok(Arc::new(Self { input, unknown, properties }))
    }

    /// The step's input, if just as much is known of it with the step.
    fn superfluous(plan: &dyn ExecutionPlan) -> Option<Arc<dyn ExecutionPlan>> {
        let step = plan.downcast_ref::<Self>()?;
        step.unknown.changes_nothing(step.input.as_ref()).then(|| Arc::clone(&step.input))
    }
}

impl DisplayAs for UnknownRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnknownRowsExec: unknown=[{}]", self.unknown)
    }
}

impl ExecutionPlan for UnknownRowsExec {
    plan_methods!(properties, no_expressions, recomputed, input);

    fn name(&self) -> &str {
        "UnknownRowsExec"
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Self::above(only_input(self.name(), children)?, self.unknown.clone())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [of_input] => Ok(Arc::clone(of_input)),
            _ => internal_err!("UnknownRowsExec has one input"),
        }
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }
}
