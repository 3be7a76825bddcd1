//! Changing the definitions of tables.

use crate::connection::{Connection, Value};
use crate::error::Attempt;
use crate::{list_rows, table};
use atsdb_core::checksum;
use atsdb_core::list::{ListChanges, ListKey, ListState};
use atsdb_core::name::name_key;
use atsdb_core::redefinition::last_definitions;
use atsdb_core::refusal;
use atsdb_core::stored_table;
use atsdb_core::{Redefinition, TableDefinition, TableId};

/// Applies the new definitions of visible tables. Names may be swapped: only the final names must be unique.
pub(crate) fn redefine(connection: &mut dyn Connection, redefinitions: &[Redefinition]) -> Attempt<()> {
    let last = last_definitions(redefinitions, |table| table::definition(connection, table))?;
    // All names are freed before the first is taken. No name contains a control character.
    let (mut changes, mut versions) = (ListChanges::default(), Vec::with_capacity(last.len()));
    for table in last.keys() {
        let sql = "SELECT id, version, checksum, name_key FROM atsdb_table WHERE id = $1";
        let mut before = connection.query_first(sql, &[table.0.into()])?.ok_or_else(|| refusal::no_table(*table))?;
        changes.subtract(ListKey::tables(None), table::list_entry(&mut before, 0)?.1);
        versions.push(before.int(1)? + 1);
        let free = format!("\u{1}{}", table.0);
        connection
            .execute("UPDATE atsdb_table SET name_key = $1 WHERE id = $2", &[free.as_str().into(), table.0.into()])?;
    }
    for ((table, definition), version) in last.into_iter().zip(versions) {
        changes.add(ListKey::tables(None), write(connection, table, version, definition)?);
    }
    list_rows::record(connection, &changes)
}

/// Returns the state of the table in the list of tables.
fn write(
    connection: &mut dyn Connection,
    table: TableId,
    version: i64,
    definition: &TableDefinition,
) -> Attempt<ListState> {
    let key = name_key(&definition.name);
    if connection.exists("SELECT 1 FROM atsdb_table WHERE stage = 0 AND name_key = $1", &[key.as_str().into()])? {
        return Err(refusal::table_exists(&definition.name).into());
    }
    let json = stored_table::to_json(definition)?;
    let checksum = checksum::of_definition(table, &json);
    let values: [Value<'_>; 6] = [
        definition.name.as_str().into(),
        key.as_str().into(),
        json.as_str().into(),
        checksum.into(),
        version.into(),
        table.0.into(),
    ];
    let sql = "UPDATE atsdb_table SET name = $1, name_key = $2, definition = $3, checksum = $4, version = $5
               WHERE id = $6";
    connection.execute(sql, &values)?;
    Ok(ListState::for_table(table, version, checksum, &key))
}
