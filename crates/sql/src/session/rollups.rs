//! `CREATE ROLLUP`, `DROP ROLLUP` and `REFRESH ROLLUP`, and the conditions that rollups impose on other declarations.

use super::state::Session;
use crate::ddl::from_query::definition_of;
use crate::ddl::options::TableOptions;
use crate::rollup::check::{RollupDescription, describe_rollup};
use crate::rollup::query::{BucketedQuery, default_slice};
use crate::rollup::refresh::{Effort, Refresh, RefreshReport, rollups_named};
use crate::rollup::syntax::{CreateRollup, RollupStatement};
use crate::run::answer::Answer;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use atsdb_core::name::same_name;
use atsdb_core::{Error, ErrorKind, MapWidth, Result, Rollup, RollupState, Table, TableDefinition, TableId};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::table_names::{Scope, TableName};
use datafusion::sql::sqlparser::ast::ObjectName;
use std::sync::Arc;

impl Session {
    pub(super) fn rollup_statement(&self, statement: &RollupStatement) -> Result<Answer> {
        if self.in_transaction() {
            return Err(not_supported("a statement about rollups inside a transaction").with_hint("COMMIT first"));
        }
        match statement {
            RollupStatement::Create(create) => self.create_rollup(create),
            RollupStatement::Drop { names, if_exists } => self.drop_rollups(names, *if_exists),
            RollupStatement::Refresh { names } => {
                let names = names.iter().map(|name| self.rollup_name(name)).collect::<Result<Vec<_>>>()?;
                let reports = names.iter().map(|name| self.refresh_rollups(Some(name)));
                let rows = reports.map(|report| report.map(|report| report.rows)).sum::<Result<u64>>()?;
                Ok(Answer::Done { verb: "REFRESH ROLLUP", row_count: Some(rows) })
            }
        }
    }

    /// Computes the stale buckets of one rollup, or of all, including buckets that have not ended.
    pub fn refresh_rollups(&self, name: Option<&str>) -> Result<RefreshReport> {
        let rollups = rollups_named(&self.engine.snapshot()?, name)?;
        let mut report = RefreshReport::default();
        for rollup in rollups {
            let worker = Arc::clone(&self.worker);
            let refresh = Refresh { engine: &self.engine, worker: &worker, interrupt: &self.interrupt };
            let done = refresh.run(rollup.id, Effort::All, &|| true)?;
            report.rows += done.rows;
            report.steps += done.steps;
        }
        Ok(report)
    }

    /// All rollups, or the one with this name, each with the name of the table that it summarises.
    pub fn rollups(&self, name: Option<&str>) -> Result<Vec<(String, String)>> {
        let rollups = rollups_named(&self.engine.snapshot()?, name)?;
        let names = |table: Table| table.definition.rollup.map(|rollup| (table.definition.name, rollup.table));
        Ok(rollups.into_iter().filter_map(names).collect())
    }

    fn create_rollup(&self, create: &CreateRollup) -> Result<Answer> {
        if let Some(rollup) = self.retried(|| self.create_rollup_once(create))? {
            let worker = Arc::clone(&self.worker);
            let refresh = Refresh { engine: &self.engine, worker: &worker, interrupt: &self.interrupt };
            refresh.run(rollup.id, Effort::Ended, &|| true)?;
        }
        Ok(Answer::Done { verb: "CREATE ROLLUP", row_count: None })
    }

