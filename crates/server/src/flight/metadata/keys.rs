//! Keys of tables. A store has no foreign keys.

use super::names::{CATALOG, SCHEMA};
use arrow_flight::sql::CommandGetPrimaryKeys;
use atsdb::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use atsdb::arrow::datatypes::{DataType, Field, Schema};
use atsdb::sql::Session;
use atsdb::{ErrorKind, Result};
use std::sync::Arc;

/// The columns of a table's primary key. A table that does not exist has none.
pub(super) fn primary(session: &Session, command: &CommandGetPrimaryKeys) -> Result<RecordBatch> {
    let said = |named: &Option<String>| named.clone().filter(|named| !named.is_empty());
    let is_here = said(&command.catalog).is_none_or(|catalog| catalog == CATALOG);
    let (mut schemas, mut tables, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    let (mut names, mut numbers) = (Vec::new(), Vec::new());
    let found = match session.find_table(said(&command.db_schema).as_deref(), &command.table) {
        Ok(table) => Some(table.definition).filter(|_| is_here),
        Err(error) if error.kind() == ErrorKind::Sql => None,
        Err(error) => return Err(error),
    };
    if let Some(definition) = &found
        && let Some(key) = definition.unique.iter().find(|unique| unique.primary)
    {
        let name = definition.key_name(key);
        let key_columns = key.columns.iter().filter_map(|id| definition.column_by_id(*id));
        for (number, column) in (1..).zip(key_columns) {
            schemas.push(definition.schema.clone().unwrap_or_else(|| SCHEMA.to_owned()));
            tables.push(definition.local_name().to_owned());
            columns.push(column.name.clone());
            names.push(name.clone());
            numbers.push(number);
        }
    }
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    let schema = Schema::new(vec![
        text("catalog_name", true),
        text("db_schema_name", true),
        text("table_name", false),
        text("column_name", false),
        text("key_name", true),
        Field::new("key_sequence", DataType::Int32, false),
    ]);
    let all: [ArrayRef; 6] = [
        Arc::new(StringArray::from(vec![CATALOG; tables.len()])),
        Arc::new(StringArray::from(schemas)),
        Arc::new(StringArray::from(tables)),
        Arc::new(StringArray::from(columns)),
        Arc::new(StringArray::from(names)),
        Arc::new(Int32Array::from(numbers)),
    ];
    Ok(RecordBatch::try_new(Arc::new(schema), all.to_vec())?)
}

/// The foreign keys, which are none.
pub(super) fn foreign() -> Result<RecordBatch> {
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    let rule = |name| Field::new(name, DataType::UInt8, false);
    let schema = Schema::new(vec![
        text("pk_catalog_name", true),
        text("pk_db_schema_name", true),
        text("pk_table_name", false),
        text("pk_column_name", false),
        text("fk_catalog_name", true),
        text("fk_db_schema_name", true),
        text("fk_table_name", false),
        text("fk_column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        text("fk_key_name", true),
        text("pk_key_name", true),
        rule("update_rule"),
        rule("delete_rule"),
    ]);
    Ok(RecordBatch::new_empty(Arc::new(schema)))
}
