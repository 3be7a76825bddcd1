//! Reading a table of any MariaDB or MySQL database, which need not hold a store.

mod catalogue;
mod column;
mod decode;
mod types;

use crate::error::{translate, translate_source};
use crate::server::BEGIN_READ;
use crate::store::{OPTIONS, client_options};
use crate::tls::Tls;
use atsdb_core::{Error, Result};
use atsdb_foreign::{
    BatchBuilder, ColumnChooser, ForeignColumn, ForeignTable, RowBatches, RowReader, choose, errors, find_table,
};
use atsdb_sqlstore::{Failure, Secret, ServerOptions, ServerUrl};
use catalogue::SourceTable;
use mysql::prelude::{BinQuery, Queryable, WithParams};
use mysql::{Binary, Conn, Params, QueryResult};
use types::{Encoding, Mapping};

/// The settings of the session. The server waits for a client that is busy with the rows before.
const SETUP: [&str; 5] = [
    "SET NAMES utf8mb4",
    "SET SESSION sql_mode = ''",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION net_write_timeout = 86400",
    "SET SESSION wait_timeout = 86400",
];

/// Opens a table or a view for reading: `table` is its name, with its database and a dot before it if that is not the
/// URL's. Of several addresses the first that answers is used, even if it is a replica.
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
    let location = url.shown();
    let warning = tls.mode.warning(&url, &location);
    let failed = |error: mysql::Error| translate_source(error, &location, table.unwrap_or_default());
    let mut connection = connect(&url, password, &tls, &location)?;
    set_up(&mut connection).map_err(failed)?;
    let mut source = find_table(
        &mut connection,
        &location,
        table,
        |connection, wanted| catalogue::find(connection, wanted).map_err(failed),
        |connection| catalogue::tables(connection).map_err(failed),
    )?;
    let left_out = choose(&mut source.columns, |column| &column.name, chooser)?;
    let mappings = mappings(&mut connection, &source).map_err(failed)?;
    if mappings.is_empty() {
        return Err(errors::no_columns(&location, table.unwrap_or_default()));
    }
    let sql = source.select(mappings.iter().map(|mapping| mapping.read_by));
    let rows = sql.with(Params::Empty).run(connection).map_err(failed)?;
    let names = source.columns.into_iter().map(|column| column.name);
    let (columns, encodings): (Vec<ForeignColumn>, Vec<Encoding>) = names
        .zip(mappings)
        .map(|(name, Mapping { column_type, encoding, remark, .. })| {
            (ForeignColumn { name, column_type, remark }, encoding)
        })
        .unzip();
    let rows = TableRows { rows, encodings, scratch: String::new(), location, name: source.name.clone() };
    let batches = Box::new(RowBatches::new(&source.name, &columns, rows));
    Ok(ForeignTable { name: source.name, columns, left_out, warning, batches })
}

/// Connects to the first address that answers.
fn connect(url: &ServerUrl, password: Option<&Secret>, tls: &Tls, location: &str) -> Result<Conn> {
    let connected = url.connect_to_any(|address| {
        let options = client_options(url, address, password, &ServerOptions::default());
        // A view may take any time.
        let opened = tls.connect(&options.read_timeout(None).write_timeout(None));
        opened.map_err(|error| translate(error, location, false))
    });
    connected.map_err(Failure::into_error)
}

/// Configures the session, and begins a transaction whose reads are all of this moment.
fn set_up(connection: &mut Conn) -> mysql::Result<()> {
    let version: Option<String> = connection.query_first("SELECT VERSION()")?;
    let time_limit = match version.is_some_and(|version| version.contains("MariaDB")) {
        true => "max_statement_time",
        false => "max_execution_time",
    };
    connection.query_drop(format!("SET SESSION {time_limit} = 0"))?;
    let begin = BEGIN_READ.split("; ");
    SETUP.into_iter().chain(begin).try_for_each(|statement| connection.query_drop(statement))
}

/// How each column is read. Some types follow from the values.
fn mappings(connection: &mut Conn, source: &SourceTable) -> mysql::Result<Vec<Mapping>> {
    let found: Vec<Result<Mapping, types::TypeByValues>> = source.columns.iter().map(types::mapping).collect();
    let questions: Vec<(usize, types::TypeByValues)> =
        found.iter().enumerate().filter_map(|(position, found)| Some((position, *found.as_ref().err()?))).collect();
    let mut answers = Vec::new();
    if !questions.is_empty() {
        let row: Option<mysql::Row> = connection.query_first(source.questions(&questions))?;
        answers = row.map_or_else(Vec::new, mysql::Row::unwrap);
    }
    let mut answers = answers.into_iter();
    let mut decide = |undecided: types::TypeByValues| {
        let answer = answers.next().and_then(|value| mysql::from_value_opt::<Option<String>>(value).ok().flatten());
        undecided.decide(answer.as_deref())
    };
    Ok(found.into_iter().map(|found| found.unwrap_or_else(&mut decide)).collect())
}

/// The rows, read as they arrive. Dropping them reads the remaining rows from the server.
struct TableRows {
    rows: QueryResult<'static, 'static, 'static, Binary>,
    encodings: Vec<Encoding>,
    /// The text of a value that the client returns in another form.
    scratch: String,
    location: String,
    name: String,
}

impl RowReader for TableRows {
    fn read_row(&mut self, batch: &mut BatchBuilder) -> Result<bool> {
        let Some(row) = self.rows.next() else { return Ok(false) };
        let row = row.map_err(|error| translate_source(error, &self.location, &self.name))?;
        for (position, encoding) in self.encodings.iter().enumerate() {
            let value = row.as_ref(position).ok_or_else(|| Error::internal("a row lacks a column"))?;
            batch.append(encoding.decode(value, &mut self.scratch))?;
        }
        Ok(true)
    }
}
