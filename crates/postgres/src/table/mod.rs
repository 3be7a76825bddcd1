//! Reading a table of any PostgreSQL database, which need not hold a store.

mod catalogue;
mod decode;
mod types;

use crate::connection::{IoThread, PostgresConnection};
use crate::error::translate_source;
use crate::store::{OPTIONS, config};
use crate::tls::Tls;
use atsdb_core::Result;
use atsdb_foreign::{
    BatchBuilder, ColumnChooser, ForeignColumn, ForeignTable, RowBatches, RowReader, Value, choose, errors, find_table,
};
use atsdb_sqlstore::{Attempt, Connection, Failure, Secret, ServerOptions, ServerUrl};
use catalogue::{SourceColumn, SourceTable};
use decode::{ArrayElements, Raw};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::RowStream;
use types::{Encoding, Mapping, numeric_from_values};

/// The settings of the session: texts of types that have no binary form here do not depend on the server's defaults.
const SETUP: &str = "SET lock_timeout = 0; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
    SET client_min_messages = warning; SET TimeZone = 'UTC'; SET DateStyle = ISO; SET IntervalStyle = postgres;
    SET extra_float_digits = 1; SET bytea_output = hex; SET standard_conforming_strings = on";

/// All reads of a table are of the moment of the first one.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Opens a table or a view for reading: `table` is its name, with its schema and a dot before it if it is not in the
/// search path. Of several addresses the first that answers is used, even if it is a standby.
///
/// `chooser` selects the columns that are read.
///
/// Errors: `Usage` (the URL, or no table named: the hint lists them), `NotFound` (no such database or table),
/// `Unavailable` (no connection, no login, no permission).
pub fn read_table(
    url: &str,
    password: Option<&Secret>,
    table: Option<&str>,
    chooser: &ColumnChooser<'_>,
) -> Result<ForeignTable> {
    let url = ServerUrl::parse(url, &OPTIONS)?;
    let tls = Tls::of(&url)?;
    let location: Arc<str> = url.shown().into();
    let warning = tls.mode.warning(&url, &location);
    let mut connection = connect(&url, password, &tls, &location).map_err(Failure::into_error)?;
    connection.run(BEGIN).map_err(Failure::into_error)?;
    let failed = |error: tokio_postgres::Error| translate_source(error, &location, table.unwrap_or_default());
    let mut source = find_table(
        &mut connection,
        &location,
        table,
        |connection, wanted| catalogue::find(connection, wanted).map_err(failed),
        |connection| catalogue::tables(connection).map_err(failed),
    )?;
    let left_out = choose(&mut source.columns, |column| &column.name, chooser)?;
    let mappings = mappings(&connection, &source).map_err(failed)?;
    if mappings.is_empty() {
        return Err(errors::no_columns(&location, table.unwrap_or_default()));
    }
    let rows = {
        let sql = source.select(mappings.iter().map(|(_, mapping)| mapping.cast()));
        connection.stream(&sql, &[]).map_err(failed)?
    };
    let (columns, encodings): (Vec<ForeignColumn>, Vec<ColumnEncoding>) = mappings
        .into_iter()
        .map(|(name, Mapping { column_type, encoding: values, is_array, remark, .. })| {
            (ForeignColumn { name, column_type, remark }, ColumnEncoding { values, is_array })
        })
        .unzip();
    let (rows, scratch, name) = (Box::pin(rows), String::new(), source.name.clone());
    let rows = TableRows { connection, rows, encodings, scratch, location, name };
    let batches = Box::new(RowBatches::new(&source.name, &columns, rows));
    Ok(ForeignTable { name: source.name, columns, left_out, warning, batches })
}

/// Connects to the first address that answers.
fn connect(url: &ServerUrl, password: Option<&Secret>, tls: &Tls, location: &Arc<str>) -> Attempt<PostgresConnection> {
    let (io_thread, answer_max) = (Arc::new(IoThread::new()?), ServerOptions::default().answer_max());
    url.connect_to_any(|address| {
        let how = (&config(url, address, password, tls), tls, SETUP);
        PostgresConnection::open(how, &io_thread, location, answer_max.min(Duration::from_secs(60)))
    })
}

/// How each column is read. The type of a `numeric` without a precision follows from its values.
fn mappings(
    connection: &PostgresConnection,
    source: &SourceTable,
) -> Result<Vec<(String, Mapping)>, tokio_postgres::Error> {
    let found: Vec<Option<Mapping>> = source.columns.iter().map(types::mapping).collect();
    let undecided: Vec<usize> = (0..found.len()).filter(|position| found[*position].is_none()).collect();
    let mut decided = Vec::new();
    if !undecided.is_empty() {
        let row = connection.texts(&source.numeric_bounds(&undecided), &[])?.pop().unwrap_or_default();
        decided =
            row.chunks_exact(2).map(|bounds| numeric_from_values(bounds[0].as_deref(), bounds[1].as_deref())).collect();
    }
    let mut decided = decided.into_iter();
    let mapping = |(column, found): (&SourceColumn, Option<Mapping>)| {
        Some((column.name.clone(), found.or_else(|| decided.next()?.of_column(column))?))
    };
    Ok(source.columns.iter().zip(found).filter_map(mapping).collect())
}

/// The form of a column's values.
#[derive(Debug, Clone, Copy)]
struct ColumnEncoding {
    /// The encoding of the values; of their elements if they are arrays.
    values: Encoding,
    is_array: bool,
}

/// The rows, read as they arrive.
struct TableRows {
    connection: PostgresConnection,
    rows: Pin<Box<RowStream>>,
    encodings: Vec<ColumnEncoding>,
    /// The text of a value that the server sends in another form.
    scratch: String,
    location: Arc<str>,
    name: String,
}

impl RowReader for TableRows {
    fn read_row(&mut self, batch: &mut BatchBuilder) -> Result<bool> {
        let row = self
            .connection
            .next_row(&mut self.rows)
            .map_err(|error| translate_source(error, &self.location, &self.name))?;
        let Some(row) = row else { return Ok(false) };
        for (position, encoding) in self.encodings.iter().enumerate() {
            let value = match row.try_get::<_, Option<Raw<'_>>>(position) {
                Ok(Some(Raw(bytes))) if encoding.is_array => match ArrayElements::parse(bytes, encoding.values) {
                    Ok(mut elements) => {
                        batch.append_array(&mut elements)?;
                        continue;
                    }
                    Err(error) => Err(error),
                },
                Ok(Some(Raw(bytes))) => encoding.values.decode(bytes, &mut self.scratch),
                Ok(None) => Ok(Value::Null),
                Err(error) => Err(error.to_string()),
            };
            batch.append(value)?;
        }
        Ok(true)
    }
}

impl Drop for TableRows {
    /// Otherwise the server would send the remaining rows.
    fn drop(&mut self) {
        self.connection.abort();
    }
}
