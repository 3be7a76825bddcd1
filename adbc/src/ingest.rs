//! Bulk ingestion: bound data into a table, all or nothing, as batches of Arrow and not as SQL.

use crate::binding::BoundData;
use crate::failure::{invalid, invalid_state, of_store, with_state};
use crate::link::{Link, execute};
use crate::objects::{find_schema, no_current_schema};
use crate::options;
use crate::table_from_schema::TableOptions;
use adbc_core::error::{Result, Status};
use adbc_core::options::IngestMode;
use atsdb::arrow::datatypes::SchemaRef;
use atsdb::name::same_name;
use atsdb::sql::{CATALOG, Session, create_table_sql, exact_name};
use atsdb::{BatchId, CommitOutcome, Error, ErrorKind, PUBLIC_SCHEMA, Table, TemporaryTables};
use std::sync::atomic::Ordering;

/// How often appending a batch is attempted while others change the table, if it can be read again.
const ATTEMPTS_MAX: usize = 20;

/// The target of a statement's ingestion, and its options.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ingestion {
    pub(crate) table: Option<String>,
    /// The catalog of the table, if the caller names it: there is one.
    pub(crate) catalog: Option<String>,
    /// The schema of the table, if the caller names it.
    pub(crate) schema: Option<String>,
    /// Whether the catalog and the schema are those of an ingestion that was executed.
    names_last_place: bool,
    pub(crate) temporary: bool,
    /// `None` creates a table.
    pub(crate) mode: Option<IngestMode>,
    pub(crate) table_options: TableOptions,
    pub(crate) batch_id: Option<String>,
}

impl Ingestion {
    pub(crate) fn set_table(&mut self, table: String) {
        self.begin_place();
        self.table = Some(table);
    }

    pub(crate) fn set_catalog(&mut self, catalog: Option<String>) {
        self.begin_place();
        self.catalog = catalog;
    }

    pub(crate) fn set_schema(&mut self, schema: Option<String>) {
        self.begin_place();
        self.schema = schema;
    }

    /// The catalog and the schema of the last ingestion do not hold for another one: Python's driver manager sets them
    /// only if they are named, and its cursor keeps the statement.
    fn begin_place(&mut self) {
        if std::mem::take(&mut self.names_last_place) {
            (self.catalog, self.schema) = (None, None);
        }
    }

    /// The field for the text of a driver-specific option.
    pub(crate) fn text_mut(&mut self, key: &str) -> Option<&mut Option<String>> {
        Some(match key {
            options::INGEST_TIME => &mut self.table_options.time,
            options::INGEST_TIME_UNIT => &mut self.table_options.time_unit,
            options::INGEST_MAP => &mut self.table_options.map,
            options::INGEST_SLICE => &mut self.table_options.slice,
            options::INGEST_KEY => &mut self.table_options.key,
            options::INGEST_RETENTION => &mut self.table_options.retention,
            options::INGEST_BATCH_ID => &mut self.batch_id,
            _ => return None,
        })
    }

    /// Stores the data. Returns the number of stored rows.
    pub(crate) fn run(&mut self, link: &Link, table: &str, data: BoundData) -> Result<u64> {
        self.names_last_place = true;
        link.check_writable()?;
        let target = self.target(&link.session(), table)?;
        let mode = self.mode.unwrap_or(IngestMode::Create);
        match (mode, target.find(&link.session()).map_err(of_store)?) {
            (IngestMode::Append, None) => Err(of_store(target.missing())),
            (IngestMode::Create, Some(_)) => Err(with_state(
                Status::AlreadyExists,
                ErrorKind::Exists.sqlstate(),
                format!("table {table} already exists"),
            )),
            (IngestMode::Append | IngestMode::CreateAppend, Some(_)) => self.append(link, &target, data),
            (IngestMode::Replace, Some(replaced)) => self.create(link, &target, Some(&replaced), data),
            (IngestMode::Create | IngestMode::Replace | IngestMode::CreateAppend, None) => {
                self.create(link, &target, None, data)
            }
        }
    }

