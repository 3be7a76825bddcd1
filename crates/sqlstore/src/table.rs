//! Creating, dropping, listing and looking up tables.

use crate::connection::{Cell, Connection, Row, Value};
use crate::error::Attempt;
use crate::{list_rows, number_allocation};
use atsdb_core::checksum;
use atsdb_core::list::{ListChanges, ListKey, ListState};
use atsdb_core::name::name_key;
use atsdb_core::refusal;
use atsdb_core::stored_table;
use atsdb_core::{DefinitionGuard, DefinitionVersion, StageId, Table, TableDefinition, TableId};

/// Returns the number of a stage in the tables; 0 means visible.
pub(crate) fn stage_number(stage: Option<StageId>) -> i64 {
    stage.map_or(0, |stage| stage.0)
}

/// Adds a table that was checked. A staged table is only visible in its stage. The caller holds the change lock, or the
/// stage's.
pub(crate) fn create(
    connection: &mut dyn Connection,
    definition: &TableDefinition,
    stage: Option<StageId>,
) -> Attempt<Table> {
    let key = name_key(&definition.name);
    // A staged table is compared with the visible ones when its stage is committed, since its name may be free by then.
    let tables = names(connection, stage)?;
    list_rows::check(connection, ListKey::tables(stage), tables.iter().fold(ListState::default(), sum))?;
    if tables.iter().any(|(name_key, _)| *name_key == key) {
        return Err(refusal::table_exists(&definition.name).into());
    }
    let json = stored_table::to_json(definition)?;
    let id = TableId(number_allocation::next(connection, "table")?);
    let checksum = checksum::of_definition(id, &json);
    let values: [Value<'_>; 6] = [
        id.0.into(),
        stage_number(stage).into(),
        definition.name.as_str().into(),
        key.as_str().into(),
        json.as_str().into(),
        checksum.into(),
    ];
    connection.execute(
        "INSERT INTO atsdb_table (id, version, stage, name, name_key, definition, checksum)
         VALUES ($1, 1, $2, $3, $4, $5, $6)",
        &values,
    )?;
    let table = Table::new(id, definition.clone());
    let mut changes = ListChanges::default();
    changes.add(ListKey::tables(stage), ListState::for_table(id, table.version.0, checksum, &key));
    list_rows::record(connection, &changes)?;
    Ok(table)
}

/// Deletes the row of a visible table, or of one in a stage. Returns whether it existed.
pub(crate) fn delete(connection: &mut dyn Connection, table: TableId, stage: Option<StageId>) -> Attempt<bool> {
    let values = [table.0.into(), stage_number(stage).into()];
    let sql = "SELECT id, version, checksum, name_key FROM atsdb_table WHERE id = $1 AND stage = $2";
    let Some(mut row) = connection.query_first(sql, &values)? else { return Ok(false) };
    connection.execute("DELETE FROM atsdb_table WHERE id = $1 AND stage = $2", &values)?;
    let mut changes = ListChanges::default();
    changes.subtract(ListKey::tables(stage), list_entry(&mut row, 0)?.1);
    list_rows::record(connection, &changes)?;
    Ok(true)
}

/// Returns the name key of a table and its state in the list of tables, from number, version, checksum and name key.
pub(crate) fn list_entry(row: &mut Row, first: usize) -> Attempt<(String, ListState)> {
    let name_key = row.text(first + 3)?;
    let state = ListState::for_table(TableId(row.int(first)?), row.int(first + 1)?, row.int(first + 2)?, &name_key);
    Ok((name_key, state))
}

/// Returns the name keys of the visible tables, or of those in a stage, and each table's state in their list.
fn names(connection: &mut dyn Connection, stage: Option<StageId>) -> Attempt<Vec<(String, ListState)>> {
    let sql = "SELECT id, version, checksum, name_key FROM atsdb_table WHERE stage = $1";
    let rows = connection.query(sql, &[stage_number(stage).into()])?;
    rows.into_iter().map(|mut row| list_entry(&mut row, 0)).collect()
}

fn sum(list: ListState, (_, table): &(String, ListState)) -> ListState {
    list.plus(*table)
}

/// Returns the state of the list of visible tables, or of the tables in a stage.
pub(crate) fn state(connection: &mut dyn Connection, stage: Option<StageId>) -> Attempt<ListState> {
    Ok(names(connection, stage)?.iter().fold(ListState::default(), sum))
}

/// Records a dropped table, whose dictionaries `reclaim` deletes.
pub(crate) fn record_dropped(connection: &mut dyn Connection, table: TableId) -> Attempt<()> {
    connection.execute("INSERT INTO atsdb_dropped (table_id) VALUES ($1)", &[table.0.into()])?;
    Ok(())
}

