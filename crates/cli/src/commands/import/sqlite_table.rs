//! `sqlite:FILE#TABLE`: the rows of a table of a SQLite file, as JSON objects for the importer.

use atsdb::name::unknown_name;
use atsdb::{Error, ErrorKind, Result};
use atsdb_import::Input;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The size in bytes of what is handed over at once.
const PART_BYTES: usize = 256 << 10;
/// The number of parts that wait.
const PARTS_MAX: usize = 4;

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
    let (sender, receiver) = sync_channel(PARTS_MAX);
    let name = format!("{table}.jsonl");
    let work = move || {
        if let Err(error) = send_rows(&connection, &table, &sender) {
            // Nobody listens any more if the import has ended.
            let _ = sender.send(Err(io::Error::other(error)));
        }
    };
    let started = std::thread::Builder::new().name("atsdb-sqlite".to_owned()).spawn(work);
    started.map_err(|error| Error::new(ErrorKind::Resources, format!("cannot start a thread: {error}")))?;
    Ok(Input::Reader(name, Box::new(Rows { receiver, part: Vec::new(), position: 0 })))
}

/// The tables and views, without those of SQLite itself.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn send_rows(connection: &Connection, table: &str, sender: &SyncSender<io::Result<Vec<u8>>>) -> rusqlite::Result<()> {
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
        if part.len() >= PART_BYTES && sender.send(Ok(std::mem::take(&mut part))).is_err() {
            return Ok(());
        }
    }
    let _ = sender.send(Ok(part));
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

/// The rows as they arrive.
struct Rows {
    receiver: Receiver<io::Result<Vec<u8>>>,
    part: Vec<u8>,
    position: usize,
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.part.len() {
            match self.receiver.recv() {
                Ok(part) => (self.part, self.position) = (part?, 0),
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.part.len() - self.position);
        buffer[..count].copy_from_slice(&self.part[self.position..self.position + count]);
        self.position += count;
        Ok(count)
    }
}
