//! `sqlite:FILE#TABLE`: the rows of a table of a SQLite file, as JSON objects for the importer.

use crate::console::ahead::{Ahead, Pieces};
use atsdb::name::unknown_name;
use atsdb::{Error, ErrorKind, Result};
use atsdb_import::Input;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::io;
use std::path::Path;

/// The size in bytes of what is handed over at once.
const PART_BYTES: usize = 256 << 10;

/// Whether an argument names a table of a SQLite file.
pub(super) fn is_sqlite(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("sqlite:"))
}

/// The rows of `sqlite:FILE#TABLE`. Without a table, the file must have only one.
pub(super) fn input(path: &Path) -> Result<Input> {
    let text = path.to_string_lossy();
    let place = text.strip_prefix("sqlite:").unwrap_or(&text);
    let (file, wanted) = match place.rsplit_once('#').filter(|_| !Path::new(place).exists()) {
        Some((file, table)) => (file, Some(table)),
        None => (place, None),
    };
    if !Path::new(file).is_file() {
        return Err(Error::not_found(format!("no file {file}")));
    }
    let failed = |error: rusqlite::Error| {
        Error::new(ErrorKind::InvalidValue, format!("cannot read {file} as SQLite: {error}")).with_source(error)
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(failed)?;
    let tables = tables(&connection).map_err(failed)?;
    let table = match (wanted, tables.as_slice()) {
        (Some(wanted), _) => {
            let known = tables.iter().find(|table| table.eq_ignore_ascii_case(wanted));
            known.ok_or_else(|| unknown_name("table", wanted, tables.iter().map(String::as_str)).context(file))?.clone()
        }
        (None, [table]) => table.clone(),
        (None, []) => return Err(Error::not_found(format!("{file} has no tables"))),
        (None, tables) => {
            return Err(Error::usage(format!("{file} has several tables")).with_hint(format!(
                "name one of them: sqlite:{file}#{}; there are: {}",
                tables[0],
                tables.join(", ")
            )));
        }
    };
    let name = format!("{table}.jsonl");
    let parts = Ahead::run(move |put| {
        if let Err(error) = put_rows(&connection, &table, put) {
            put(Err(io::Error::other(error)));
        }
    })?;
    Ok(Input::Reader(name, Box::new(Pieces::new(parts))))
}

/// The tables and views, without those of SQLite itself.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn put_rows(
    connection: &Connection,
    table: &str,
    put: &mut dyn FnMut(io::Result<Vec<u8>>) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!("SELECT * FROM \"{}\"", table.replace('"', "\"\"")))?;
    let is_bool = |declared: Option<&str>| declared.is_some_and(|name| name.to_ascii_uppercase().starts_with("BOOL"));
    let columns: Vec<(String, bool)> = statement
        .columns()
        .map(|column| (Value::from(column.name()).to_string(), is_bool(column.decl_type())))
        .collect();
    let mut rows = statement.query([])?;
    let mut part = Vec::with_capacity(PART_BYTES);
    while let Some(row) = rows.next()? {
        for (position, (name, is_bool)) in columns.iter().enumerate() {
            part.extend_from_slice(if position == 0 { b"{" } else { b"," });
            part.extend_from_slice(name.as_bytes());
            part.push(b':');
            part.extend_from_slice(json(row.get_ref(position)?, *is_bool).to_string().as_bytes());
        }
        part.extend_from_slice(b"}\n");
        if part.len() >= PART_BYTES && !put(Ok(std::mem::take(&mut part))) {
            return Ok(());
        }
    }
    put(Ok(part));
    Ok(())
}

/// A value as JSON: bytes as hexadecimal text behind `\x`.
fn json(value: ValueRef<'_>, is_bool: bool) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number @ (0 | 1)) if is_bool => Value::from(number == 1),
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) if number.is_finite() => Value::from(number),
        ValueRef::Real(number) => Value::from(number.to_string()),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            Value::from(format!("\\x{}", digits.collect::<String>()))
        }
    }
}
