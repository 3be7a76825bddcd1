//! Answers the requests of DataFusion's planner while it plans one statement: the tables of its snapshot, and
//! functions.

use super::files::FILE_SCHEMA;
use super::read_tables::ReadTables;
use super::rollups::{PlanFocus, refuse_change, rollup_plan};
use super::views::{Expansion, view_plan};
use super::work_table::{WORK_SCHEMA, WorkTable};
use crate::catalogue::provider::CatalogueTable;
use crate::catalogue::schemas;
use crate::resident::provider::ResidentTable;
use crate::scan::provider::SnapshotTable;
use crate::scan::row_numbers::{TARGET_SCHEMA, number_of};
use atsdb_core::{Rollup, Table, View};
use atsdb_dialect::functions::place_named_arguments;
use atsdb_dialect::parse::frame_parameters::bind_frame_bounds;
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::parse::parameter_types::{close_expression, close_parameters, open_parameters};
use atsdb_dialect::parse::statement::parse_over;
use atsdb_dialect::parse::with_steps::ITEM_SCHEMA;
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{Scope, TableName, refuse_sequence, unknown_table};
use atsdb_dialect::workarounds::{
    checked, compute_sets, declare_columns, has_structs, has_time_words, read_time_words, refuse_repeated_parts,
    relation_planners, show_rows, type_planner, with_postgres_casts, write_array_constants, write_numbers,
};
use atsdb_engine::ReadSnapshot;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::catalog::{TableFunctionArgs, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, TableReference, plan_datafusion_err};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF, lit,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::sync::Arc;

/// Tables that a statement itself supplies.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StatementTables<'a> {
    /// The rows that the statement works on.
    pub(crate) work_table: Option<&'a Arc<WorkTable>>,
    /// The rows of items of its `WITH` that were executed, then the files that it names, in order.
    pub(crate) files: &'a [Arc<dyn TableProvider>],
}

/// Plans a statement over one snapshot.
pub(crate) fn logical_plan(
    statement: Ast,
    state: &SessionState,
    snapshot: &ReadSnapshot,
    spellings: &SharedSpellings,
    focus: &PlanFocus,
    own_tables: StatementTables<'_>,
    parameters: &Parameters,
) -> Result<LogicalPlan> {
    let names = SnapshotNames::new(state, snapshot, spellings, own_tables, Expansion::default(), focus, parameters);
    let has_structs = has_structs(&statement);
    let planned = names.open_plan(statement)?;
    let plan = if planned.has_parameters { close_parameters(planned.plan, parameters)? } else { planned.plan };
    if has_structs { Ok(plan) } else { show_rows(plan) }
}

/// Plans a statement whose parameters stay placeholders.
pub(crate) fn open_plan(
    statement: Ast,
    state: &SessionState,
    snapshot: &ReadSnapshot,
    spellings: &SharedSpellings,
    own_tables: StatementTables<'_>,
    parameters: &Parameters,
) -> Result<LogicalPlan> {
    let focus = &PlanFocus::default();
    let names = SnapshotNames::new(state, snapshot, spellings, own_tables, Expansion::default(), focus, parameters);
    let has_structs = has_structs(&statement);
    let plan = names.open_plan(statement)?.plan;
    if has_structs { Ok(plan) } else { show_rows(plan) }
}

/// The columns of a view, determined by planning its query over the tables that it sees; `None` if that fails.
fn view_columns(view: &View, state: &SessionState, snapshot: &ReadSnapshot) -> Option<SchemaRef> {
    query_columns(&view.query, &PlanFocus::default(), state, snapshot).map(|(columns, _)| columns)
}

/// The columns of a stored query over the tables that it sees, and its plan; `None` if it cannot be planned.
pub(crate) fn query_columns(
    query: &str,
    focus: &PlanFocus,
    state: &SessionState,
    snapshot: &ReadSnapshot,
) -> Option<(SchemaRef, LogicalPlan)> {
    let scope = Scope { tables: &focus.tables(snapshot), path: snapshot.search_path() };
    let (mut statement, spellings) = parse_over(query, SourcePosition::START, &Parameters::none(), scope).ok()?;
    let headings = match &mut statement {
        Ast::Query(query) => Headings::take(query, &spellings),
        _ => return None,
    };
    let spellings = SharedSpellings::new(spellings);
    let (own_tables, parameters) = (StatementTables::default(), Parameters::none());
    let plan = logical_plan(statement, state, snapshot, &spellings, focus, own_tables, &parameters).ok()?;
    let plan = declare_columns(plan).ok()?;
    let columns = headings.apply(plan.schema().inner());
    Some((columns, plan))
}

