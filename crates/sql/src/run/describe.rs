//! Determines the parameters and columns of a statement from its plan. Nothing is executed.

use super::explain::ExplainOptions;
use super::query::Query;
use super::statement_query::StatementQuery;
use super::with_rows::StepRequest;
use crate::ddl::type_names::column_type;
use crate::dml::change::Change;
use crate::dml::target::Target;
use crate::plan::computed::computed_columns;
use crate::plan::names::{StatementTables, open_plan};
use crate::plan::parameter_types::{AssignedType, InferredTypes, NUMERIC, TextForm, number_in_series};
use crate::plan::rollups::PlanFocus;
use crate::plan::work_table::WorkQuery;
use arrow::datatypes::{DataType, IntervalUnit, SchemaRef, TimeUnit};
use atsdb_codec::{logical_field, logical_type};
use atsdb_core::{Column, ColumnId, Result};
use atsdb_dialect::parse::frame_parameters::frame_offsets;
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::parse::parameter_types::close_parameters;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::tree_walk::visit;
use atsdb_engine::ReadSnapshot;
use datafusion::execution::session_state::SessionState;
use datafusion::sql::sqlparser::ast::{
    DataType as SqlType, Expr, FunctionArg, FunctionArgExpr, Statement as Ast, TableFactor, TimezoneInfo,
    UnaryOperator, Value, ValueWithSpan, Visitor,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The types of a statement's parameters, as far as they are known, and the columns of its answer if it has rows.
pub(crate) type TypesAndColumns = (InferredTypes, Option<SchemaRef>);

/// The description of a planned statement.
pub(crate) struct Description {
    /// The types of the parameters, as far as they are known.
    pub(crate) types: InferredTypes,
    /// The columns of its query.
    pub(crate) schema: SchemaRef,
    /// The target of the rows, if it is an INSERT.
    pub(crate) insert: Option<Target>,
    /// The change of the rows, if it is an UPDATE, DELETE or MERGE.
    pub(crate) change: Option<Change>,
    pub(crate) spellings: SharedSpellings,
    pub(crate) reads_files: bool,
    /// For each column, whether it is computed.
    pub(crate) computed: Vec<bool>,
}

/// Describes a statement whose parameters may or may not have types yet.
pub(crate) fn describe(query: &Query, state: &SessionState) -> Result<Description> {
    described(StatementQuery::of_text(query, PlanFocus::default())?, query, state)
}

/// Describes one step of a statement whose `WITH` changes rows.
pub(crate) fn describe_step(query: &Query, step: &StepRequest, state: &SessionState) -> Result<Description> {
    described(StatementQuery::of_step(query, step)?, query, state)
}

fn described(statement_query: StatementQuery, query: &Query, state: &SessionState) -> Result<Description> {
    let type_of = |column: &Column| {
        let data_type = if column.map.is_some() { DataType::Utf8 } else { logical_type(column) };
        Some((data_type, TextForm::of_field(&logical_field(column))))
    };
    let columns = match (&statement_query.insert, &statement_query.change) {
        (Some(target), _) => {
            let (table, positions) = target.resolve_among(query.snapshot.tables())?;
            positions.iter().map(|position| type_of(&table.definition.columns[*position])).collect()
        }
        (None, Some(change)) => {
            let columns = &change.table.definition.columns;
            let assigned = change.assigned()?.into_iter();
            assigned.map(|position| position.and_then(|position| type_of(&columns[position]))).collect()
        }
        (None, None) => Vec::new(),
    };
    planned(statement_query, &columns, &query.snapshot, state)
}

/// Describes a query that belongs to a statement. `columns` are the types of the columns that its rows are assigned to.
pub(crate) fn describe_on_work_table(
    query: WorkQuery,
    columns: &[Option<DataType>],
    snapshot: &ReadSnapshot,
    state: &SessionState,
) -> Result<Description> {
    let columns: Vec<Option<AssignedType>> =
        columns.iter().map(|data_type| data_type.clone().map(|data_type| (data_type, None))).collect();
    planned(StatementQuery::on_work_table(query), &columns, snapshot, state)
}

fn planned(
    statement_query: StatementQuery,
    columns: &[Option<AssignedType>],
    snapshot: &ReadSnapshot,
    state: &SessionState,
) -> Result<Description> {
    let StatementQuery { mut statement, insert, change, spellings, work_table, files, parameters, .. } =
        statement_query;
    let explained = ExplainOptions::take(&mut statement)?;
    let headings = match &mut statement {
        Ast::Query(query) => Headings::take(query, &spellings),
        _ => Headings::default(),
    };
    let offsets = frame_offsets(&statement).into_iter().map(|id| (id, DataType::Int64));
    let written: Vec<(String, DataType)> = arguments_of_functions(&statement).into_iter().chain(offsets).collect();
    let describe = || {
        let own_tables = StatementTables { work_table: work_table.as_ref(), files: &files };
        let plan = open_plan(statement, state, snapshot, &spellings, own_tables, &parameters)?;
        let mut types = InferredTypes::of(parameters.types());
        types.infer(&plan, columns)?;
        written.iter().for_each(|(id, data_type)| types.note_id(id, data_type));
        let parameters = Parameters::Types(types.types.as_slice().into());
        let plan = close_parameters(plan, &parameters)?;
        let computed = computed_columns(&plan);
        let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
        Ok((types, headings.apply(&Arc::new(plan.schema().as_arrow().clone())), computed))
    };
    let (types, schema, computed) = describe().map_err(from_datafusion)?;
    let schema = match explained {
        Some(explained) => explained.schema(schema),
        None => schema,
    };
    Ok(Description {
        types,
        schema,
        insert: insert.map(|insert| *insert),
        change: change.map(|change| *change),
        spellings,
        reads_files: !files.is_empty(),
        computed,
    })
}

/// Parameters that are arguments of functions in FROM, such as `generate_series(1, $1)`, with their types: that of a
/// cast, or else that of a number.
fn arguments_of_functions(statement: &Ast) -> Vec<(String, DataType)> {
    struct ArgumentTypes(Vec<(String, DataType)>);
    impl Visitor for ArgumentTypes {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let args = match factor {
                TableFactor::Table { args: Some(args), .. } => args.args.as_slice(),
                TableFactor::Function { args, .. } => args.as_slice(),
                _ => &[],
            };
            let args = args.iter().filter_map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            });
            let args: Vec<&Expr> = args.collect();
            let others: Vec<DataType> = args.iter().filter_map(|arg| written_type(arg)).collect();
            let number = number_in_series(&others);
            self.0.extend(args.into_iter().filter_map(|arg| match arg {
                Expr::Cast { expr, .. } => Some((parameter(expr)?.to_owned(), written_type(arg)?)),
                arg => Some((parameter(arg)?.to_owned(), number.clone())),
            }));
            ControlFlow::Continue(())
        }
    }
    let mut found = ArgumentTypes(Vec::new());
    let _ = visit(statement, &mut found);
    found.0
}

fn parameter(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Placeholder(id), .. }) => Some(id),
        _ => None,
    }
}

/// The type of a number, as in PostgreSQL, or of a cast.
fn written_type(expr: &Expr) -> Option<DataType> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => Some(type_of_number(digits)),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } | Expr::Nested(expr) => {
            written_type(expr)
        }
        Expr::Cast { data_type: SqlType::Interval { .. }, .. } => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        Expr::Cast { data_type: SqlType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone), .. } => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, None))
        }
        Expr::Cast { data_type, .. } => {
            let column_type = column_type(data_type, "a parameter").ok()?;
            Some(logical_type(&Column::new(ColumnId(0), "", column_type)))
        }
        _ => None,
    }
}

fn type_of_number(digits: &str) -> DataType {
    match digits.parse::<i64>().map(i32::try_from) {
        Ok(Ok(_)) => DataType::Int32,
        Ok(Err(_)) => DataType::Int64,
        Err(_) => NUMERIC,
    }
}
