//! `CREATE MATERIALIZED VIEW` and `REFRESH MATERIALIZED VIEW`: a table that gets the rows of its query in one commit.
//! Readers see the rows before or those after it. Not owned: other statements about it, which are those of a table or
//! of a view.

use super::dependents::hold_read;
use super::schemas::require_schema;
use super::state::Session;
use crate::ddl::from_query::{check_names, definition_of, with_room};
use crate::ddl::views::{RefreshView, ViewStatement, has_star, of_columns, with_columns};
use crate::dml::target::Target;
use crate::run::answer::{Answer, AnswerRows};
use crate::run::query::Query;
use crate::run::worker::Started;
use crate::write::insert::append_rows;
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, ErrorKind, MapWidth, MaterializedView, PUBLIC_SCHEMA, Result, Table, TableDefinition};
use atsdb_dialect::parse::named_schemas::with_schemas;
use atsdb_dialect::parse::query_text::query_of;
use atsdb_dialect::parse::statement::{parse_answer, parse_declaring};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{Scope, TableName, unknown_table};
use atsdb_engine::{Batch, ReadSnapshot};
use datafusion::sql::sqlparser::ast::{CreateTableOptions, CreateView, Statement as Ast};

const CREATE: &str = "CREATE MATERIALIZED VIEW";

impl Session {
    pub(super) fn view_statement(&self, statement: &ViewStatement<'_>, position: SourcePosition) -> Result<Answer> {
        match statement {
            ViewStatement::CreateMaterialized { text, with_data } => {
                self.create_materialized(text, position, *with_data)
            }
            ViewStatement::Refresh(refresh) => self.refresh_materialized(refresh),
            ViewStatement::DropMaterialized { names, if_exists, cascade } => {
                self.drop_relations(names, *if_exists, RelationKind::MaterializedView, *cascade)
            }
            ViewStatement::Rename(rename) => self.rename_view(rename),
        }
    }

    fn create_materialized(&self, text: &str, position: SourcePosition, with_data: bool) -> Result<Answer> {
        let Ast::CreateView(create) = parse_declaring(text, position, &Parameters::none())? else {
            return Err(sql_error("CREATE MATERIALIZED VIEW without a query"));
        };
        refuse_clauses(&create)?;
        self.retried(|| self.create_materialized_once(text, position, &create, with_data))
    }

    fn create_materialized_once(
        &self,
        text: &str,
        position: SourcePosition,
        create: &CreateView,
        with_data: bool,
    ) -> Result<Answer> {
        let new = self.new_name(&create.name, false)?;
        if let Some(other) = self.of_same_kind(&new, false)? {
            if create.if_not_exists {
                self.skip_existing(&create.name);
                return Ok(Answer::Done { verb: CREATE, row_count: None });
            }
            let what = RelationKind::of(&other.definition).noun();
            let message = format!("a {what} named {} already exists", new.shown());
            return Err(Error::new(ErrorKind::Exists, message)
                .with_hint("CREATE MATERIALIZED VIEW IF NOT EXISTS leaves it as it is"));
        }
        if self.temporary_read_by(&create.query)?.is_some() {
            return Err(sql_error("materialized views must not use temporary tables or views"));
        }
        let seen = self.tables()?;
        let (query, schema) = self.query_of_materialized(text, position, create)?;
        let definition = new.give(definition_of(&new.shown(), &schema)?);
        let definition = materialized_definition(definition, query, with_data);
        definition.check().map_err(as_sql_error)?;
        let row_count = self.with_batch(|batch| {
            require_schema(batch, &definition)?;
            let snapshot = batch.snapshot()?;
            hold_read(batch, &definition, &seen)?;
            let table = batch.create_table(&definition)?;
            match with_data {
                true => self.fill(batch, &table, &snapshot).map(Some),
                false => Ok(None),
            }
        })?;
        Ok(Answer::Done { verb: CREATE, row_count })
    }

    /// The query of a new materialized view, with schemas written and the columns named as declared, and its columns.
    fn query_of_materialized(
        &self,
        text: &str,
        position: SourcePosition,
        create: &CreateView,
    ) -> Result<(String, SchemaRef)> {
        let no_query = || sql_error("CREATE MATERIALIZED VIEW without a query");
        let (written, start) = query_of(text, position)?.ok_or_else(no_query)?;
        let shown: Vec<String> = column_names(&self.columns_of(written, start)?);
        let declared = create.columns.iter().map(|column| column.name.value.clone());
        if declared.len() > shown.len() {
            return Err(sql_error("too many column names were specified"));
        }
        let names: Vec<String> = declared.clone().chain(shown.iter().skip(declared.len()).cloned()).collect();
        let (tables, path) = (self.tables()?, self.search_path());
        let text = with_schemas(text, &create.query, Scope { tables: &tables, path: &path });
        let (query, start) = query_of(&text, position)?.ok_or_else(no_query)?;
        let columns = self.columns_of(query, start)?;
        let mut query = self.with_present_columns(query, &columns)?;
        let mut present = column_names(&columns);
        if let Some(Ast::Query(parsed)) = parse_answer(&query)
            && has_star(&parsed)
        {
            query = of_columns(&query, present.iter().map(String::as_str));
            let fixed = self.columns_of(&query, SourcePosition::START).map_err(|error| {
                error.context("the columns of * are written out").with_hint("write the columns instead of *")
            })?;
            present = column_names(&fixed);
        }
        if names != present {
            query = with_columns(&query, names.iter().map(String::as_str));
        }
        let schema = self.columns_of(&query, SourcePosition::START)?;
        check_names(&format!("materialized view {}", create.name), &schema)?;
        let schema = with_room(&schema, || self.computed_columns(&query, SourcePosition::START, &Parameters::none()))?;
        Ok((query, schema))
    }

