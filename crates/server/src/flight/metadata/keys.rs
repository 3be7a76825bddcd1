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
    let is =
        |named: &Option<String>, only: &str| named.as_deref().is_none_or(|named| named.is_empty() || named == only);
    let (mut tables, mut columns, mut names, mut numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let found = match session.table_named(&command.table) {
        Ok(table) => Some(table.definition).filter(|_| is(&command.catalog, CATALOG) && is(&command.db_schema, SCHEMA)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(definition) = &found
        && let Some(key) = definition.unique.iter().find(|unique| unique.primary)
    {
        let name = key.name.clone().unwrap_or_else(|| format!("{}_pkey", definition.name));
        let key_columns = key.columns.iter().filter_map(|id| definition.column_by_id(*id));
        for (number, column) in (1..).zip(key_columns) {
            tables.push(definition.name.clone());
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
        Arc::new(StringArray::from(vec![SCHEMA; tables.len()])),
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
