//! Changing the definitions of tables.

use crate::checksum;
use crate::error::Attempt;
use crate::table;
use atsdb_core::name::name_key;
use atsdb_core::{Error, ErrorKind, Redefinition, TableDefinition, TableId};
use rusqlite::{Connection, ffi, params};
use std::collections::BTreeMap;

/// Gives visible tables their new definitions. Names may be exchanged: what counts is who has which in the end.
pub(crate) fn redefine(connection: &Connection, redefinitions: &[Redefinition]) -> Attempt<()> {
    let mut last: BTreeMap<TableId, &TableDefinition> = BTreeMap::new();
    for Redefinition { table, from, to } in redefinitions {
        to.check()?;
        let same = match last.get(table) {
            Some(definition) => *definition == from,
            None => table::definition(connection, *table)? == *from,
        };
        if !same {
            let message = format!("table {} was changed by another writer", from.name);
            return Err(Error::new(ErrorKind::Conflict, message).into());
        }
        last.insert(*table, to);
    }
    // All names are free before the first is taken. None begins with NUL.
    for table in last.keys() {
        let sql = "UPDATE atsdb_table SET name_key = char(0) || id WHERE id = ?1";
        connection.prepare_cached(sql)?.execute([table.0])?;
    }
    last.into_iter().try_for_each(|(table, definition)| write(connection, table, definition))
}

fn write(connection: &Connection, table: TableId, definition: &TableDefinition) -> Attempt<()> {
    let json = table::json(definition)?;
    let checksum = checksum::of_definition(table, &json);
    let sql = "UPDATE atsdb_table SET name = ?2, name_key = ?3, definition = ?4, checksum = ?5, version = version + 1
               WHERE id = ?1";
    let values = params![table.0, definition.name, name_key(&definition.name), json, checksum];
    match connection.prepare_cached(sql)?.execute(values) {
        Err(error) if crate::error::primary_code(&error) == Some(ffi::SQLITE_CONSTRAINT) => {
            Err(table::exists(&definition.name).into())
        }
        other => Ok(other.map(|_| ())?),
    }
}