    fn refresh_materialized(&self, refresh: &RefreshView) -> Result<Answer> {
        if refresh.is_concurrent && !refresh.with_data {
            return Err(sql_error("CONCURRENTLY and WITH NO DATA options cannot be used together"));
        }
        let (name, path) = (TableName::of(&refresh.name)?, self.search_path());
        self.with_batch_retried(|batch| {
            let tables = batch.tables()?;
            let table = name.find_by(&path, &tables).ok_or_else(|| unknown_table(&name, &tables))?;
            RelationKind::MaterializedView.require(&table.definition, refresh_verb)?;
            if refresh.is_concurrent {
                check_concurrent(&table.definition)?;
            }
            let snapshot = batch.snapshot()?;
            let refilled = batch.refill(table, refresh.with_data)?;
            match refresh.with_data {
                true => self.fill(batch, &refilled, &snapshot).map(drop),
                false => Ok(()),
            }
        })?;
        Ok(Answer::Done { verb: "REFRESH MATERIALIZED VIEW", row_count: None })
    }

    /// Adds the rows that the query of an empty materialized view has in a snapshot, and returns their number.
    fn fill(&self, batch: &mut Batch, table: &Table, snapshot: &ReadSnapshot) -> Result<u64> {
        let Some(materialized) = &table.definition.materialized else {
            return Err(Error::internal(format!("{} is not a materialized view", table.definition.name)));
        };
        let query = Query {
            text: materialized.query.clone(),
            position: SourcePosition::START,
            parameters: Parameters::none(),
            snapshot: snapshot.seen_by(table),
            files: None,
            scope: None,
        };
        let Started { rows, .. } = self.worker.start(query, &self.interrupt)?;
        append_rows(batch, table, &Target::all_of(table), AnswerRows::query(rows))
    }
}

/// The definition of a materialized view with the columns of its query.
fn materialized_definition(mut definition: TableDefinition, query: String, populated: bool) -> TableDefinition {
    // The dictionaries of the tables that it reads may become wider, so its own have the maximum width, except for
    // those of enumerated types.
    for column in definition.columns.iter_mut().filter(|column| column.map.is_some() && column.enumeration.is_none()) {
        column.map = Some(MapWidth::U32);
    }
    definition.materialized = Some(MaterializedView::new(query, populated));
    definition
}

fn column_names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// The statement that computes the rows of a relation anew, if there is one.
fn refresh_verb(kind: RelationKind) -> &'static str {
    match kind {
        RelationKind::Rollup => "REFRESH ROLLUP",
        RelationKind::MaterializedView => "REFRESH MATERIALIZED VIEW",
        RelationKind::Table | RelationKind::View | RelationKind::Sequence => "SELECT * FROM",
    }
}

fn refuse_clauses(create: &CreateView) -> Result<()> {
    let refused = [
        (create.columns.iter().any(|column| column.options.is_some()), "options of its columns"),
        (create.options != CreateTableOptions::None || !create.cluster_by.is_empty(), "WITH"),
        (create.secure || create.to.is_some() || create.copy_grants || create.comment.is_some(), "a clause"),
        (create.with_no_schema_binding, "a clause after the query"),
    ];
    match refused.into_iter().find(|(found, _)| *found) {
        Some((_, what)) => Err(not_supported(format_args!("CREATE MATERIALIZED VIEW with {what}"))
            .with_hint("write CREATE MATERIALIZED VIEW v AS SELECT")),
        None => Ok(()),
    }
}

/// Refuses to refresh a view concurrently under the conditions of PostgreSQL. Every refresh leaves readers alone.
fn check_concurrent(definition: &TableDefinition) -> Result<()> {
    if definition.is_unpopulated() {
        return Err(sql_error("CONCURRENTLY cannot be used when the materialized view is not populated")
            .with_hint("write REFRESH MATERIALIZED VIEW without CONCURRENTLY"));
    }
    if !definition.has_unique() {
        let (schema, name) = (definition.schema.as_deref().unwrap_or(PUBLIC_SCHEMA), definition.local_name());
        return Err(sql_error(format!("cannot refresh materialized view \"{schema}.{name}\" concurrently"))
            .with_hint("Create a unique index with no WHERE clause on one or more columns of the materialized view."));
    }
    Ok(())
}