struct SnapshotNames<'a> {
    state: &'a SessionState,
    snapshot: &'a ReadSnapshot,
    spellings: &'a SharedSpellings,
    own_tables: StatementTables<'a>,
    expansion: Expansion,
    focus: &'a PlanFocus,
    parameters: &'a Parameters,
    /// The planners of relations. They have a state, so that each statement has its own.
    relation_planners: Vec<Arc<dyn RelationPlanner>>,
}

/// A plan that may contain placeholders for values.
struct Planned {
    plan: LogicalPlan,
    has_parameters: bool,
}

impl<'a> SnapshotNames<'a> {
    fn new(
        state: &'a SessionState,
        snapshot: &'a ReadSnapshot,
        spellings: &'a SharedSpellings,
        own_tables: StatementTables<'a>,
        expansion: Expansion,
        focus: &'a PlanFocus,
        parameters: &'a Parameters,
    ) -> Self {
        let relation_planners = relation_planners();
        Self { state, snapshot, spellings, own_tables, expansion, focus, parameters, relation_planners }
    }

    fn open_plan(&self, mut statement: Ast) -> Result<Planned> {
        place_named_arguments(&mut statement).map_err(external)?;
        bind_frame_bounds(&mut statement, self.parameters).map_err(external)?;
        let has_parameters = open_parameters(&mut statement);
        write_numbers(&mut statement);
        write_array_constants(&mut statement);
        let options = ParserOptions::from(&self.state.config_options().sql_parser);
        let field = |data_type: DataType| Arc::new(Field::new("", data_type, true));
        let types = self.parameters.types().into_iter().map(|data_type| data_type.map(field)).collect();
        let mut context = PlannerContext::new().with_prepare_param_data_types(types);
        let planner = SqlToRel::new_with_options(self, options);
        let (tables, has_time_words) = (ReadTables::of(&statement), has_time_words(&statement));
        let plan = planner.sql_statement_to_plan_with_context(statement, &mut context);
        let plan = plan.map_err(|error| tables.explain(error))?;
        refuse_repeated_parts(&plan)?;
        let mut plan = compute_sets(plan)?;
        if has_time_words {
            plan = read_time_words(plan)?;
        }
        Ok(Planned { plan, has_parameters })
    }

    /// Plans a nested statement, which has no parameters.
    fn plan(&self, statement: Ast) -> Result<LogicalPlan> {
        self.open_plan(statement).map(|planned| planned.plan)
    }

    /// Replaces a view by its query.
    fn view(&self, table: &Table, view: &View) -> Result<Arc<dyn TableSource>> {
        let Self { state, spellings, own_tables, expansion, focus, .. } = self;
        let (snapshot, parameters) = (&self.snapshot.seen_by(table), &Parameters::none());
        let plan = |statement, spellings: &SharedSpellings, expansion| {
            let names = SnapshotNames::new(state, snapshot, spellings, *own_tables, expansion, focus, parameters);
            names.plan(statement)
        };
        let plan = view_plan(table, view, &focus.tables(snapshot), spellings, expansion, plan);
        let plan = plan.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
    }

    /// The rows of a rollup, with stale ones computed.
    fn rollup(&self, table: &Table, rollup: &Rollup) -> Result<Arc<dyn TableSource>> {
        let Self { state, spellings, own_tables, expansion, focus, .. } = self;
        let (snapshot, parameters) = (&self.snapshot.seen_by(table), &Parameters::none());
        let plan = |statement, spellings: &SharedSpellings, focus: &PlanFocus| {
            let names =
                SnapshotNames::new(state, snapshot, spellings, *own_tables, expansion.clone(), focus, parameters);
            names.plan(statement)
        };
        let plan = rollup_plan(table, rollup, snapshot, spellings, focus, plan);
        let plan = plan.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
    }
}

