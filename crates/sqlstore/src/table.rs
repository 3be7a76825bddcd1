//! Tables: creating, dropping, listing, and asking whether one is there.

use crate::connection::{Connection, Row, Value};
use crate::error::Attempt;
use crate::{checksum, chunk_write, numbers, stage};
use atsdb_core::name::name_key;
use atsdb_core::{BasedOn, DefinitionVersion, Error, ErrorKind, Result, StageId, Table, TableDefinition, TableId};

/// The number that a stage has in the tables; 0 is what is visible.
pub(crate) fn stage_number(stage: Option<StageId>) -> i64 {
    stage.map_or(0, |stage| stage.0)
}

/// Adds a table that was checked; a staged one is seen only by its stage. The caller holds the change lock, or the
/// stage's.
pub(crate) fn create(
    connection: &mut dyn Connection,
    definition: &TableDefinition,
    stage: Option<StageId>,
) -> Attempt<Table> {
    if let Some(stage) = stage {
        stage::lock(connection, stage)?;
    }
    let (key, stage) = (name_key(&definition.name), stage_number(stage));
    // A staged table meets the visible ones when its stage is committed: what has the name now may be gone then.
    let sql = "SELECT 1 FROM atsdb_table WHERE stage = $1 AND name_key = $2";
    if connection.exists(sql, &[stage.into(), key.as_str().into()])? {
        return Err(exists(&definition.name).into());
    }
    let json = json(definition)?;
    let id = TableId(numbers::next(connection, "table")?);
    let values: [Value<'_>; 6] = [
        id.0.into(),
        stage.into(),
        definition.name.as_str().into(),
        key.as_str().into(),
        json.as_str().into(),
        checksum::of_definition(id, &json).into(),
    ];
    connection.execute(
        "INSERT INTO atsdb_table (id, version, stage, name, name_key, definition, checksum)
         VALUES ($1, 1, $2, $3, $4, $5, $6)",
        &values,
    )?;
    Ok(Table::new(id, definition.clone()))
}

/// The definition as stored.
pub(crate) fn json(definition: &TableDefinition) -> Result<String> {
    serde_json::to_string(definition)
        .map_err(|error| Error::internal(format!("table {} has no JSON form: {error}", definition.name)))
}

/// A table of that name is there already.
pub(crate) fn exists(name: &str) -> Error {
    Error::new(ErrorKind::Exists, format!("there is a table {name} already"))
}

/// Takes a table away. Its mappings and pages wait for `reclaim`; chunks of open stages are left, so that their
/// commit finds out. The caller holds the change lock.
pub(crate) fn drop(connection: &mut dyn Connection, table: TableId) -> Attempt<()> {
    if connection.execute("DELETE FROM atsdb_table WHERE id = $1 AND stage = 0", &[table.0.into()])? == 0 {
        return Err(missing(table).into());
    }
    note_dropped(connection, table)?;
    chunk_write::discard(connection, "stage = 0 AND table_id = $1", &[table.0.into()])?;
    Ok(())
}

/// Leaves the dictionaries of a table that is gone to `reclaim`.
pub(crate) fn note_dropped(connection: &mut dyn Connection, table: TableId) -> Attempt<()> {
    connection.execute("INSERT INTO atsdb_dropped (table_id) VALUES ($1)", &[table.0.into()])?;
    Ok(())
}

/// The visible tables, or those of a stage, by number.
pub(crate) fn list(connection: &mut dyn Connection, stage: Option<StageId>) -> Attempt<Vec<Table>> {
    let sql = "SELECT id, version, checksum, definition FROM atsdb_table WHERE stage = $1 ORDER BY id";
    connection.query(sql, &[stage_number(stage).into()])?.into_iter().map(table).collect()
}

/// The definition of a visible table.
pub(crate) fn definition(connection: &mut dyn Connection, id: TableId) -> Attempt<TableDefinition> {
    let sql = "SELECT id, version, checksum, definition FROM atsdb_table WHERE id = $1 AND stage = 0";
    let row = connection.query_first(sql, &[id.0.into()])?.ok_or_else(|| missing(id))?;
    Ok(table(row)?.definition)
}

fn table(mut row: Row) -> Attempt<Table> {
    let (id, version) = (TableId(row.int(0)?), DefinitionVersion(row.int(1)?));
    let (checksum, json) = (row.int(2)?, row.text(3)?);
    if checksum != checksum::of_definition(id, &json) {
        return Err(Error::corrupt(format!("the definition of table {} is damaged", id.0)).into());
    }
    // Undamaged, it is what a program wrote: one that knows more than this one.
    let newer = |error| {
        Error::new(ErrorKind::NewerFormat, format!("the definition of table {} cannot be read: {error}", id.0))
            .with_hint("upgrade atsdb")
    };
    Ok(Table { id, version, definition: serde_json::from_str(&json).map_err(newer)? })
}

/// Refuses a table that is neither visible nor of this stage.
pub(crate) fn require(connection: &mut dyn Connection, table: TableId, stage: Option<StageId>) -> Attempt<()> {
    let sql = "SELECT 1 FROM atsdb_table WHERE id = $1 AND (stage = 0 OR stage = $2)";
    match connection.exists(sql, &[table.0.into(), stage_number(stage).into()])? {
        true => Ok(()),
        false => Err(missing(table).into()),
    }
}

/// Refuses a table, visible or of this stage, that is gone or no longer has the definition that a change was made under.
pub(crate) fn require_version(
    connection: &mut dyn Connection,
    based_on: &BasedOn,
    stage: Option<StageId>,
) -> Attempt<()> {
    let BasedOn { table, version } = based_on;
    let sql = "SELECT version FROM atsdb_table WHERE id = $1 AND (stage = 0 OR stage = $2)";
    let row = connection.query_first(sql, &[table.0.into(), stage_number(stage).into()])?;
    if row.ok_or_else(|| missing(*table))?.int(0)? == version.0 {
        return Ok(());
    }
    let message = format!("the definition of table {} was changed by another writer", table.0);
    Err(Error::new(ErrorKind::Conflict, message).into())
}

/// Refuses a table that is not there at all, not even staged; else holds it, so that it stays until the transaction ends.
pub(crate) fn lock(connection: &mut dyn Connection, table: TableId) -> Attempt<()> {
    match connection.exists("SELECT 1 FROM atsdb_table WHERE id = $1 FOR UPDATE", &[table.0.into()])? {
        true => Ok(()),
        false => Err(missing(table).into()),
    }
}

/// The error for a table that is not there.
pub(crate) fn missing(table: TableId) -> Error {
    Error::not_found(format!("there is no table number {}; it was dropped", table.0))
}