    /// Creates an empty rollup; `None` if there is one, and the statement accepts that.
    fn create_rollup_once(&self, create: &CreateRollup) -> Result<Option<Table>> {
        let new = self.new_name(&create.name, false)?;
        let (name, tables, path) = (new.shown(), self.tables()?, self.search_path());
        if let Some(table) = self.of_same_kind(&new, false)? {
            return match (create.if_not_exists, &table.definition.rollup) {
                (true, Some(_)) => {
                    self.skip_existing(&create.name);
                    Ok(None)
                }
                (_, Some(_)) => {
                    Err(exists("rollup", &name).with_hint("CREATE ROLLUP IF NOT EXISTS leaves it as it is"))
                }
                _ => Err(exists("table", &name)),
            };
        }
        let source = self.base_table(&create.table)?;
        if source.definition.rollup.is_some() {
            return Err(not_supported("a rollup of a rollup")
                .with_hint("roll up the same table with wider buckets, or GROUP BY in queries of this one"));
        }
        if source.definition.is_in_memory() {
            return Err(not_supported(format_args!("a rollup on the in-memory table {}", source.definition.name)));
        }
        let scope = Scope { tables: &tables, path: &path };
        let query = BucketedQuery::read(&create.query, create.position, &source, create.every.as_deref(), scope);
        let query = query.map_err(|error| error.context(format_args!("rollup {name}")))?;
        let described = self.describe_rollup(&query.text, &source);
        let described = described.map_err(|error| error.context(format_args!("rollup {name}")))?;
        let definition = new.give(rollup_definition(&name, create, query, &described, &source)?);
        definition.check().map_err(as_sql_error)?;
        self.with_batch(|batch| batch.create_rollup(&source, definition)).map(Some)
    }

    /// The name that a rollup has in the store.
    fn rollup_name(&self, name: &ObjectName) -> Result<String> {
        let name = TableName::of(name)?;
        let tables = self.tables()?;
        let found = name.find_by(&self.search_path(), &tables);
        Ok(found.map_or_else(|| name.to_string(), |table| table.definition.name.clone()))
    }

    fn describe_rollup(&self, query: &str, source: &Table) -> Result<RollupDescription> {
        let (query, source, snapshot) = (query.to_owned(), source.clone(), self.snapshot()?.0);
        self.worker.plan(move |state| describe_rollup(&query, &source, state, &snapshot))
    }

    fn drop_rollups(&self, names: &[ObjectName], if_exists: bool) -> Result<Answer> {
        self.retried(|| self.drop_rollups_once(names, if_exists))?;
        Ok(Answer::Done { verb: "DROP ROLLUP", row_count: None })
    }

    fn drop_rollups_once(&self, names: &[ObjectName], if_exists: bool) -> Result<()> {
        let mut rollups: Vec<Table> = Vec::new();
        for name in names {
            match self.table(name) {
                Ok(table) if table.definition.rollup.is_none() => {
                    let name = &table.definition.name;
                    let hint = RelationKind::of(&table.definition).drop_verb();
                    return Err(sql_error(format!("{name} is not a rollup")).with_hint(format!("{hint} {name}")));
                }
                Ok(table) if rollups.iter().all(|other| other.id != table.id) => rollups.push(table),
                Ok(_) => {}
                Err(error) if if_exists && error.kind() == ErrorKind::Sql => self.skip_missing("rollup", name),
                Err(error) => return Err(error),
            }
        }
        self.drop_all(&self.with_views(rollups, false)?)
    }

    /// Adds the rollups of tables that are to be dropped, before the tables. Without `cascade`, rollups that are not
    /// among the tables are an error.
    pub(super) fn with_rollups(&self, tables: Vec<Table>, cascade: bool) -> Result<Vec<Table>> {
        let all = self.tables()?;
        let source_of = |table: &Table| table.definition.rollup.as_ref().map(|rollup| rollup.source);
        let is_dropped = |table: TableId| tables.iter().any(|dropped| dropped.id == table);
        let rollups: Vec<Table> = all.into_iter().filter(|table| source_of(table).is_some_and(is_dropped)).collect();
        if let Some(rollup) = rollups.iter().find(|rollup| !cascade && !is_dropped(rollup.id)) {
            let table = rollup.definition.rollup.as_ref().map_or("", |rollup| rollup.table.as_str());
            let rollup = &rollup.definition.name;
            return Err(sql_error(format!("rollup {rollup} summarises table {table}"))
                .with_hint(format!("DROP ROLLUP {rollup} first, or DROP TABLE {table} CASCADE")));
        }
        let is_rollup = |table: &Table| rollups.iter().any(|rollup| rollup.id == table.id);
        let tables: Vec<Table> = tables.into_iter().filter(|table| !is_rollup(table)).collect();
        Ok(rollups.into_iter().chain(tables).collect())
    }

