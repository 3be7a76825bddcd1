//! The tables of a store, and the check of their format.

use crate::connection::Connection;
use crate::error::Attempt;
use atsdb_core::{Error, ErrorKind};

/// The format that this version writes, and the newest it reads.
pub const FORMAT: i64 = 1;

/// The tables of a store.
pub const TABLES: [&str; 14] = [
    "atsdb_batch",
    "atsdb_chunk",
    "atsdb_dropped",
    "atsdb_fresh",
    "atsdb_garbage",
    "atsdb_lease",
    "atsdb_list",
    "atsdb_map",
    "atsdb_number",
    "atsdb_sealed",
    "atsdb_stage",
    "atsdb_store",
    "atsdb_table",
    "atsdb_writer",
];

/// Checks the tables of a database, whose existing tables are `names`. An incomplete store and one of a newer format
/// are refused. Returns the store's uid, or `None` if there is no store or one that is still being created.
pub fn check_format(connection: &mut dyn Connection, names: &[String], location: &str) -> Attempt<Option<[u8; 16]>> {
    let is_there = |table: &str| names.iter().any(|name| name == table);
    if !is_there("atsdb_store") {
        return match TABLES.iter().find(|table| is_there(table)) {
            Some(table) => {
                Err(Error::corrupt(format!("{location} has a table {table}, but its table atsdb_store is missing"))
                    .into())
            }
            None => Ok(None),
        };
    }
    let mut value = |name: &str| {
        let row = connection.query_first("SELECT value FROM atsdb_store WHERE name = $1", &[name.into()])?;
        row.map(|mut row| row.bytes(0)).transpose()
    };
    let Some(format) = value("format")? else { return Ok(None) };
    let format = String::from_utf8_lossy(&format).parse::<i64>();
    let format = format.map_err(|_| Error::corrupt(format!("the store {location} lacks its format")))?;
    if format > FORMAT {
        let message = format!("{location} has store format {format}; this program reads formats up to {FORMAT}");
        return Err(Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb").into());
    }
    let uid = value("uid")?.and_then(|uid| <[u8; 16]>::try_from(uid).ok());
    let uid = uid.ok_or_else(|| Error::corrupt(format!("the store {location} lacks its uid")))?;
    match TABLES.iter().find(|table| !is_there(table)) {
        Some(missing) => Err(Error::corrupt(format!("the store {location} lacks its table {missing}")).into()),
        None => Ok(Some(uid)),
    }
}
