//! Prepared statements: the parameters and the columns of a statement are known before it is executed, and its
//! parameters have types.

use super::parameter_value::{ParameterValue, bound};
use super::present_state::PresentState;
use super::state::Session;
use super::summarize;
use crate::dml::conflict::ConflictAction;
use crate::dml::returning::Returning;
use crate::plan::parameter_types::{InferredTypes, TextForm};
use crate::plan::work_table::WorkQuery;
use crate::run::answer::Answer;
use crate::run::describe::{Description, TypesAndColumns, describe, describe_on_work_table, describe_step};
use crate::run::permission::Permission;
use crate::run::plan_cache::PlanKey;
use crate::run::query::{DefinitionScope, Query};
use crate::run::with_rows::{ItemRows, StepRequest};
use crate::run::worker::Worker;
use crate::write::returning::no_rows_with;
use crate::write::upsert::update_query;
use arrow::datatypes::{DataType, SchemaRef};
use atsdb_core::{Result, Table};
use atsdb_dialect::parse::with_clause::may_change_in_with;
use atsdb_dialect::parse::with_steps::WithStep;
use atsdb_dialect::text::errors::{sql_error, with_statement_hint};
use atsdb_dialect::text::params::{Parameters, parameter_count};
use atsdb_dialect::text::script::{Statement, Statements};
use atsdb_dialect::text::select_into::is_select_into;
use atsdb_dialect::text::verbs::verb_of;
use atsdb_engine::ReadSnapshot;
use std::sync::Arc;

/// A statement whose parameters have types. It is independent of any session, and does not hold a snapshot of the
/// store.
#[derive(Debug, Clone)]
pub struct Prepared {
    statement: Statement,
    parameter_types: Arc<[DataType]>,
    parameter_forms: Arc<[Option<TextForm>]>,
    schema: Option<SchemaRef>,
}

impl Prepared {
    fn new(statement: &Statement, types: InferredTypes, schema: Option<SchemaRef>) -> Self {
        let (parameter_types, parameter_forms) = (known(types.types).into(), types.forms.into());
        Self { statement: statement.clone(), parameter_types, parameter_forms, schema }
    }

    /// The statement.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The types of `$1`, `$2`, and so on: as declared, or else inferred from the statement, or else text.
    pub fn parameter_types(&self) -> &[DataType] {
        &self.parameter_types
    }

    /// Returns the form of each parameter's texts; `None` for plain texts, and for parameters whose types were
    /// declared.
    pub fn parameter_forms(&self) -> &[Option<TextForm>] {
        &self.parameter_forms
    }

    /// The right that its first word needs, or that `SELECT ... INTO` needs.
    pub fn permission(&self) -> Permission {
        if is_select_into(self.statement.text()) {
            return Permission::Define;
        }
        Permission::needed(&verb_of(self.statement.text()))
    }

    /// The columns of the answer, according to the definitions at the time when the statement was prepared; `None` if
    /// it has no rows. [`AnswerRows::schema`](crate::AnswerRows::schema) has the columns of an actual answer.
    pub fn schema(&self) -> Option<&SchemaRef> {
        self.schema.as_ref()
    }
}

impl Session {
    /// Prepares one statement: finds the types of its parameters `$1`, `$2`, and so on, and the columns of its answer,
    /// without executing it. `declared` are the types that the caller knows, by number. A parameter without a declared
    /// type has the type of the column that it is assigned to or compared with, the type of its cast, that of an array
    /// or its elements beside one (`x = ANY ($1)`), or BIGINT after LIMIT and OFFSET and in frames of ROWS. If nothing
    /// determines the type, it is text. Errors: [`ErrorKind::Sql`](atsdb_core::ErrorKind::Sql) for an invalid text.
    pub fn prepare(&self, text: &str, declared: &[Option<DataType>]) -> Result<Prepared> {
        let mut statements = Statements::new(text);
        let statement = statements.next().ok_or_else(|| sql_error("there is no statement in the text"))??;
        if statements.next().is_some() {
            return Err(sql_error("several statements cannot be prepared as one"));
        }
        self.prepare_statement(&statement, declared)
    }

    /// Prepares one statement of a script, like [`prepare`](Self::prepare). More types may be declared than it has
    /// parameters, because other statements of the script may have them.
    pub fn prepare_statement(&self, statement: &Statement, declared: &[Option<DataType>]) -> Result<Prepared> {
        let types = all_declared(statement, declared)?;
        let (types, schema) = match verb_of(statement.text()).as_str() {
            "SELECT" | "WITH" if is_select_into(statement.text()) => (InferredTypes::of(types), None),
            "SELECT" | "WITH" | "VALUES" | "FROM" | "TABLE" | "EXPLAIN" | "INSERT" | "REPLACE" | "UPDATE"
            | "DELETE" | "MERGE" | "" => {
                let described = self.described(statement, types);
                described.map_err(|error| with_statement_hint(error, statement.text()))?
            }
            "SHOW" | "DESCRIBE" | "DESC" => match self.execute(statement, &[])? {
                Answer::Rows(rows) => (InferredTypes::of(types), Some(rows.schema())),
                Answer::Done { .. } => (InferredTypes::of(types), None),
            },
            "SUMMARIZE" => (InferredTypes::of(types), Some(summarize::schema())),
            _ => (InferredTypes::of(types), None),
        };
        Ok(Prepared::new(statement, types, schema))
    }