/// Returns the visible tables, or those in a stage, by number.
pub(crate) fn list(connection: &mut dyn Connection, stage: Option<StageId>) -> Attempt<Vec<Table>> {
    // One query reads both, since each statement begins with it.
    let sql = "SELECT noted.entry_count, noted.hash, one.id, one.version, one.checksum, one.name_key, one.definition
               FROM atsdb_list noted LEFT JOIN atsdb_table one ON one.stage = $1
               WHERE noted.stage = $1 AND noted.table_id = 0 AND noted.column_id = -1 ORDER BY one.id";
    let key = ListKey::tables(stage);
    let rows = connection.query(sql, &[stage_number(stage).into()])?;
    let Some(first) = rows.first() else {
        // There is no record yet.
        key.check(state(connection, stage)?, ListState::default())?;
        return Ok(Vec::new());
    };
    let (recorded, mut found, mut tables) = (list_rows::state(first, 0)?, ListState::default(), Vec::new());
    for row in rows.into_iter().filter(|row| row.0.get(2) != Some(&Cell::Null)) {
        let (table, state) = table(row, 2)?;
        found = found.plus(state);
        tables.push(table);
    }
    key.check(found, recorded)?;
    Ok(tables)
}

/// Returns the visible table, or the one in a stage, with this name, compared without case. Only the whole list shows
/// that there is none: its record counts the tables.
pub(crate) fn named(connection: &mut dyn Connection, stage: Option<StageId>, name: &str) -> Attempt<Option<Table>> {
    let key = name_key(name);
    let sql = "SELECT id, version, checksum, name_key, definition FROM atsdb_table WHERE stage = $1 AND name_key = $2";
    match connection.query_first(sql, &[stage_number(stage).into(), key.as_str().into()])? {
        Some(row) => Ok(Some(table(row, 0)?.0)),
        None => Ok(list(connection, stage)?.into_iter().find(|table| name_key(&table.definition.name) == key)),
    }
}

/// Returns the definition of a visible table.
pub(crate) fn definition(connection: &mut dyn Connection, id: TableId) -> Attempt<TableDefinition> {
    let sql = "SELECT id, version, checksum, name_key, definition FROM atsdb_table WHERE id = $1 AND stage = 0";
    let row = connection.query_first(sql, &[id.0.into()])?.ok_or_else(|| refusal::no_table(id))?;
    Ok(table(row, 0)?.0.definition)
}

/// Returns a table and its state in the list of tables, from number, version, checksum, name key and definition.
fn table(mut row: Row, first: usize) -> Attempt<(Table, ListState)> {
    let (id, version, checksum) =
        (TableId(row.int(first)?), DefinitionVersion(row.int(first + 1)?), row.int(first + 2)?);
    let (name_key, state) = list_entry(&mut row, first)?;
    let json = row.text(first + 4)?;
    Ok((stored_table::read(id, version, &name_key, &json, checksum)?, state))
}

/// Refuses a table that is neither visible nor in this stage.
pub(crate) fn require(connection: &mut dyn Connection, table: TableId, stage: Option<StageId>) -> Attempt<()> {
    let sql = "SELECT 1 FROM atsdb_table WHERE id = $1 AND (stage = 0 OR stage = $2)";
    match connection.exists(sql, &[table.0.into(), stage_number(stage).into()])? {
        true => Ok(()),
        false => Err(refusal::no_table(table).into()),
    }
}

/// Refuses a table, visible or in this stage, that no longer exists or no longer has the definition that a change was
/// made under.
pub(crate) fn check_definition_version(
    connection: &mut dyn Connection,
    based_on: &DefinitionGuard,
    stage: Option<StageId>,
) -> Attempt<()> {
    let DefinitionGuard { table, version, .. } = based_on;
    let sql = "SELECT version FROM atsdb_table WHERE id = $1 AND (stage = 0 OR stage = $2)";
    let row = connection.query_first(sql, &[table.0.into(), stage_number(stage).into()])?;
    if row.ok_or_else(|| refusal::table_dropped(based_on))?.int(0)? == version.0 {
        return Ok(());
    }
    Err(refusal::definition_changed(based_on).into())
}

/// Refuses a table that does not exist, not even in a stage; else locks it, so that it stays until the transaction
/// ends.
pub(crate) fn lock(connection: &mut dyn Connection, table: TableId) -> Attempt<()> {
    match connection.exists("SELECT 1 FROM atsdb_table WHERE id = $1 FOR UPDATE", &[table.0.into()])? {
        true => Ok(()),
        false => Err(refusal::no_table(table).into()),
    }
}
