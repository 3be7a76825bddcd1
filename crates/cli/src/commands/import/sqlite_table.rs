//! `sqlite:FILE#TABLE`: the rows of a table of an SQLite file, as JSON objects for the importer. A table without rows
//! has its declared columns.

use crate::console::prefetch::{Prefetch, PrefetchedBytes};
use atsdb::name::{same_name, unknown_name};
use atsdb::{ColumnType, Error, ErrorKind, ForeignColumn, ForeignTable, Result, TimeUnit, hex};
use atsdb_import::{Input, Options, cannot_open, chosen_columns};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::io;
use std::path::Path;

/// The size in bytes of what is handed over at once.
const PART_BYTES: usize = 256 << 10;

/// The table that every store in an SQLite file has.
const STORE_TABLE: &str = "atsdb_store";

/// Returns whether an argument names a table of an SQLite file.
pub(super) fn is_sqlite(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("sqlite:"))
}

/// The rows of `sqlite:FILE#TABLE`, with the columns that the options choose. Without a table, the file must have only
/// one. `is_only` says that there are no other inputs.
pub(super) fn input(path: &Path, options: &Options, is_only: bool) -> Result<Input> {
    let text = path.to_string_lossy();
    let place = text.strip_prefix("sqlite:").unwrap_or(&text);
    let (file, wanted) = match place.rsplit_once('#').filter(|_| !Path::new(place).exists()) {
        Some((file, table)) => (file, Some(table)),
        None => (place, None),
    };
    if !Path::new(file).is_file() {
        return Err(cannot_open(Path::new(file), io::ErrorKind::NotFound.into()));
    }
    let failed = |error: rusqlite::Error| {
        Error::new(ErrorKind::InvalidValue, format!("cannot read {file} as SQLite: {error}")).with_source(error)
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(failed)?;
    let tables = tables(&connection).map_err(failed)?;
    let known = wanted.and_then(|wanted| tables.iter().find(|table| table.eq_ignore_ascii_case(wanted)));
    let table = match (wanted, tables.as_slice()) {
        _ if known.is_none() && tables.iter().any(|table| table == STORE_TABLE) => {
            let tables = wanted.map_or(String::new(), |wanted| format!(" {wanted}"));
            return Err(Error::usage(format!("{file} is a store of atsdb"))
                .with_hint(format!("copy its tables: atsdb copy {file} URL{tables} --allow-non-empty")));
        }
        (Some(wanted), _) => {
            known.ok_or_else(|| unknown_name("table", wanted, tables.iter().map(String::as_str)).context(file))?.clone()
        }
        (None, [table]) => table.clone(),
        (None, []) => return Err(Error::not_found(format!("{file} has no tables"))),
        (None, tables) => {
            return Err(Error::usage(format!("{file} has several tables")).with_hint(format!(
                "name one of them: 'sqlite:{file}#{}'; available: {}",
                tables[0],
                tables.join(", ")
            )));
        }
    };
    let (name, shown) = (format!("{table}.jsonl"), format!("sqlite:{file}#{table}"));
    let names = columns(&connection, &table).map_err(failed)?;
    if is_empty(&connection, &table).map_err(failed)? {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let are_chosen = chosen_columns(options, &known, is_only)?;
        let columns = declared_columns(&connection, &table).map_err(failed)?;
        let (chosen, left_out): (Vec<_>, Vec<_>) =
            columns.into_iter().zip(are_chosen).partition(|(_, is_chosen)| *is_chosen);
        let columns = chosen.into_iter().map(|(column, _)| column).collect();
        let left_out = left_out.into_iter().map(|(column, _)| column.name).collect();
        let batches = Box::new(std::iter::empty());
        let empty = ForeignTable { name: shown, columns, left_out, warning: None, batches };
        return Ok(Input::Table(empty));
    }
    let select = select(&table, &names, options, is_only)?;
    let parts = Prefetch::run(move |put| {
        if let Err(error) = put_rows(&connection, &select, put) {
            put(Err(error));
        }
    })?;
    Ok(Input::Shown(Box::new(Input::Reader(name, Box::new(PrefetchedBytes::new(parts)))), shown))
}

/// The tables and views, without those of SQLite itself.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let statement = connection.prepare(&format!("SELECT * FROM {}", quoted(table)))?;
    Ok(statement.column_names().map(str::to_owned).collect())
}

fn is_empty(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    connection.query_row(&format!("SELECT NOT EXISTS (SELECT 1 FROM {})", quoted(table)), [], |row| row.get(0))
}

