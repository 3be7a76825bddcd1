//! Catalogs, schemas, tables and their columns.

use crate::flight::rows::sent_schema;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{CommandGetCatalogs, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables};
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::datatypes::{Schema, SchemaRef};
use atsdb::sql::{CATALOG, Session, exact_name};
use atsdb::{Error, PUBLIC_SCHEMA, Result, Table, TableDefinition};
use std::sync::Arc;

/// The types of tables.
const TABLE_TYPES: [&str; 4] = ["TABLE", "VIEW", "ROLLUP", "MATERIALIZED VIEW"];

pub(super) fn catalogs(command: CommandGetCatalogs) -> Result<RecordBatch> {
    let mut builder = command.into_builder();
    builder.append(CATALOG);
    builder.build().map_err(failed)
}

pub(super) fn schemas(session: &Session, command: CommandGetDbSchemas) -> Result<RecordBatch> {
    let mut builder = command.into_builder();
    builder.append(CATALOG, PUBLIC_SCHEMA);
    session.schemas()?.iter().for_each(|schema| builder.append(CATALOG, schema));
    builder.build().map_err(failed)
}

pub(super) fn types(command: CommandGetTableTypes) -> Result<RecordBatch> {
    let mut builder = command.into_builder();
    TABLE_TYPES.iter().for_each(|name| builder.append(name));
    builder.build().map_err(failed)
}

/// The tables that fit a command's patterns.
pub(super) fn tables(session: &Session, mut command: CommandGetTables) -> Result<RecordBatch> {
    command.table_types.iter_mut().for_each(|name| *name = name.to_ascii_uppercase());
    let wants_columns = command.include_schema;
    let mut builder = command.into_builder();
    let mut tables = session.tables()?;
    // Change logs belong to tables and are not listed, and sequences are no tables.
    tables.retain(|table| table.definition.logs.is_none() && !table.definition.sequence);
    tables.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
    for table in &tables {
        let definition = &table.definition;
        let columns = if wants_columns { columns(session, table)? } else { Arc::new(Schema::empty()) };
        let schema = definition.schema.as_deref().unwrap_or(PUBLIC_SCHEMA);
        let (name, table_type) = (definition.local_name(), table_type(definition));
        builder.append(CATALOG, schema, name, table_type, &columns).map_err(failed)?;
    }
    builder.build().map_err(failed)
}

fn table_type(definition: &TableDefinition) -> &'static str {
    match (&definition.view, &definition.rollup) {
        (Some(_), _) => TABLE_TYPES[1],
        (None, Some(_)) => TABLE_TYPES[2],
        (None, None) if definition.materialized.is_some() => TABLE_TYPES[3],
        (None, None) => TABLE_TYPES[0],
    }
}

/// The columns as a query of the table sends them. A view that cannot be planned any more has none.
fn columns(session: &Session, table: &Table) -> Result<SchemaRef> {
    if table.definition.view.is_none() {
        return Ok(sent_schema(&atsdb::arrow_schema(&table.definition)));
    }
    let prepared = session.prepare(&format!("SELECT * FROM {}", exact_name(table)), &[]);
    let columns = prepared.ok().and_then(|prepared| prepared.schema().cloned());
    Ok(columns.map_or_else(|| Arc::new(Schema::empty()), |columns| sent_schema(&columns)))
}

/// An error while metadata is put together.
pub(super) fn failed(error: FlightError) -> Error {
    match error {
        FlightError::Arrow(error) => error.into(),
        other => Error::internal(other.to_string()),
    }
}
