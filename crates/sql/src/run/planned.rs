//! Finds the optimized plan for a request in the cache, or plans it and caches the plan.

use super::explain::ExplainOptions;
use super::plan_cache::{CachedPlan, CachedResult, Candidate, PlanCache, PlanKey, keys_of};
use super::query::Query;
use super::statement_query::StatementQuery;
use super::wait::block_on;
use super::with_rows::StepRequest;
use crate::dml::change::Change;
use crate::dml::target::Target;
use crate::plan::names::{StatementTables, logical_plan, open_plan};
use crate::plan::over::{is_immutable, over};
use crate::plan::rollups::PlanFocus;
use crate::plan::unpopulated::refuse_unpopulated;
use crate::plan::work_table::{WorkQuery, WorkTable};
use crate::scan::direct::{DirectConstants, DirectGroups, DirectRead, DirectRows, GroupsForm};
use arrow::array::RecordBatch;
use atsdb_core::{Error, Result};
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_engine::ReadSnapshot;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A request to a worker.
pub(super) enum Request {
    Text(Box<(Query, PlanFocus)>),
    /// One step of a statement whose `WITH` changes rows.
    Step(Box<(Query, StepRequest)>),
    WorkTable(Box<WorkQuery>, ReadSnapshot),
}

impl Request {
    /// The state that the query reads.
    pub(super) fn snapshot(&self) -> &ReadSnapshot {
        match self {
            Self::Text(text) => &text.0.snapshot,
            Self::Step(step) => &step.0.snapshot,
            Self::WorkTable(_, snapshot) => snapshot,
        }
    }

    /// The plan that was made for it before, if it is kept.
    pub(super) fn kept_plan(&self, plans: &PlanCache) -> Option<Arc<CachedPlan>> {
        let Self::Text(text) = self else { return None };
        let query = &text.0;
        let key = PlanKey::of_values(&query.text, &query.parameters, query.snapshot.search_path())?;
        match plans.get(&key, query.snapshot.tables(), query.scope?)? {
            CachedResult::Plan(kept) => Some(kept),
            _ => None,
        }
    }
}

/// An optimized plan, and the use of its rows.
#[derive(Default)]
pub(super) struct Planned {
    pub(super) plan: LogicalPlan,
    pub(super) headings: Arc<Headings>,
    pub(super) insert: Option<Box<Target>>,
    pub(super) change: Option<Box<Change>>,
    pub(super) spellings: SharedSpellings,
    pub(super) work_table: Option<Arc<WorkTable>>,
    pub(super) more: Option<mpsc::UnboundedReceiver<RecordBatch>>,
    pub(super) explained: Option<ExplainOptions>,
    pub(super) candidate: Option<Box<Candidate>>,
}

/// A plan that was kept, over the state that a query reads.
pub(super) fn planned_before(kept: &CachedPlan, snapshot: &ReadSnapshot) -> Result<Planned> {
    let plan = over(kept.plan.clone(), Some(snapshot)).map_err(from_datafusion)?;
    let plan = plan.ok_or_else(|| Error::internal("a plan that is kept reads more than tables of the store"))?;
    Ok(Planned { plan, headings: Arc::clone(&kept.headings), ..Planned::default() })
}

/// Plans a request of which no plan is kept. The state is only for this query.
pub(super) fn planned(request: Request, state: &mut SessionState, plans: &PlanCache) -> Result<Planned> {
    let (query, focus) = match request {
        Request::WorkTable(query, snapshot) => {
            return new_plan(StatementQuery::on_work_table(*query), &snapshot, state);
        }
        Request::Step(step) => {
            let (query, step) = *step;
            return new_plan(StatementQuery::of_step(&query, &step)?, &query.snapshot, state);
        }
        Request::Text(text) => *text,
    };
    let statement_query = StatementQuery::of_text(&query, focus)?;
    let is_question = matches!(statement_query.statement, Ast::Query(_))
        && statement_query.insert.is_none()
        && statement_query.change.is_none();
    // A file may contain different rows the next time.
    let keys = keys_of(&query).filter(|_| is_question && statement_query.files.is_empty());
    let Some((of_values, of_types, scope)) = keys else { return new_plan(statement_query, &query.snapshot, state) };
    let tables = query.snapshot.tables();
    // A plan with values inserted is not valid for other values.
    let has_values = matches!(&query.parameters, Parameters::Values(values) if !values.is_empty());
    let open = match has_values && plans.get(&of_types, tables, scope).is_none() {
        true => Some((statement_query.statement.clone(), Arc::clone(&statement_query.spellings))),
        false => None,
    };
    let (mut planned, is_immutable) = plan_of(statement_query, &query.snapshot, state)?;
    let kept = match is_immutable {
        true => over(planned.plan.clone(), None).map_err(from_datafusion)?,
        false => None,
    };
    let Some(plan) = kept else { return Ok(planned) };
    let form = match open {
        // A statement that cannot be planned without its values is answered with a plan each time.
        Some((statement, spellings)) => Some(direct_form(statement, &spellings, &query, state).unwrap_or_default()),
        None if has_values => None,
        None => Some(DirectForm::of(&plan, &planned.headings)),
    };
    match form {
        Some(DirectForm::Groups(form)) => {
            let headings = Arc::clone(&planned.headings);
            planned.candidate = Some(Box::new(Candidate { query: query.clone(), form, headings }));
        }
        Some(DirectForm::Rows(rows)) => {
            let direct = Arc::new(DirectRead::Rows(rows));
            plans.put(of_types, CachedResult::Direct(Some(direct)), tables, scope);
        }
        Some(DirectForm::Constants(constants)) => {
            let direct = Arc::new(DirectRead::Constants(constants));
            plans.put(of_types, CachedResult::Direct(Some(direct)), tables, scope);
        }
        Some(DirectForm::Neither) => plans.put(of_types, CachedResult::Direct(None), tables, scope),
        None => {}
    }
    let kept = CachedPlan { plan, headings: Arc::clone(&planned.headings) };
    plans.put(of_values, CachedResult::Plan(Arc::new(kept)), tables, scope);
    Ok(planned)
}