/// The columns of a table without rows: only their declared types are known.
fn declared_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<ForeignColumn>> {
    let statement = connection.prepare(&format!("SELECT * FROM {}", quoted(table)))?;
    let columns = statement.columns().map(|column| ForeignColumn {
        name: column.name().to_owned(),
        column_type: declared_type(column.decl_type().unwrap_or("")),
        remark: None,
    });
    Ok(columns.collect())
}

/// The type for a declared one, by the part of its name that comes first here.
fn declared_type(declared: &str) -> ColumnType {
    const TYPES: [(&str, ColumnType); 12] = [
        ("CHAR", ColumnType::Text),
        ("TEXT", ColumnType::Text),
        ("BOOL", ColumnType::Bool),
        ("TIMESTAMP", ColumnType::Timestamp(TimeUnit::Microsecond)),
        ("DATETIME", ColumnType::Timestamp(TimeUnit::Microsecond)),
        ("DATE", ColumnType::Date),
        ("INT", ColumnType::Int64),
        ("REAL", ColumnType::Float64),
        ("FLOA", ColumnType::Float64),
        ("DOUB", ColumnType::Float64),
        ("NUM", ColumnType::Float64),
        ("DEC", ColumnType::Float64),
    ];
    let declared = declared.to_ascii_uppercase();
    TYPES.iter().find(|(part, _)| declared.contains(part)).map_or(ColumnType::Text, |(_, column_type)| *column_type)
}

/// The statement that reads the chosen columns. One that `--omit` leaves out is there as NULL, so that the importer
/// finds its name.
fn select(table: &str, names: &[String], options: &Options, is_only: bool) -> Result<String> {
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let are_chosen = chosen_columns(options, &known, is_only)?;
    let is_omitted = |name: &str| options.omit.iter().any(|omitted| same_name(omitted, name));
    let columns = known.iter().zip(are_chosen).filter_map(|(name, is_chosen)| match is_chosen {
        true => Some(quoted(name)),
        false if is_omitted(name) => Some(format!("NULL AS {}", quoted(name))),
        false => None,
    });
    let columns: Vec<String> = columns.collect();
    let columns = if columns.is_empty() { "NULL".to_owned() } else { columns.join(", ") };
    Ok(format!("SELECT {columns} FROM {}", quoted(table)))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn put_rows(connection: &Connection, select: &str, put: &mut dyn FnMut(io::Result<Vec<u8>>) -> bool) -> io::Result<()> {
    let mut statement = connection.prepare(select).map_err(io::Error::other)?;
    let is_bool = |declared: Option<&str>| declared.is_some_and(|name| name.to_ascii_uppercase().starts_with("BOOL"));
    let columns: Vec<(String, bool)> = statement
        .columns()
        .map(|column| (Value::from(column.name()).to_string(), is_bool(column.decl_type())))
        .collect();
    let mut rows = statement.query([]).map_err(io::Error::other)?;
    let (mut part, mut row_number) = (Vec::with_capacity(PART_BYTES), 0_u64);
    while let Some(row) = rows.next().map_err(io::Error::other)? {
        row_number += 1;
        for (position, (name, is_bool)) in columns.iter().enumerate() {
            part.extend_from_slice(if position == 0 { b"{" } else { b"," });
            part.extend_from_slice(name.as_bytes());
            part.push(b':');
            let value = row.get_ref(position).map_err(io::Error::other)?;
            let value = json(value, *is_bool)
                .ok_or_else(|| io::Error::other(format!("row {row_number}, column {name}: a text is not UTF-8")))?;
            serde_json::to_writer(&mut part, &value)?;
        }
        part.extend_from_slice(b"}\n");
        if part.len() >= PART_BYTES && !put(Ok(std::mem::take(&mut part))) {
            return Ok(());
        }
    }
    put(Ok(part));
    Ok(())
}

/// A value as JSON: bytes as hexadecimal text after `\x`. `None` is a text that is not UTF-8.
fn json(value: ValueRef<'_>, is_bool: bool) -> Option<Value> {
    Some(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number @ (0 | 1)) if is_bool => Value::from(number == 1),
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) if number.is_finite() => Value::from(number),
        ValueRef::Real(number) => Value::from(number.to_string()),
        ValueRef::Text(text) => Value::from(std::str::from_utf8(text).ok()?),
        ValueRef::Blob(bytes) => Value::from(format!("\\x{}", hex::encode(bytes))),
    })
}