impl ContextProvider for SnapshotNames<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        self.expansion.count_one().map_err(|error| DataFusionError::External(Box::new(error)))?;
        if name.schema() == Some(WORK_SCHEMA)
            && let Some(work_table) = self.own_tables.work_table
        {
            return Ok(provider_as_source(work_table.provider()?));
        }
        if matches!(name.schema(), Some(FILE_SCHEMA | ITEM_SCHEMA))
            && let Some(file) = name.table().parse::<usize>().ok().and_then(|number| self.own_tables.files.get(number))
        {
            return Ok(provider_as_source(Arc::clone(file)));
        }
        let tables = self.snapshot.tables();
        if name.schema() == Some(TARGET_SCHEMA)
            && let Some(table) = tables.iter().find(|table| number_of(table) == name.table())
        {
            refuse_change(table).map_err(|error| DataFusionError::External(Box::new(error)))?;
            if table.definition.is_in_memory() {
                let provider = ResidentTable::numbered(self.snapshot, table, self.spellings).map_err(external)?;
                return Ok(provider_as_source(Arc::new(provider)));
            }
            let provider = SnapshotTable::numbered(self.snapshot.clone(), table, self.spellings);
            return Ok(provider_as_source(Arc::new(provider)));
        }
        let in_catalog = name.catalog().is_none_or(|catalog| catalog.eq_ignore_ascii_case("atsdb"));
        if let Some(relation) =
            name.schema().filter(|_| in_catalog).and_then(|schema| schemas::find(schema, name.table()))
        {
            let provider = CatalogueTable::new(relation, self.snapshot.clone(), self.spellings, view_columns);
            return Ok(provider_as_source(Arc::new(provider)));
        }
        let named = TableName::of_reference(&name);
        let found = named.find(tables).filter(|_| in_catalog);
        found.map_or(Ok(()), refuse_sequence).map_err(external)?;
        match found.map(|table| self.focus.seen(table)) {
            Some(table) => match (&table.definition.view, &table.definition.rollup) {
                (Some(view), _) => self.view(table, view),
                (None, Some(rollup)) => self.rollup(table, rollup),
                (None, None) if table.definition.is_in_memory() && self.focus.as_if.is_empty() => {
                    let provider = ResidentTable::new(self.snapshot, table, self.spellings).map_err(external)?;
                    Ok(provider_as_source(Arc::new(provider)))
                }
                (None, None) => {
                    let provider = SnapshotTable::new(self.snapshot.clone(), table, self.spellings);
                    Ok(provider_as_source(Arc::new(provider.within(self.focus.range_of(table.id)))))
                }
            },
            None => {
                let unknown = unknown_table(&named, tables);
                let error = match schemas::hint(name.schema(), name.table()) {
                    Some(hint) => unknown.with_hint(hint),
                    None => unknown,
                };
                Err(DataFusionError::External(Box::new(error)))
            }
        }
    }

    fn get_table_function_source(&self, name: &str, arguments: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        let functions = self.state.table_functions();
        let function = functions
            .get(&name.to_lowercase())
            .ok_or_else(|| plan_datafusion_err!("no table function named {name}"))?;
        let simplifier = ExprSimplifier::new(
            SimplifyContext::builder()
                .with_config_options(Arc::clone(self.state.config_options()))
                .with_query_execution_start_time(self.state.execution_props().query_execution_start_time)
                .build(),
        );
        let schema = DFSchema::empty();
        let simplify = |argument| {
            let argument = close_expression(argument, self.parameters)?.data;
            let argument = checked(simplifier.coerce(argument, &schema)?, &schema)?.data;
            let simple = simplifier.simplify(with_postgres_casts(argument, &schema)?)?;
            if !matches!(simple, Expr::Literal(..)) {
                // An expression that cannot be computed is an error with the reason.
                let row = RecordBatch::new_empty(Arc::new(Schema::empty()));
                self.state.create_physical_expr(simple.clone(), &schema)?.evaluate(&row)?;
            }
            Ok(match simple {
                // A function that returns rows only accepts an untyped NULL.
                Expr::Literal(value, _) if value.is_null() => lit(ScalarValue::Null),
                simple => simple,
            })
        };
        let arguments = arguments.into_iter().map(simplify).collect::<Result<Vec<_>>>()?;
        let provider = function.create_table_provider_with_args(TableFunctionArgs::new(&arguments, self.state))?;
        Ok(provider_as_source(provider))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(type_planner(self.snapshot))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.state.scalar_functions().get(name).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