    /// Prepares one statement like [`prepare`](Self::prepare), if that takes only a moment, because its description is
    /// known. `None` otherwise: then [`prepare`](Self::prepare) prepares it or returns the error.
    pub fn prepare_at_once(
        &self,
        text: &str,
        declared: &[Option<DataType>],
        present: &mut PresentState,
    ) -> Option<Prepared> {
        let mut statements = Statements::new(text);
        let statement = statements.next()?.ok()?;
        if statements.next().is_some() || !self.can_at_once(statement.text()) {
            return None;
        }
        let types = all_declared(&statement, declared).ok()?;
        let (snapshot, scope) = self.present(present)?;
        let key = PlanKey::of_declared(statement.text(), &types, snapshot.search_path())?;
        let (types, schema) = self.known_description(&key, &statement, &types, &snapshot, scope)?;
        Some(Prepared::new(&statement, types, schema))
    }

    /// Executes a prepared statement with a value for each parameter. A value whose type differs from the parameter's
    /// is converted if nothing is lost; text is read as a value of the type. Errors: those of
    /// [`execute`](Self::execute); for a value that does not have the parameter's type,
    /// [`ErrorKind::Sql`](atsdb_core::ErrorKind::Sql) or
    /// [`ErrorKind::InvalidValue`](atsdb_core::ErrorKind::InvalidValue).
    pub fn execute_prepared(&self, prepared: &Prepared, values: &[ParameterValue]) -> Result<Answer> {
        self.execute_prepared_checked(prepared, values, &|_| Ok(()))
    }

    /// [`execute_prepared`](Self::execute_prepared) for a caller that has promised the columns of the answer to others.
    /// If the statement changes rows and answers with rows, nothing is committed before `check` has accepted the
    /// columns of the answer. It is called again if the statement is retried, because other writers have changed the
    /// same rows, or the table. If it fails, nothing is stored. Errors: those of `execute_prepared`, and that of
    /// `check`.
    pub fn execute_prepared_checked(
        &self,
        prepared: &Prepared,
        values: &[ParameterValue],
        check: &dyn Fn(&SchemaRef) -> Result<()>,
    ) -> Result<Answer> {
        let values = bound(&prepared.parameter_types, values)?;
        self.execute_with(&prepared.statement, &Parameters::Values(values), check)
    }

    /// The types of a statement's parameters and the columns of its answer. A statement that was described under the
    /// same definitions is not planned again.
    fn described(&self, statement: &Statement, types: Vec<Option<DataType>>) -> Result<TypesAndColumns> {
        let (snapshot, scope) = self.snapshot_for_planning()?;
        let Some(key) = PlanKey::of_declared(statement.text(), &types, snapshot.search_path()) else {
            let described = self.describe_planned(statement, InferredTypes::of(types), &snapshot);
            return described.map(|(described, _)| described);
        };
        if let Some(known) = self.known_description(&key, statement, &types, &snapshot, scope) {
            return Ok(known);
        }
        let (described, reads_files) = self.describe_planned(statement, InferredTypes::of(types), &snapshot)?;
        // A file may have different columns the next time.
        if !reads_files {
            self.worker.keep_description(key, &described, snapshot.tables(), scope);
        }
        Ok(described)
    }

    /// The description of a statement, if it is known without planning.
    fn known_description(
        &self,
        key: &PlanKey,
        statement: &Statement,
        types: &[Option<DataType>],
        snapshot: &ReadSnapshot,
        scope: DefinitionScope,
    ) -> Option<TypesAndColumns> {
        if let Some(known) = self.worker.kept_description(key, snapshot.tables(), scope) {
            return Some(known);
        }
        if !types.is_empty() {
            return None;
        }
        let columns = self.columns_with_constants(statement, snapshot, scope)?;
        Some((InferredTypes::of(Vec::new()), Some(columns)))
    }

