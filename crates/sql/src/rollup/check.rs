//! Checks the query of a rollup: it must always give the same answer for the same rows of a bucket.

use crate::plan::buckets::{Bucketing, bucketing_of};
use crate::plan::names::{StatementTables, logical_plan};
use crate::plan::refusals::check_plan;
use crate::plan::rollups::PlanFocus;
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, Result, Table};
use atsdb_dialect::operators::gapfill::is_gapfill_mark;
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::parse::statement::parse_over;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::plan_walk::DynPlanWalk;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::Scope;
use atsdb_engine::ReadSnapshot;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The result of checking a rollup's query.
pub(crate) struct RollupDescription {
    /// The columns of the rollup, with their names.
    pub(crate) schema: SchemaRef,
    pub(crate) bucketing: Bucketing,
    /// The columns of its source that it reads, by name.
    pub(crate) reads: BTreeSet<String>,
}

/// Plans a rollup's query over a snapshot in which its source has the given definition, and refuses an unsuitable
/// query.
pub(crate) fn describe_rollup(
    query: &str,
    source: &Table,
    state: &SessionState,
    snapshot: &ReadSnapshot,
) -> Result<RollupDescription> {
    let focus = PlanFocus { as_if: vec![source.clone()], ..PlanFocus::default() };
    let tables = focus.tables(snapshot);
    let (mut statement, spellings) =
        parse_over(query, SourcePosition::START, &Parameters::none(), Scope::in_public(&tables))?;
    let spellings = SharedSpellings::new(spellings);
    let Ast::Query(inner) = &mut statement else { return Err(sql_error("it is not a query")) };
    let headings = Headings::take(inner, &spellings);
    let (own_tables, parameters) = (StatementTables::default(), Parameters::none());
    let plan = logical_plan(statement, state, snapshot, &spellings, &focus, own_tables, &parameters);
    let plan = plan.map_err(from_datafusion)?;
    check_plan(&plan, refused_node, refused_expr)?;
    let schema = headings.apply(&Arc::new(plan.schema().as_arrow().clone()));
    let reads = names_read(&plan).map_err(from_datafusion)?;
    Ok(RollupDescription { schema, bucketing: bucketing_of(&plan, source)?, reads })
}

/// The names of all columns in a plan, including computed ones.
fn names_read(plan: &LogicalPlan) -> datafusion::common::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    plan.dyn_apply_with_subqueries(|node| {
        node.dyn_apply_expressions(|expr| {
            names.extend(expr.column_refs().into_iter().map(|column| column.name.clone()));
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(names)
}

fn refused_node(node: &LogicalPlan) -> Option<Error> {
    match node {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::TableScan(_)
        | LogicalPlan::SubqueryAlias(_) => None,
        LogicalPlan::Window(_) => Some(windowed()),
        other => {
            let text = other.display().to_string();
            let what = text.split([':', ' ']).next().unwrap_or_default();
            Some(not_supported(format_args!("{what} in the query of a rollup")))
        }
    }
}

fn refused_expr(expr: &Expr) -> Option<Error> {
    let changes = |name: &str| {
        sql_error(format!("{name} does not return the same value each time, so a rollup cannot use it"))
            .with_hint(format!("use {name} in queries of the rollup"))
    };
    match expr {
        Expr::ScalarFunction(call) if call.func.signature().volatility != Volatility::Immutable => {
            Some(changes(call.func.name()))
        }
        Expr::ScalarFunction(call) if is_gapfill_mark(&call.func) => Some(
            not_supported(format_args!("{} in the query of a rollup", call.func.name()))
                .with_hint("fill gaps in queries of the rollup"),
        ),
        Expr::AggregateFunction(call) if call.func.signature().volatility != Volatility::Immutable => {
            Some(changes(call.func.name()))
        }
        Expr::WindowFunction(_) => Some(windowed()),
        Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) => {
            Some(not_supported("a subquery in the query of a rollup"))
        }
        _ => None,
    }
}

fn windowed() -> Error {
    not_supported("a window function in the query of a rollup").with_hint("use it in queries of the rollup")
}
