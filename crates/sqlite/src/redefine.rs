//! Changing the definitions of tables.

use crate::error::Attempt;
use crate::list_rows;
use crate::table;
use atsdb_core::checksum;
use atsdb_core::list::{ListChanges, ListKey, ListState};
use atsdb_core::name::name_key;
use atsdb_core::redefinition::last_definitions;
use atsdb_core::refusal;
use atsdb_core::stored_table;
use atsdb_core::{Redefinition, TableDefinition, TableId};
use rusqlite::{Connection, Row, ffi, params};

/// Applies the new definitions of visible tables. Names may be swapped: only the final names must be unique.
pub(crate) fn redefine(connection: &Connection, redefinitions: &[Redefinition]) -> Attempt<()> {
    let last = last_definitions(redefinitions, |table| table::definition(connection, table))?;
    // All names are freed before the first is taken. None begins with NUL.
    let (mut changes, mut versions) = (ListChanges::default(), Vec::with_capacity(last.len()));
    for table in last.keys() {
        let sql = "SELECT id, version, checksum, name_key FROM atsdb_table WHERE id = ?1";
        let row = |row: &Row<'_>| Ok((row.get::<_, i64>(1)?, table::list_entry(row)?));
        let (version, before) = connection.prepare_cached(sql)?.query_row([table.0], row)?;
        changes.subtract(ListKey::tables(None), before);
        versions.push(version + 1);
        let sql = "UPDATE atsdb_table SET name_key = char(0) || id WHERE id = ?1";
        connection.prepare_cached(sql)?.execute([table.0])?;
    }
    for ((table, definition), version) in last.into_iter().zip(versions) {
        changes.add(ListKey::tables(None), write(connection, table, version, definition)?);
    }
    list_rows::record(connection, &changes)
}

/// Returns the state of the table in the list of tables.
fn write(connection: &Connection, table: TableId, version: i64, definition: &TableDefinition) -> Attempt<ListState> {
    let json = stored_table::to_json(definition)?;
    let checksum = checksum::of_definition(table, &json);
    let sql = "UPDATE atsdb_table SET name = ?2, name_key = ?3, definition = ?4, checksum = ?5, version = ?6
               WHERE id = ?1";
    let key = name_key(&definition.name);
    let values = params![table.0, definition.name, key, json, checksum, version];
    match connection.prepare_cached(sql)?.execute(values) {
        Err(error) if crate::error::primary_code(&error) == Some(ffi::SQLITE_CONSTRAINT) => {
            Err(refusal::table_exists(&definition.name).into())
        }
        other => Ok(other.map(|_| ListState::for_table(table, version, checksum, &key))?),
    }
}
