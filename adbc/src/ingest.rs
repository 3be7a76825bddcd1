//! Bulk ingestion: bound data into a table, all or nothing, as batches of Arrow and not as SQL.

use crate::binding::BoundData;
use crate::failure::{invalid, of_store, with_state};
use crate::link::{Link, execute};
use crate::options;
use crate::table_from_schema::TableOptions;
use adbc_core::error::{Result, Status};
use adbc_core::options::{IngestMode, OptionStatement};
use atsdb::arrow::datatypes::SchemaRef;
use atsdb::sql::{Session, create_table_sql, quoted};
use atsdb::{BatchId, CommitOutcome, ErrorKind};
use std::sync::atomic::Ordering;

/// How often appending a batch is attempted while others change the table, if it can be read again.
const ATTEMPTS_MAX: usize = 20;

/// The target of a statement's ingestion, and its options.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ingestion {
    pub(crate) table: Option<String>,
    /// `None` creates a table.
    pub(crate) mode: Option<IngestMode>,
    pub(crate) table_options: TableOptions,
    pub(crate) batch_id: Option<String>,
}

impl Ingestion {
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
    pub(crate) fn run(&self, link: &Link, table: &str, data: BoundData) -> Result<u64> {
        link.check_writable()?;
        let mode = self.mode.unwrap_or(IngestMode::Create);
        let is_there = match link.session().table_named(table) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(of_store(error)),
        };
        match (mode, is_there) {
            (IngestMode::Append, false) => Err(with_state(
                Status::NotFound,
                ErrorKind::NotFound.sqlstate(),
                format!("there is no table {table} to append to"),
            )),
            (IngestMode::Create, true) => Err(with_state(
                Status::AlreadyExists,
                ErrorKind::Exists.sqlstate(),
                format!("table {table} already exists"),
            )),
            (IngestMode::Append | IngestMode::CreateAppend, true) => self.append(link, table, data),
            (IngestMode::Replace, true) => self.create(link, table, true, data),
            (IngestMode::Create | IngestMode::Replace | IngestMode::CreateAppend, false) => {
                self.create(link, table, false, data)
            }
        }
    }

    /// Creates the table and appends, in one transaction.
    fn create(&self, link: &Link, table: &str, drop_first: bool, data: BoundData) -> Result<u64> {
        if self.batch_id.is_some() {
            let key = options::INGEST_BATCH_ID;
            return Err(invalid(format!("the option {key} is for an existing table: create the table first")));
        }
        let statement = self.table_sql(table, &data.schema())?;
        link.in_transaction(|session| {
            if drop_first {
                execute(session, &format!("DROP TABLE {}", quoted(table)))?;
            }
            execute(session, &statement)?;
            append_in_transaction(link, session, table, data)
        })
    }

    fn table_sql(&self, table: &str, schema: &SchemaRef) -> Result<String> {
        self.table_options.definition(table, schema).map(|definition| create_table_sql(&definition))
    }

    fn append(&self, link: &Link, table: &str, data: BoundData) -> Result<u64> {
        let id = self.batch_id.clone().map(BatchId::new).transpose().map_err(of_store)?;
        link.begin_before("")?;
        let session = link.session();
        check_columns(&session, table, &data.schema())?;
        if session.in_transaction() {
            return match id {
                Some(_) => Err(invalid("rows of a transaction cannot be a batch with an id: use autocommit mode")),
                None => append_in_transaction(link, &session, table, data),
            };
        }
        let BoundData::Batch(batch) = data else {
            return append_as_batch(link, &session, table, id, data).map_err(of_store);
        };
        let mut attempt = 1;
        loop {
            let data = BoundData::Batch(batch.clone());
            match append_as_batch(link, &session, table, id.clone(), data) {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS_MAX => attempt += 1,
                done => return done.map_err(of_store),
            }
        }
    }
}

/// Checks that the table has all columns of the data. ADBC calls it a table that exists already if it has not.
fn check_columns(session: &Session, table: &str, data: &SchemaRef) -> Result<()> {
    let definition = session.table_named(table).map_err(of_store)?.definition;
    for field in data.fields() {
        if let Err(error) = definition.position(field.name()) {
            return Err(with_state(Status::AlreadyExists, "42703", error.to_string()));
        }
    }
    Ok(())
}

fn append_in_transaction(link: &Link, session: &Session, table: &str, data: BoundData) -> Result<u64> {
    let mut row_count = 0;
    for rows in data.batches() {
        link.check_not_cancelled().map_err(of_store)?;
        row_count += session.append(table, &rows.map_err(of_store)?).map_err(of_store)?;
    }
    Ok(row_count)
}

/// Appends as one batch of the engine. If a batch with the same id was committed before, nothing is stored.
fn append_as_batch(
    link: &Link,
    session: &Session,
    table: &str,
    id: Option<BatchId>,
    data: BoundData,
) -> atsdb::Result<u64> {
    let table = session.table_named(table)?;
    let mut batch = link.database().batch(id);
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

/// Checks the catalog or the schema of the target table: only one of each exists.
pub(crate) fn check_target(key: &OptionStatement, value: &str) -> Result<()> {
    let only = match key {
        OptionStatement::TargetCatalog => crate::objects::CATALOG,
        _ => crate::objects::SCHEMA,
    };
    if value.is_empty() || value.eq_ignore_ascii_case(only) {
        return Ok(());
    }
    Err(with_state(Status::NotFound, "3F000", format!("{} is always {only}, not {value}", key.as_ref())))
}