    fn target<'a>(&self, session: &Session, name: &'a str) -> Result<Target<'a>> {
        if self.temporary && (self.catalog.is_some() || self.schema.is_some()) {
            return Err(invalid_state("a temporary table is in no catalog and no schema: leave both out"));
        }
        let place = match &self.schema {
            _ if self.temporary => TargetPlace::Temporary,
            None => place_by_path(session, name)?,
            Some(schema) => TargetPlace::Schema(find_schema(session, schema)?),
        };
        Ok(Target { name, place })
    }

    /// Creates the table and appends, in one transaction.
    fn create(&self, link: &Link, target: &Target<'_>, replaced: Option<&Table>, data: BoundData) -> Result<u64> {
        if self.batch_id.is_some() {
            let key = options::INGEST_BATCH_ID;
            return Err(invalid(format!("the option {key} is for an existing table: create the table first")));
        }
        let statement = self.table_sql(&link.session(), target, &data.schema())?;
        link.in_transaction(|session| {
            if let Some(replaced) = replaced {
                execute(session, &format!("DROP TABLE {}", exact_name(replaced)))?;
            }
            execute(session, &statement)?;
            let table = target.existing(session).map_err(of_store)?;
            append_in_transaction(link, session, &table, data)
        })
    }

    fn table_sql(&self, session: &Session, target: &Target<'_>, schema: &SchemaRef) -> Result<String> {
        let mut definition = self.table_options.definition(target.name, schema)?;
        match &target.place {
            // Also `public` is said: the statement's table must not go where the search path says.
            TargetPlace::Schema(schema) => {
                definition.rename(Some(schema.as_deref().unwrap_or(PUBLIC_SCHEMA)), target.name)
            }
            // The rows of a temporary table are in memory, where no text is mapped.
            TargetPlace::Temporary if self.table_options.map.is_none() => {
                definition.columns.iter_mut().for_each(|column| column.map = None);
            }
            TargetPlace::Temporary => {}
            TargetPlace::Unsaid => definition = session.placed(definition).map_err(of_store)?,
        }
        let statement = create_table_sql(&definition);
        Ok(match target.place {
            TargetPlace::Temporary => statement.replacen("CREATE ", "CREATE TEMPORARY ", 1),
            TargetPlace::Schema(_) | TargetPlace::Unsaid => statement,
        })
    }

    fn append(&self, link: &Link, target: &Target<'_>, data: BoundData) -> Result<u64> {
        let id = self.batch_id.clone().map(BatchId::new).transpose().map_err(of_store)?;
        link.begin_before("")?;
        let session = link.session();
        let table = target.existing(&session).map_err(of_store)?;
        check_columns(&table, &data.schema())?;
        if session.in_transaction() {
            return match id {
                Some(_) => Err(invalid("rows of a transaction cannot be a batch with an id: use autocommit mode")),
                None => append_in_transaction(link, &session, &table, data),
            };
        }
        let BoundData::Batch(batch) = data else {
            return append_as_batch(link, &session, target, id, data).map_err(of_store);
        };
        let mut attempt = 1;
        loop {
            let data = BoundData::Batch(batch.clone());
            match append_as_batch(link, &session, target, id.clone(), data) {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS_MAX => attempt += 1,
                done => return done.map_err(of_store),
            }
        }
    }
}

/// The table of an ingestion.
struct Target<'a> {
    name: &'a str,
    place: TargetPlace,
}

/// Where it is.
enum TargetPlace {
    /// Nothing says it: in `public`, or in the schema that the name begins with.
    Unsaid,
    /// In a schema, spelled as it was created; `None` is `public`.
    Schema(Option<String>),
    Temporary,
}

