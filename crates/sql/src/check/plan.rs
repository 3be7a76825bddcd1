//! Plans the text of a condition as a physical plan over the columns that it names, as for a query of these columns.

use crate::ddl::defaults::default_type;
use crate::plan::names::{StatementTables, logical_plan};
use crate::plan::refusals::check_plan;
use crate::plan::rollups::PlanFocus;
use crate::plan::work_table::{WorkTable, select_of, work_query};
use crate::run::wait::block_on;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_core::{Check, Column, Error, Result, Table, TableDefinition, TableId};
use atsdb_dialect::operators::gapfill::is_gapfill_mark;
use atsdb_dialect::parse::statement::parse_over;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::quoted_names::always_quoted;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::Scope;
use atsdb_engine::ReadSnapshot;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::slice;
use std::sync::Arc;

/// The plan whose only column is the condition, and the names that it has for the columns which the condition names, in
/// the order of the table.
pub(super) fn physical_plan(
    definition: &TableDefinition,
    check: &Check,
    state: &SessionState,
    snapshot: &ReadSnapshot,
) -> Result<(Arc<dyn ExecutionPlan>, Vec<String>)> {
    let (plan, names) = planned(definition, check, state, snapshot)
        .map_err(|error| error.context(format_args!("constraint {}", check.name)))?;
    let mut state = state.clone();
    *state.config_mut() = state.config().clone().with_target_partitions(1);
    let plan = state.optimize(&plan).map_err(from_datafusion)?;
    let plan = block_on(state.query_planner().create_physical_plan(&plan, &state)).map_err(from_datafusion)?;
    Ok((plan, names))
}

fn planned(
    definition: &TableDefinition,
    check: &Check,
    state: &SessionState,
    snapshot: &ReadSnapshot,
) -> Result<(LogicalPlan, Vec<String>)> {
    let table = named_columns_of(definition, check);
    let name = table.definition.local_name().to_owned();
    // The condition may end with a comment.
    let text = format!("SELECT ({}\n) FROM {}", check.condition, always_quoted(&name));
    let scope = Scope::in_public(slice::from_ref(&table));
    let (mut statement, spellings) = parse_over(&text, SourcePosition::START, &Parameters::none(), scope)?;
    let spellings = SharedSpellings::new(spellings);
    let Ast::Query(query) = &mut statement else { return Err(Error::internal("a SELECT is not a query")) };
    let mut over_rows = work_query(&name)?;
    select_of(query)?.from = std::mem::take(&mut select_of(&mut over_rows)?.from);
    let rows = RecordBatch::new_empty(Arc::new(schema_of(&table.definition)));
    let work_table = Arc::new(WorkTable::new(&table, &[], &spellings, &rows)?);
    let own_tables = StatementTables { work_table: Some(&work_table), files: &[] };
    let plan =
        logical_plan(statement, state, snapshot, &spellings, &PlanFocus::default(), own_tables, &Parameters::none());
    let plan = plan.map_err(from_datafusion)?;
    check_plan(&plan, refused_node, refused_expr)?;
    if !plan.schema().fields().iter().all(|field| matches!(field.data_type(), DataType::Boolean | DataType::Null)) {
        return Err(sql_error("argument of CHECK must be type boolean").with_hint("write a condition: CHECK (a > 0)"));
    }
    let names = table.definition.columns.iter().map(|column| spellings.spell(&column.name).to_owned()).collect();
    Ok((plan, names))
}

/// The table with the columns that a condition names, or with its first one: a table has at least one.
fn named_columns_of(definition: &TableDefinition, check: &Check) -> Table {
    let is_any = |column: &Column| check.columns.is_empty() && definition.columns.first() == Some(column);
    let named = |column: &&Column| check.columns.contains(&column.id) || is_any(column);
    let columns = definition.columns.iter().filter(named).cloned().collect();
    Table::new(TableId(0), TableDefinition { columns, ..TableDefinition::new(definition.local_name()) })
}

fn schema_of(definition: &TableDefinition) -> Schema {
    let field = |column: &Column| Field::new(&column.name, default_type(column), true);
    Schema::new(definition.columns.iter().map(field).collect::<Vec<_>>())
}

fn refused_node(node: &LogicalPlan) -> Option<Error> {
    match node {
        LogicalPlan::Projection(_) | LogicalPlan::TableScan(_) | LogicalPlan::SubqueryAlias(_) => None,
        LogicalPlan::Aggregate(_) => Some(sql_error("aggregate functions are not allowed in check constraints")),
        LogicalPlan::Window(_) => Some(sql_error("window functions are not allowed in check constraints")),
        LogicalPlan::Unnest(_) => Some(sql_error("set-returning functions are not allowed in check constraints")),
        _ => Some(not_supported("a query in a CHECK constraint")),
    }
}

fn changes(function: &str) -> Error {
    sql_error(format!("{function} does not return the same value each time, so a CHECK constraint cannot use it"))
        .with_hint("write a condition over the columns of one row")
}

fn refused_expr(expr: &Expr) -> Option<Error> {
    match expr {
        Expr::ScalarFunction(call) if is_gapfill_mark(&call.func) => {
            Some(not_supported(format_args!("{} in a CHECK constraint", call.func.name())))
        }
        Expr::ScalarFunction(call) if call.func.signature().volatility != Volatility::Immutable => {
            Some(changes(call.func.name()))
        }
        Expr::AggregateFunction(_) => Some(sql_error("aggregate functions are not allowed in check constraints")),
        Expr::WindowFunction(_) => Some(sql_error("window functions are not allowed in check constraints")),
        Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => {
            Some(sql_error("cannot use subquery in check constraint"))
        }
        Expr::ScalarVariable(..) => Some(not_supported("a variable in a CHECK constraint")),
        _ => None,
    }
}