fn new_plan(statement_query: StatementQuery, snapshot: &ReadSnapshot, state: &mut SessionState) -> Result<Planned> {
    plan_of(statement_query, snapshot, state).map(|(planned, _)| planned)
}

/// The plan of a statement, and whether it always gives the same answer.
fn plan_of(
    statement_query: StatementQuery,
    snapshot: &ReadSnapshot,
    state: &mut SessionState,
) -> Result<(Planned, bool)> {
    let StatementQuery { mut statement, insert, change, spellings, focus, work_table, files, more, parameters } =
        statement_query;
    let explained = ExplainOptions::take(&mut statement)?;
    let headings = match &mut statement {
        Ast::Query(query) => Headings::take(query, &spellings),
        _ => Headings::default(),
    };
    if change.is_some() {
        // The rows of a chunk must stay together.
        state.config_mut().options_mut().optimizer.enable_round_robin_repartition = false;
    }
    let own_tables = StatementTables { work_table: work_table.as_ref(), files: &files };
    let plan = logical_plan(statement, state, snapshot, &spellings, &focus, own_tables, &parameters);
    let plan = plan.map_err(from_datafusion)?;
    let plan = match explained {
        Some(explained) => explained.apply(plan),
        None => plan,
    };
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)
        .map_err(from_datafusion)?;
    let is_immutable = is_immutable(&plan).map_err(from_datafusion)?;
    let (plan, headings) = (state.optimize(&plan).map_err(from_datafusion)?, Arc::new(headings));
    refuse_unpopulated(&plan)?;
    let candidate = None;
    Ok((Planned { plan, headings, insert, change, spellings, work_table, more, explained, candidate }, is_immutable))
}

/// The form of a query that may be a direct read for any values of its parameters.
#[derive(Default)]
enum DirectForm {
    Rows(DirectRows),
    /// A query of this form, which also needs its physical plan.
    Groups(GroupsForm),
    Constants(DirectConstants),
    #[default]
    Neither,
}

impl DirectForm {
    /// The form of an optimized plan.
    fn of(plan: &LogicalPlan, headings: &Headings) -> Self {
        if let Some(constants) = DirectConstants::of(plan, headings) {
            return Self::Constants(constants);
        }
        match (DirectRows::of(plan, headings), GroupsForm::of(plan)) {
            (Some(rows), _) => Self::Rows(rows),
            (None, Some(groups)) => Self::Groups(groups),
            (None, None) => Self::Neither,
        }
    }
}

fn direct_form(
    mut statement: Ast,
    spellings: &SharedSpellings,
    query: &Query,
    state: &SessionState,
) -> Result<DirectForm> {
    let Ast::Query(question) = &mut statement else { return Ok(DirectForm::Neither) };
    let headings = Headings::take(question, spellings);
    let plan = open_plan(statement, state, &query.snapshot, spellings, StatementTables::default(), &query.parameters);
    let plan = plan.and_then(|plan| state.optimize(&plan)).and_then(|plan| over(plan, None));
    Ok(plan.map_err(from_datafusion)?.map_or(DirectForm::Neither, |plan| DirectForm::of(&plan, &headings)))
}

/// The direct read that a query is for any values of its parameters, if it is one. The query has values.
pub(crate) fn direct_read(query: &Query, state: &SessionState) -> Result<Option<DirectRead>> {
    let statement_query = StatementQuery::of_text(query, PlanFocus::default())?;
    if !statement_query.files.is_empty() {
        return Ok(None);
    }
    let (statement, spellings) = (statement_query.statement.clone(), Arc::clone(&statement_query.spellings));
    match direct_form(statement, &spellings, query, state)? {
        DirectForm::Rows(rows) => Ok(Some(DirectRead::Rows(rows))),
        DirectForm::Constants(constants) => Ok(Some(DirectRead::Constants(constants))),
        DirectForm::Groups(form) => {
            let mut state = state.clone();
            let (planned, _) = plan_of(statement_query, &query.snapshot, &mut state)?;
            let plan = block_on(state.query_planner().create_physical_plan(&planned.plan, &state));
            let plan = plan.map_err(from_datafusion)?;
            let threads = state.config().target_partitions();
            let groups = DirectGroups::of(form, &plan, threads, &query.parameters, &planned.headings);
            Ok(groups.map(DirectRead::Groups))
        }
        DirectForm::Neither => Ok(None),
    }
}