    /// Refuses a change of a table that would break its rollups, or an unsupported change of a rollup itself.
    pub(super) fn check_rollups(&self, from: &Table, to: &TableDefinition) -> Result<()> {
        let definition = &from.definition;
        if let Some(rollup) = &definition.rollup {
            let mut same = to.clone();
            same.name.clone_from(&definition.name);
            same.schema.clone_from(&definition.schema);
            (same.slice, same.retention, same.key) = (definition.slice, definition.retention, definition.key.clone());
            same.preload = definition.preload;
            (same.indexes, same.indexes_given) = (definition.indexes.clone(), definition.indexes_given);
            return match same == *definition {
                true => Ok(()),
                false => Err(sql_error(format!("{} is a rollup: its columns are those of its query", definition.name))
                    .with_hint(format!("CREATE another ROLLUP ON {}", rollup.table))),
            };
        }
        let (snapshot, _) = self.snapshot()?;
        for table in snapshot.rollups_of(from.id) {
            let (name, Some(rollup)) = (&table.definition.name, &table.definition.rollup) else { continue };
            let needed = |reason: String| {
                sql_error(format!("rollup {name} needs table {} as it is: {reason}", definition.name))
                    .with_hint(format!("DROP ROLLUP {name} first, and create it again"))
            };
            if !same_name(&to.name, &definition.name) {
                return Err(needed("its query names it".to_owned()));
            }
            let (query, source) = (rollup.query.clone(), Table { definition: to.clone(), ..from.clone() });
            let snapshot = snapshot.clone();
            let described = self.worker.plan(move |state| describe_rollup(&query, &source, state, &snapshot));
            let described = described.map_err(|error| needed(error.message().to_owned()))?;
            let id = |definition: &TableDefinition, name: &str| definition.column(name).ok().map(|column| column.id);
            if let Some(other) = described.reads.iter().find(|name| id(definition, name) != id(to, name)) {
                return Err(needed(format!("{other} would be another column")));
            }
            let now = definition_of(name, &stored(&described.schema))?;
            let types = |definition: &TableDefinition| {
                definition.columns.iter().map(|column| column.column_type).collect::<Vec<_>>()
            };
            if types(&now) != types(&table.definition) {
                return Err(needed("a column of it would change its type".to_owned()));
            }
        }
        Ok(())
    }
}

/// The columns of a rollup: sums of integers are kept as integers, and their averages as floats.
fn stored(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &FieldRef| match field.data_type() {
        DataType::Decimal128(38, 0) => Arc::new(field.as_ref().clone().with_data_type(DataType::Int64)),
        DataType::Decimal128(38, 16) => Arc::new(field.as_ref().clone().with_data_type(DataType::Float64)),
        _ => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

fn rollup_definition(
    name: &str,
    create: &CreateRollup,
    query: BucketedQuery,
    described: &RollupDescription,
    source: &Table,
) -> Result<TableDefinition> {
    let mut definition = definition_of(name, &stored(&described.schema))?;
    if let Some(column) = definition.columns.iter().find(|column| column.enumeration.is_some()) {
        let name = &column.name;
        return Err(not_supported(format_args!("column {name} of an enumerated type in a rollup"))
            .with_hint(format!("cast it: CAST({name} AS TEXT) AS {name}")));
    }
    // Dictionaries of the source may become wider, so those of the rollup have the maximum width.
    definition
        .columns
        .iter_mut()
        .filter(|column| column.map.is_some())
        .for_each(|column| column.map = Some(MapWidth::U32));
    let unit = source.definition.time_unit();
    let options = TableOptions::read(&create.options).map_err(as_sql_error)?;
    let slice = default_slice(&query.every, 1.0 / unit.per_second() as f64);
    let mut definition = options.apply_to_rollup(definition, &query.bucket, unit, slice).map_err(as_sql_error)?;
    definition.rollup = Some(Rollup {
        source: source.id,
        table: source.definition.name.clone(),
        schema: source.definition.schema.clone(),
        every: query.every,
        query: query.text,
        state: RollupState::new(atsdb_core::ChunkId(0)),
    });
    definition.check().map_err(as_sql_error)?;
    Ok(definition)
}

fn exists(what: &str, name: &str) -> Error {
    Error::new(ErrorKind::Exists, format!("a {what} named {name} already exists"))
}