    /// Describes a statement by planning it, and returns whether it reads files.
    fn describe_planned(
        &self,
        statement: &Statement,
        types: InferredTypes,
        snapshot: &ReadSnapshot,
    ) -> Result<(TypesAndColumns, bool)> {
        let (parameters, tables) = (Parameters::Types(types.types.as_slice().into()), snapshot.tables().to_vec());
        let items = match may_change_in_with(statement.text()) {
            true => {
                let path = snapshot.search_path().clone();
                self.items_of_with(statement, &parameters, tables, path)?.unwrap_or_default()
            }
            false => Vec::new(),
        };
        if items.is_empty() {
            return self.describe_part(statement, types, snapshot, None);
        }
        let (mut types, mut known, mut rows) = (types, Vec::new(), Vec::new());
        for item in &items {
            let step = WithStep { item: Some(item.position), known: known.clone() };
            let step = Arc::new(StepRequest { step, rows: rows.clone() });
            let ((inferred, schema), _) = self.describe_part(statement, types, snapshot, Some(step))?;
            types = inferred;
            if let (Some(schema), true) = (schema, item.has_rows) {
                known.push(item.position);
                rows.push(Arc::new(ItemRows::new(item, &schema, Vec::new())?));
            }
        }
        let step = Arc::new(StepRequest { step: WithStep { item: None, known }, rows });
        self.describe_part(statement, types, snapshot, Some(step))
    }

    /// Describes a statement, or one step of it. Types that nothing in it determines stay unknown.
    fn describe_part(
        &self,
        statement: &Statement,
        types: InferredTypes,
        snapshot: &ReadSnapshot,
        step: Option<Arc<StepRequest>>,
    ) -> Result<(TypesAndColumns, bool)> {
        let worker = Arc::clone(&self.worker);
        let plan = |types: &[Option<DataType>]| {
            let query = Query {
                text: statement.text().to_owned(),
                position: statement.position(),
                parameters: Parameters::Types(types.into()),
                snapshot: snapshot.clone(),
                files: self.query_files(),
                scope: None,
            };
            let step = step.clone();
            worker.plan(move |state| match step {
                Some(step) => describe_step(&query, &step, state),
                None => describe(&query, state),
            })
        };
        let mut described = plan(&types.types)?;
        described.types = described.types.after(&types);
        let reads_files = described.reads_files;
        let rest = DescribeContext { worker: &worker, snapshot };
        if let Some(target) = &described.insert {
            let (table, _) = target.resolve_among(snapshot.tables())?;
            let mut types = described.types.clone();
            if let ConflictAction::Decide(_, Some(update)) = target.on_duplicate.meaning(&table)? {
                let parameters = Parameters::Types(types.types.as_slice().into());
                let (query, set) = update_query(&table, &update, &target.alias, &described.spellings, &parameters)?;
                types = rest.on_work_table(query, set)?.types.after(&types);
            }
            let returned = rest.returned(target.returning.as_ref(), &table, &described, types)?;
            return Ok((returned, reads_files));
        }
        if let Some(change) = &described.change {
            let types = described.types.clone();
            let returned = rest.returned(change.returning.as_ref(), &change.table, &described, types)?;
            return Ok((returned, reads_files));
        }
        if types.types.is_empty() {
            return Ok(((types, Some(described.schema)), reads_files));
        }
        // Parameters whose types were unknown may change the types of the answer.
        let schema = plan(&all_known(&described.types.types))?.schema;
        Ok(((described.types, Some(schema)), reads_files))
    }
}

/// The declared types of a statement's parameters, as many as it has at least.
fn all_declared(statement: &Statement, declared: &[Option<DataType>]) -> Result<Vec<Option<DataType>>> {
    let count = parameter_count(statement.text(), statement.position())?;
    let mut types = declared.to_vec();
    types.resize(count.max(declared.len()), None);
    Ok(types)
}

/// The types of parameters, with text for unknown ones.
fn known(types: Vec<Option<DataType>>) -> Vec<DataType> {
    types.into_iter().map(|data_type| data_type.unwrap_or(DataType::Utf8)).collect()
}

/// The types of parameters, with text for unknown ones, as types that are declared.
fn all_known(types: &[Option<DataType>]) -> Vec<Option<DataType>> {
    known(types.to_vec()).into_iter().map(Some).collect()
}

/// The context in which the queries that belong to a statement are described.
struct DescribeContext<'a> {
    worker: &'a Arc<Worker>,
    snapshot: &'a ReadSnapshot,
}

impl DescribeContext<'_> {
    fn on_work_table(&self, query: WorkQuery, columns: Vec<Option<DataType>>) -> Result<Description> {
        let snapshot = self.snapshot.clone();
        self.worker.plan(move |state| describe_on_work_table(query, &columns, &snapshot, state))
    }

    /// The types, including those inferred from `RETURNING`, and the columns of its rows.
    fn returned(
        &self,
        returning: Option<&Returning>,
        table: &Table,
        described: &Description,
        mut types: InferredTypes,
    ) -> Result<TypesAndColumns> {
        let Some(returning) = returning else { return Ok((types, None)) };
        let query = |types: &[Option<DataType>]| {
            let parameters = Parameters::Types(types.into());
            let rows = no_rows_with(table, returning.other_fields(&described.schema));
            returning.query(table, &rows, &described.spellings, &parameters)
        };
        types = self.on_work_table(query(&types.types)?, Vec::new())?.types.after(&types);
        let schema = self.on_work_table(query(&all_known(&types.types))?, Vec::new())?.schema;
        Ok((types, Some(schema)))
    }
}
