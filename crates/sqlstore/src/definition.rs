//! Which tables a store has, and whether they are those of a format that this program knows.

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

/// Refuses a database whose tables, of which `names` are there, are no whole store or one of a newer format. Gives the
/// store's uid; none where there is no store, or one that is just being made.
pub fn check_format(connection: &mut dyn Connection, names: &[String], place: &str) -> Attempt<Option<[u8; 16]>> {
    let is_there = |table: &str| names.iter().any(|name| name == table);
    if !is_there("atsdb_store") {
        return match TABLES.iter().find(|table| is_there(table)) {
            Some(table) => {
                Err(Error::corrupt(format!("{place} has a table {table}, but its table atsdb_store is gone")).into())
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
    let format = format.map_err(|_| Error::corrupt(format!("the store {place} has lost its format")))?;
    if format > FORMAT {
        let message = format!("{place} has store format {format}; this program reads formats up to {FORMAT}");
        return Err(Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb").into());
    }
    let uid = value("uid")?.and_then(|uid| <[u8; 16]>::try_from(uid).ok());
    let uid = uid.ok_or_else(|| Error::corrupt(format!("the store {place} has lost its uid")))?;
    match TABLES.iter().find(|table| !is_there(table)) {
        Some(missing) => Err(Error::corrupt(format!("the store {place} has lost its table {missing}")).into()),
        None => Ok(Some(uid)),
    }
}