/// Where a table is, or would be created, whose schema the caller does not say: by the connection's search path.
fn place_by_path(session: &Session, name: &str) -> Result<TargetPlace> {
    let path = session.search_path();
    if path.is_public() {
        return Ok(TargetPlace::Unsaid);
    }
    let (schemas, tables) = (session.schemas().map_err(of_store)?, session.tables().map_err(of_store)?);
    let stored = || tables.iter().filter(|table| !TemporaryTables::contain(table)).map(|table| &table.definition);
    let existing = path.existing(&schemas);
    let with_table = existing.iter().find(|schema| stored().any(|definition| definition.is_named(**schema, name)));
    if with_table.is_none() && stored().any(|table| table.schema.is_some() && same_name(&table.name, name)) {
        return Ok(TargetPlace::Unsaid);
    }
    let schema = with_table.or(existing.first()).ok_or_else(no_current_schema)?;
    Ok(TargetPlace::Schema(schema.map(str::to_owned)))
}

impl Target<'_> {
    /// The table, if it is there.
    fn find(&self, session: &Session) -> atsdb::Result<Option<Table>> {
        let is_it = |table: &Table| match &self.place {
            TargetPlace::Unsaid => !TemporaryTables::contain(table) && same_name(&table.definition.name, self.name),
            TargetPlace::Schema(schema) => {
                !TemporaryTables::contain(table) && table.definition.is_named(schema.as_deref(), self.name)
            }
            TargetPlace::Temporary => TemporaryTables::contain(table) && table.definition.is_named(None, self.name),
        };
        Ok(session.tables()?.into_iter().find(is_it))
    }

    fn existing(&self, session: &Session) -> atsdb::Result<Table> {
        self.find(session)?.ok_or_else(|| self.missing())
    }

    fn missing(&self) -> Error {
        let error = Error::not_found(format!("there is no table {} to append to", self.name));
        match self.place {
            TargetPlace::Temporary => error,
            TargetPlace::Schema(_) | TargetPlace::Unsaid => {
                error.with_hint("for a temporary table set the option adbc.ingest.temporary")
            }
        }
    }
}

/// Checks that the table has all columns of the data. ADBC calls it a table that exists already if it has not.
fn check_columns(table: &Table, data: &SchemaRef) -> Result<()> {
    for field in data.fields() {
        if let Err(error) = table.definition.position(field.name()) {
            return Err(with_state(Status::AlreadyExists, "42703", error.to_string()));
        }
    }
    Ok(())
}

/// Appends all rows to the open transaction. If some of them cannot be appended, none may be committed.
fn append_in_transaction(link: &Link, session: &Session, table: &Table, data: BoundData) -> Result<u64> {
    append_each(link, session, table, data).inspect_err(|_| session.fail_transaction())
}

fn append_each(link: &Link, session: &Session, table: &Table, data: BoundData) -> Result<u64> {
    let mut row_count = 0;
    for rows in data.batches() {
        link.check_not_cancelled().map_err(of_store)?;
        row_count += session.append_to(table, &rows.map_err(of_store)?).map_err(of_store)?;
    }
    Ok(row_count)
}

/// Appends as one batch of the engine. If a batch with the same id was committed before, nothing is stored.
fn append_as_batch(
    link: &Link,
    session: &Session,
    target: &Target<'_>,
    id: Option<BatchId>,
    data: BoundData,
) -> atsdb::Result<u64> {
    let table = target.existing(session)?;
    let mut batch = session.begin_batch(&table, id)?;
    let skipped_rows = batch.skipped_rows();
    let mut row_count = 0_u64;
    for rows in data.batches() {
        link.check_not_cancelled()?;
        let rows = rows?;
        batch.append(&table, &rows)?;
        row_count += rows.num_rows() as u64;
    }
    match batch.commit()? {
        CommitOutcome::Committed => Ok(row_count.saturating_sub(skipped_rows.load(Ordering::Relaxed))),
        CommitOutcome::Duplicate => Ok(0),
    }
}

/// Checks the catalog of the target table: there is only one.
pub(crate) fn check_catalog(key: &str, value: &str) -> Result<()> {
    if value.is_empty() || value.eq_ignore_ascii_case(CATALOG) {
        return Ok(());
    }
    Err(with_state(Status::NotFound, "3D000", format!("{key} is always {CATALOG}, not {value}")))
}
