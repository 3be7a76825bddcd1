//! The errors of the [`Store`](crate::Store) contract, so that all stores report them in the same words. Not owned: the
//! errors of a store's medium.

use crate::chunk::ChunkId;
use crate::error::{Error, ErrorKind};
use crate::id::{ColumnId, TableId};
use crate::store::{BatchId, DefinitionGuard, StageId};

/// The hint for damage: how to find all of it, and how to repair it.
pub const VERIFY: &str = "run atsdb verify to list all damage, and restore what is damaged from a backup";

/// No table has this number.
pub fn no_table(table: TableId) -> Error {
    Error::not_found(format!("there is no table number {}; it was dropped", table.0))
}

/// Another table has this name. The entry of a schema is stored as a table whose name ends with a dot.
pub fn table_exists(name: &str) -> Error {
    let message = match name.strip_suffix('.') {
        Some(schema) => format!("the schema {schema} already exists"),
        None => format!("table {name} already exists"),
    };
    Error::new(ErrorKind::Exists, message)
}

/// A table is not defined as the change expects.
pub fn table_changed(name: &str) -> Error {
    conflict(format!("table {name} was changed by another writer"))
}

/// A table that the change is based on does not exist any more.
pub fn table_dropped(based_on: &DefinitionGuard) -> Error {
    Error::not_found(format!("table {} was dropped by another writer", based_on.name))
}

/// The definition has another version than the one that the change is based on.
pub fn definition_changed(based_on: &DefinitionGuard) -> Error {
    conflict(format!("the definition of table {} was changed by another writer", based_on.name))
}

/// The table with this name has a newer chunk than the change takes into account.
pub fn rows_added(table: &str) -> Error {
    conflict(format!("another writer added to table {table} in the meantime"))
}

/// A chunk that is to be removed does not exist in the table with this name.
pub fn chunk_replaced(table: &str, chunk: ChunkId) -> Error {
    conflict(format!("chunk {} of table {table} was replaced by another writer", chunk.0))
}

/// A chunk that is to be amended does not exist in the table with this name, or has another descriptor.
pub fn chunk_changed(table: &str, chunk: ChunkId) -> Error {
    conflict(format!("chunk {} of table {table} was changed by another writer", chunk.0))
}

/// A part of a batch was committed before.
pub fn part_exists(part: &BatchId) -> Error {
    conflict(format!("a part of the batch was committed before: {}", part.as_str()))
        .with_hint("send the batch without it")
}

/// No stage has this number.
pub fn no_stage(stage: StageId) -> Error {
    Error::not_found(format!("stage {} is not open; it was committed, abandoned or idle for too long", stage.0))
        .with_hint("send the batch again")
}

/// The table does not belong to the stage.
pub fn no_table_in_stage(stage: StageId, table: TableId) -> Error {
    Error::not_found(format!("there is no table number {} in stage {}", table.0, stage.0))
}

/// The chunk does not belong to the stage.
pub fn no_chunk_in_stage(stage: StageId, chunk: ChunkId) -> Error {
    conflict(format!("chunk {} is not in stage {}", chunk.0, stage.0))
}

/// The dictionary of a mapped column has no room for more strings.
pub fn dictionary_full(capacity: u64) -> Error {
    Error::new(ErrorKind::Limit, format!("the dictionary is full: it takes {capacity} strings"))
}

/// A chunk that a snapshot lists cannot be found.
pub fn chunk_missing(chunk: ChunkId) -> Error {
    Error::corrupt(format!("chunk {} is missing", chunk.0))
}

/// A page that a chunk's descriptor lists cannot be found.
pub fn page_missing(chunk: ChunkId, column: ColumnId) -> Error {
    Error::corrupt(format!("the page of column {} of chunk {} is missing", column.0, chunk.0))
}

/// A string differs from its checksum.
pub fn string_damaged(table: TableId, column: ColumnId, index: u32) -> Error {
    let message = format!("the dictionary of column {} of table {}: string {index} is damaged", column.0, table.0);
    Error::corrupt(message).with_hint(VERIFY)
}

/// A dictionary lacks the strings before this one.
pub fn strings_missing(table: TableId, column: ColumnId, index: u32) -> Error {
    let dictionary = format!("the dictionary of column {} of table {}", column.0, table.0);
    Error::corrupt(format!("{dictionary} has a hole before index {index}"))
}

fn conflict(message: String) -> Error {
    Error::new(ErrorKind::Conflict, message)
}
