//! Creating, dropping, listing and looking up tables.

use crate::error::Attempt;
use crate::list_rows;
use atsdb_core::checksum;
use atsdb_core::list::{ListChanges, ListKey, ListState};
use atsdb_core::name::{name_key, same_name};
use atsdb_core::refusal;
use atsdb_core::stored_table;
use atsdb_core::{
    DefinitionGuard, DefinitionVersion, LastTables, StageId, Table, TableDefinition, TableId, TablesRecord,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Adds a table that was checked. A staged table is only visible in its stage.
pub(crate) fn create(connection: &Connection, definition: &TableDefinition, stage: Option<StageId>) -> Attempt<Table> {
    let key = name_key(&definition.name);
    // A staged table is compared with the visible ones when its stage is committed, since its name may be free by then.
    if names(connection, stage)?.contains(&key) {
        return Err(refusal::table_exists(&definition.name).into());
    }
    let json = stored_table::to_json(definition)?;
    connection
        .prepare_cached(
            "INSERT INTO atsdb_table (name, name_key, definition, checksum, stage) VALUES (?1, ?2, ?3, 0, ?4)",
        )?
        .execute(params![definition.name, key, json, stage.map(|stage| stage.0)])?;
    // The checksum covers the number, which the file has just assigned.
    let id = TableId(connection.last_insert_rowid());
    let checksum = checksum::of_definition(id, &json);
    connection
        .prepare_cached("UPDATE atsdb_table SET checksum = ?2 WHERE id = ?1")?
        .execute(params![id.0, checksum])?;
    let table = Table::new(id, definition.clone());
    let mut changes = ListChanges::default();
    changes.add(ListKey::tables(stage), ListState::for_table(id, table.version.0, checksum, &key));
    list_rows::record(connection, &changes)?;
    Ok(table)
}

/// Deletes the row of a visible table, or of one in a stage. Returns whether it existed.
pub(crate) fn delete(connection: &Connection, table: TableId, stage: Option<StageId>) -> Attempt<bool> {
    let values = params![table.0, stage.map(|stage| stage.0)];
    let sql = "SELECT id, version, checksum, name_key FROM atsdb_table WHERE id = ?1 AND stage IS ?2";
    let Some(state) = connection.prepare_cached(sql)?.query_row(values, list_entry).optional()? else {
        return Ok(false);
    };
    connection.prepare_cached("DELETE FROM atsdb_table WHERE id = ?1 AND stage IS ?2")?.execute(values)?;
    let mut changes = ListChanges::default();
    changes.subtract(ListKey::tables(stage), state);
    list_rows::record(connection, &changes)?;
    Ok(true)
}

/// Returns the list state of a row with number, version, checksum and name key.
pub(crate) fn list_entry(row: &Row<'_>) -> rusqlite::Result<ListState> {
    let name_key = row.get_ref(3)?.as_str()?;
    Ok(ListState::for_table(TableId(row.get(0)?), row.get(1)?, row.get(2)?, name_key))
}

/// Returns the state of the list of visible tables, or of the tables in a stage.
pub(crate) fn state(connection: &Connection, stage: Option<StageId>) -> Attempt<ListState> {
    let sql = "SELECT id, version, checksum, name_key FROM atsdb_table NOT INDEXED WHERE stage IS ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([stage.map(|stage| stage.0)])?;
    let mut state = ListState::default();
    while let Some(row) = rows.next()? {
        state = state.plus(list_entry(row)?);
    }
    Ok(state)
}

/// Returns the name keys of the visible tables, or of those in a stage. They are read from the rows: a name that a
/// damaged index hides would be given to a second table.
fn names(connection: &Connection, stage: Option<StageId>) -> Attempt<BTreeSet<String>> {
    let sql = "SELECT id, version, checksum, name_key FROM atsdb_table NOT INDEXED WHERE stage IS ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([stage.map(|stage| stage.0)])?;
    let (mut names, mut state) = (BTreeSet::new(), ListState::default());
    while let Some(row) = rows.next()? {
        state = state.plus(list_entry(row)?);
        names.insert(row.get(3)?);
    }
    list_rows::check(connection, ListKey::tables(stage), state)?;
    Ok(names)
}

/// Returns the visible tables, or those in a stage, by number.
pub(crate) fn list(connection: &Connection, stage: Option<StageId>) -> Attempt<Vec<Table>> {
    let sql = "SELECT id, version, checksum, name_key, definition FROM atsdb_table WHERE stage IS ?1 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([stage.map(|stage| stage.0)])?;
    let (mut tables, mut state) = (Vec::new(), ListState::default());
    while let Some(row) = rows.next()? {
        state = state.plus(list_entry(row)?);
        tables.push(table(row)?);
    }
    list_rows::check(connection, ListKey::tables(stage), state)?;
    Ok(tables)
}

/// The visible tables as they were read last.
#[derive(Debug, Default)]
pub(crate) struct TableList(LastTables<Arc<[Table]>>);

impl TableList {
    /// Returns the visible tables by number.
    pub(crate) fn get(&self, connection: &Connection) -> Attempt<Arc<[Table]>> {
        self.0.get(recorded(connection)?, || Ok(list(connection, None)?.into()))
    }

    /// Returns the visible table with this name, compared without case.
    pub(crate) fn named(&self, connection: &Connection, name: &str) -> Attempt<Option<Table>> {
        let tables = self.get(connection)?;
        Ok(tables.iter().find(|table| same_name(&table.definition.name, name)).cloned())
    }
}

/// Returns the integrity record of the list of visible tables.
pub(crate) fn recorded(connection: &Connection) -> Attempt<TablesRecord> {
    let ListState { count, hash } = list_rows::recorded(connection, ListKey::tables(None))?;
    Ok(TablesRecord { count, hash })
}

/// Returns the definition of a visible table.
pub(crate) fn definition(connection: &Connection, id: TableId) -> Attempt<TableDefinition> {
    let sql = "SELECT id, version, checksum, name_key, definition FROM atsdb_table WHERE id = ?1 AND stage IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id.0])?;
    let row = rows.next()?.ok_or_else(|| refusal::no_table(id))?;
    Ok(table(row)?.definition)
}

fn table(row: &Row<'_>) -> Attempt<Table> {
    let (id, version) = (TableId(row.get(0)?), DefinitionVersion(row.get(1)?));
    let (checksum, key, json): (i64, String, String) = (row.get(2)?, row.get(3)?, row.get(4)?);
    Ok(stored_table::read(id, version, &key, &json, checksum)?)
}

/// Refuses a table that is neither visible nor in this stage.
pub(crate) fn require(connection: &Connection, table: TableId, stage: Option<StageId>) -> Attempt<()> {
    let sql = "SELECT 1 FROM atsdb_table WHERE id = ?1 AND (stage IS NULL OR stage = ?2)";
    if connection.prepare_cached(sql)?.exists(params![table.0, stage.map(|stage| stage.0)])? {
        return Ok(());
    }
    Err(refusal::no_table(table).into())
}

/// Refuses a table, visible or in this stage, that no longer exists or no longer has the definition that a change was
/// made under.
pub(crate) fn check_definition_version(
    connection: &Connection,
    based_on: &DefinitionGuard,
    stage: Option<StageId>,
) -> Attempt<()> {
    let DefinitionGuard { table, version, .. } = based_on;
    let sql = "SELECT version FROM atsdb_table WHERE id = ?1 AND (stage IS NULL OR stage = ?2)";
    let values = params![table.0, stage.map(|stage| stage.0)];
    match connection.prepare_cached(sql)?.query_row(values, |row| row.get::<_, i64>(0)).optional()? {
        None => Err(refusal::table_dropped(based_on).into()),
        Some(present) if present == version.0 => Ok(()),
        Some(_) => Err(refusal::definition_changed(based_on).into()),
    }
}

/// Refuses a table that does not exist, not even in a stage.
pub(crate) fn require_any(connection: &Connection, table: TableId) -> Attempt<()> {
    let sql = "SELECT 1 FROM atsdb_table WHERE id = ?1";
    match connection.prepare_cached(sql)?.query_row([table.0], |_| Ok(())).optional()? {
        Some(()) => Ok(()),
        None => Err(refusal::no_table(table).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{AccessMode, connect};
    use crate::error::Failure;
    use crate::schema;
    use atsdb_core::{ColumnType, ErrorKind};
    use rusqlite::StatementStatus;

    #[test]
    fn a_definition_that_says_more_than_is_known_is_refused_as_newer() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create(&connection, None).unwrap();
        let definition = TableDefinition::new("t").with_column("c", ColumnType::Int64, None);
        let id = create(&connection, &definition, None).unwrap().id;
        let json = stored_table::to_json(&definition).unwrap().replacen('{', "{\"encrypted\":true,", 1);
        let sql = "UPDATE atsdb_table SET definition = ?1, checksum = ?2";
        connection.execute(sql, params![json, checksum::of_definition(id, &json)]).unwrap();
        match list(&connection, None).unwrap_err() {
            Failure::Refused(error) => {
                assert_eq!(error.kind(), ErrorKind::NewerFormat);
                assert!(error.to_string().contains("encrypted"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tables_in_memory_are_those_that_the_record_says() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create(&connection, None).unwrap();
        let tables = TableList::default();
        let names = || {
            let tables = tables.get(&connection).unwrap();
            tables.iter().map(|table| table.definition.name.clone()).collect::<Vec<_>>()
        };
        let definition = |name: &str| TableDefinition::new(name).with_column("c", ColumnType::Int64, None);
        assert!(names().is_empty());
        let first = create(&connection, &definition("first"), None).unwrap().id;
        assert_eq!(names(), ["first"]);
        create(&connection, &definition("second"), None).unwrap();
        assert_eq!(names(), ["first", "second"]);
        let named = |name: &str| tables.named(&connection, name).unwrap().map(|table| table.definition.name);
        assert_eq!((named("SECOND"), named("third")), (Some("second".to_owned()), None));
        delete(&connection, first, None).unwrap();
        assert_eq!(named("first"), None);
        assert_eq!(names(), ["second"]);
        // The tables in memory are used, and not read again.
        connection.execute("UPDATE atsdb_table SET definition = 'damaged'", []).unwrap();
        assert_eq!(names(), ["second"]);
        assert!(TableList::default().get(&connection).is_err());
    }

    #[test]
    fn a_statement_is_prepared_once_whatever_is_bound() {
        let folder = tempfile::tempdir().unwrap();
        let connection =
            connect(&folder.path().join("a.db"), AccessMode::Write, true, std::time::Duration::ZERO).unwrap();
        schema::create(&connection, None).unwrap();
        let mut statement = connection.prepare("SELECT id FROM atsdb_table WHERE stage IS ?1 ORDER BY id").unwrap();
        for stage in [None, Some(1), None] {
            assert!(!statement.exists([stage]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
