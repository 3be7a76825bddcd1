//! Keys of tables: primary keys, and foreign keys from both sides.

use arrow_flight::sql::CommandGetPrimaryKeys;
use atsdb::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray, UInt8Array};
use atsdb::arrow::datatypes::{DataType, Field, Schema};
use atsdb::name::same_name;
use atsdb::sql::{CATALOG, Session};
use atsdb::{Column, ErrorKind, PUBLIC_SCHEMA, ReferentialAction, Result, TableDefinition};
use std::sync::Arc;

/// The columns of a table's primary key. A table that does not exist has none.
pub(super) fn primary(session: &Session, command: &CommandGetPrimaryKeys) -> Result<RecordBatch> {
    let non_empty = |named: &Option<String>| named.clone().filter(|named| !named.is_empty());
    let is_here = non_empty(&command.catalog).is_none_or(|catalog| catalog == CATALOG);
    let (mut schemas, mut tables, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    let (mut names, mut numbers) = (Vec::new(), Vec::new());
    let found = match session.find_table(non_empty(&command.db_schema).as_deref(), &command.table) {
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
            schemas.push(definition.schema.clone().unwrap_or_else(|| PUBLIC_SCHEMA.to_owned()));
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

/// A table that a command names.
pub(super) struct NamedTable<'a> {
    catalog: Option<&'a str>,
    schema: Option<&'a str>,
    name: &'a str,
}

impl<'a> NamedTable<'a> {
    pub(super) fn of(catalog: &'a Option<String>, schema: &'a Option<String>, name: &'a str) -> Self {
        let non_empty = |named: &'a Option<String>| named.as_deref().filter(|named| !named.is_empty());
        Self { catalog: non_empty(catalog), schema: non_empty(schema), name }
    }

    fn is_of(&self, definition: &TableDefinition) -> bool {
        self.catalog.is_none_or(|catalog| catalog == CATALOG)
            && self.schema.is_none_or(|schema| same_name(schema, schema_of(definition)))
            && same_name(self.name, definition.local_name())
    }
}

/// The columns of the foreign keys of a child that refer to a parent. Without a name, any table is meant.
pub(super) fn foreign(
    session: &Session,
    parent: Option<&NamedTable<'_>>,
    child: Option<&NamedTable<'_>>,
) -> Result<RecordBatch> {
    let (mut texts, mut numbers): (Vec<[String; 8]>, Vec<i32>) = (Vec::new(), Vec::new());
    let (mut updates, mut deletes): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    let tables = session.tables()?;
    let is_meant = |named: Option<&NamedTable<'_>>, definition: &TableDefinition| {
        named.is_none_or(|named| named.is_of(definition))
    };
    for own in tables.iter().map(|table| &table.definition).filter(|own| is_meant(child, own)) {
        for key in &own.foreign_keys {
            let found = tables.iter().map(|table| &table.definition).find(|other| key.parent.is_of(other));
            let Some(other) = found.filter(|other| is_meant(parent, other)) else { continue };
            let is_of_key = |column: &&Column| key.parent_columns.iter().any(|name| same_name(name, &column.name));
            let unique = other.key_over(&other.columns.iter().filter(is_of_key).collect::<Vec<_>>());
            let unique = unique.map_or_else(String::new, |unique| other.key_name(unique));
            let columns = key.columns.iter().filter_map(|id| own.column_by_id(*id));
            for (number, (column, name)) in (1..).zip(columns.zip(&key.parent_columns)) {
                let row: [&str; 8] = [
                    schema_of(other),
                    other.local_name(),
                    name,
                    schema_of(own),
                    own.local_name(),
                    &column.name,
                    &key.name,
                    &unique,
                ];
                texts.push(row.map(str::to_owned));
                numbers.push(number);
                updates.push(rule(key.on_update));
                deletes.push(rule(key.on_delete));
            }
        }
    }
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
    let catalog = || -> ArrayRef { Arc::new(StringArray::from(vec![CATALOG; texts.len()])) };
    let column =
        |at: usize| -> ArrayRef { Arc::new(texts.iter().map(|row| Some(row[at].as_str())).collect::<StringArray>()) };
    let all: Vec<ArrayRef> = vec![
        catalog(),
        column(0),
        column(1),
        column(2),
        catalog(),
        column(3),
        column(4),
        column(5),
        Arc::new(Int32Array::from(numbers)),
        column(6),
        column(7),
        Arc::new(UInt8Array::from(updates)),
        Arc::new(UInt8Array::from(deletes)),
    ];
    Ok(RecordBatch::try_new(Arc::new(schema), all)?)
}

fn schema_of(definition: &TableDefinition) -> &str {
    definition.schema.as_deref().unwrap_or(PUBLIC_SCHEMA)
}

/// The number of a rule in Flight SQL.
fn rule(action: ReferentialAction) -> u8 {
    match action {
        ReferentialAction::Cascade => 0,
        ReferentialAction::Restrict => 1,
        ReferentialAction::SetNull => 2,
        ReferentialAction::NoAction => 3,
        ReferentialAction::SetDefault => 4,
    }
}
