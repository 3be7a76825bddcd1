//! A table as a row of a database: its number and version, its name and the name's [key](name_key), the definition as
//! JSON, and the [checksum](checksum::of_definition) of number and JSON. Not owned: the statements that read and write
//! the row, which each store has.

use crate::checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::id::TableId;
use crate::name::name_key;
use crate::schema::TableDefinition;
use crate::table::{DefinitionVersion, Table};

/// Returns the JSON form of a definition.
pub fn to_json(definition: &TableDefinition) -> Result<String> {
    serde_json::to_string(definition)
        .map_err(|error| Error::internal(format!("table {} has no JSON form: {error}", definition.name)))
}

/// Reads a row: the name's key, the JSON and its checksum.
pub fn read(id: TableId, version: DefinitionVersion, key: &str, json: &str, checksum: i64) -> Result<Table> {
    if checksum != checksum::of_definition(id, json) {
        return Err(Error::corrupt(format!("the definition of table {} is damaged", id.0)));
    }
    // The checksum matches, so a newer program wrote it.
    let newer = |error| {
        Error::new(ErrorKind::NewerFormat, format!("the definition of table {} cannot be read: {error}", id.0))
            .with_hint("upgrade atsdb")
    };
    let definition: TableDefinition = serde_json::from_str(json).map_err(newer)?;
    if name_key(&definition.name) != key {
        return Err(Error::corrupt(format!("the name of table {} is damaged", id.0)));
    }
    Ok(Table { id, version, definition })
}

/// Returns what is wrong with a row: the name, its key, the JSON and its checksum.
pub fn problems(id: TableId, name: &str, key: &str, json: &str, checksum: i64) -> Vec<String> {
    let mut problems = Vec::new();
    if checksum != checksum::of_definition(id, json) {
        problems.push("its definition is damaged".to_owned());
    }
    match serde_json::from_str::<TableDefinition>(json) {
        Err(error) => problems.push(format!("its definition cannot be read: {error}")),
        Ok(definition) => {
            if definition.name != name || name_key(name) != key {
                problems.push("its name is not the definition's".to_owned());
            }
            problems.extend(definition.check().err().map(|error| error.to_string()));
        }
    }
    problems
}
