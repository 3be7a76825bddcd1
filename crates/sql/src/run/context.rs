//! DataFusion's context with all extensions.

use super::memory::QueryMemory;
use super::options::SessionOptions;
use super::temporary_files::disk_manager;
use crate::resident::join_rule::JoinByIndex;
use crate::scan::aggregate::aggregate_chunks;
use crate::scan::filter_first::filter_first;
use crate::scan::group_by_index::GroupByIndex;
use crate::scan::join_order::{CrossJoins, JoinOrder};
use crate::scan::late_columns::fetch_late_columns;
use crate::scan::latest_first::LatestFirst;
use crate::scan::latest_rows::LatestRows;
use atsdb_core::Result;
use atsdb_dialect::operators::first_groups::first_groups;
use atsdb_dialect::operators::partition_top::PartitionTop;
use atsdb_dialect::operators::planner::StepPlanner;
use atsdb_dialect::operators::ranks::RankRows;
use atsdb_dialect::operators::shared_rows::ShareRows;
use atsdb_dialect::operators::{asof, gapfill};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::{functions, workarounds};
use atsdb_temporary::TemporarySpace;
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionContext;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::optimizer::{Analyzer, Optimizer};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionConfig;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of rows that DataFusion's operators process at a time.
pub(super) const BATCH_ROWS: usize = 8_192;
/// The part of the memory that the partitions of one sort hold together for merging what they wrote to disk: the memory
/// divided by this.
const MERGE_SHARE: usize = 16;

/// Creates a context for queries with a session's resources, and the space of its temporary files.
pub(super) fn context(options: &SessionOptions, space: &Arc<TemporarySpace>) -> Result<SessionContext> {
    // Each query has its own memory pool.
    let environment = RuntimeEnvBuilder::new().with_disk_manager_builder(disk_manager(space));
    let environment = environment.build_arc().map_err(from_datafusion)?;
    let mut state = SessionStateBuilder::new()
        .with_config(configuration(options))
        .with_runtime_env(environment)
        .with_default_features()
        .with_query_planner(Arc::new(StepPlanner))
        .with_analyzer_rules(analyzer().rules)
        .with_optimizer_rules(logical_optimizer().rules)
        .with_physical_optimizer_rules(physical_optimizer().rules);
    state.expr_planners().get_or_insert_default().splice(0..0, workarounds::expression_planners());
    let context = SessionContext::new_with_state(state.build());
    context.register_udf(asof::mark());
    gapfill::functions().into_iter().for_each(|function| context.register_udf(function.as_ref().clone()));
    functions::register(&context);
    workarounds::register_functions(&context, options.memory_bytes);
    Ok(context)
}

fn configuration(options: &SessionOptions) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(options.threads.max(1))
        .with_batch_size(BATCH_ROWS)
        .with_sort_spill_reservation_bytes(merge_bytes(options))
        .with_information_schema(false)
        .with_create_default_catalog_and_schema(false);
    let parser = &mut config.options_mut().sql_parser;
    parser.enable_ident_normalization = false;
    parser.map_string_types_to_utf8view = false;
    parser.parse_float_as_decimal = true;
    // A rule of the analyzer does, and keeps the orders that matter.
    parser.enable_subquery_sort_elimination = false;
    // DataFusion's logical and physical plans may disagree on whether a column can be NULL, as for `x IS TRUE` and for
    // `CASE WHEN x < y THEN x ELSE 0 END`. Groups are computed by the physical plan alone, so this does no harm.
    config.options_mut().execution.skip_physical_aggregate_schema_check = true;
    config
}

fn analyzer() -> Analyzer {
    let mut analyzer = Analyzer::new();
    // The first rule replaces `grouping()`, whose arguments must still be the keys.
    analyzer.rules.splice(1..1, workarounds::rules_before_types());
    analyzer.rules.insert(0, Arc::new(asof::JoinAsOf));
    analyzer.rules.push(workarounds::rule_of_arithmetic());
    analyzer.rules.push(Arc::new(gapfill::FillGaps));
    analyzer.rules.extend(workarounds::rules_of_casts());
    analyzer.rules.push(workarounds::rule_of_frames());
    analyzer.rules.push(Arc::new(ShareRows));
    analyzer
}

fn logical_optimizer() -> Optimizer {
    let mut logical = Optimizer::new();
    workarounds::change_logical_rules(&mut logical);
    if let Some(rule) = logical.rules.iter_mut().find(|rule| rule.name() == "eliminate_cross_join") {
        *rule = Arc::new(CrossJoins(Arc::clone(rule)));
    }
    if let Some(at) = logical.rules.iter().position(|rule| rule.name() == "push_down_filter") {
        logical.rules.insert(at + 1, Arc::new(JoinOrder));
    }
    logical.rules.insert(0, Arc::new(asof::JoinAsOf));
    logical.rules.extend(workarounds::logical_rules());
    logical.rules.push(Arc::new(LatestRows));
    logical.rules.push(Arc::new(GroupByIndex));
    logical
}

fn physical_optimizer() -> PhysicalOptimizer {
    let mut physical = PhysicalOptimizer::new();
    workarounds::change_physical_rules(&mut physical);
    aggregate_chunks(&mut physical);
    first_groups(&mut physical);
    fetch_late_columns(&mut physical);
    filter_first(&mut physical);
    physical.rules.insert(0, Arc::new(LatestFirst));
    physical.rules.insert(0, Arc::new(PartitionTop));
    physical.rules.insert(0, Arc::new(JoinByIndex));
    physical.rules.push(Arc::new(RankRows));
    physical
}

/// The bytes that each partition of a sort reserves before its first row, for the merge that follows if it has to write
/// to disk. DataFusion's default is fixed, and in a small memory two partitions would ask for more than there is,
/// however few rows they sort.
fn merge_bytes(options: &SessionOptions) -> usize {
    let default = SessionConfig::new().options().execution.sort_spill_reservation_bytes;
    default.min(options.memory_bytes / MERGE_SHARE / options.threads.max(1))
}

/// The context of operators while they run: the configuration, and the query's memory. They hold the functions that
/// they call, and find none by its name.
pub(super) fn task_context(state: &SessionState, memory: &Arc<QueryMemory>) -> Arc<TaskContext> {
    let memory_pool: Arc<dyn MemoryPool> = Arc::<QueryMemory>::clone(memory);
    let environment = Arc::new(RuntimeEnv { memory_pool, ..state.runtime_env().as_ref().clone() });
    let id = state.session_id().to_owned();
    let (scalar, higher, aggregates, windows) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
    let context = TaskContext::new(None, id, state.config().clone(), scalar, higher, aggregates, windows, environment);
    Arc::new(context)
}
