//! The table that `CREATE TABLE ... AS` declares: one column for each column of the query, of a type that can hold its
//! values.

use super::enumerations::type_sql;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use atsdb_codec::{column_type_of, enumeration_of};
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::name::name_key;
use atsdb_core::{ColumnType, Enumeration, Result, TableDefinition};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::workarounds::CREATED_QUERY;
use datafusion::sql::sqlparser::ast::{CreateTable, SetExpr, TableAliasColumnDef, TableFactor};
use std::collections::HashSet;
use std::sync::Arc;

/// Digits after the point of a column of computed decimals, at least: those of a decimal without numbers.
const COMPUTED_SCALE_MIN: i8 = 9;

/// A definition with the columns of a schema.
pub(crate) fn definition_of(name: &str, schema: &SchemaRef) -> Result<TableDefinition> {
    check_names(&format!("table {name}"), schema)?;
    let mut definition = TableDefinition::new(name);
    for field in schema.fields() {
        let enumeration = enumeration_of(field);
        let (column_type, map) = match enumeration {
            Some(_) => (ColumnType::Text, Some(Enumeration::MAP)),
            None => column_type_of(field).ok_or_else(|| no_type(field))?,
        };
        definition = definition.with_column(field.name(), column_type, map);
        if let Some(column) = definition.columns.last_mut() {
            column.enumeration = enumeration;
        }
    }
    Ok(definition)
}

/// The columns of a query for a new table. A computed decimal gets as many digits as a decimal without numbers, because
/// its type follows from a few numbers in the query. `computed` marks the columns that are computed.
pub(crate) fn with_room(schema: &SchemaRef, computed: impl FnOnce() -> Result<Vec<bool>>) -> Result<SchemaRef> {
    if !schema.fields().iter().any(|field| matches!(field.data_type(), DataType::Decimal128(..))) {
        return Ok(Arc::clone(schema));
    }
    let fields = schema.fields().iter().zip(computed()?).map(|(field, is_computed)| match field.data_type() {
        DataType::Decimal128(_, scale) if is_computed => {
            let scale = (*scale).max(COMPUTED_SCALE_MIN);
            Arc::new(field.as_ref().clone().with_data_type(DataType::Decimal128(DECIMAL_DIGITS_MAX, scale)))
        }
        _ => Arc::clone(field),
    });
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The names of columns in `CREATE TABLE t (a, b) AS ...`, which the parser finds after the query.
pub(crate) fn names_of_columns(create: &CreateTable) -> &[TableAliasColumnDef] {
    let Some(SetExpr::Select(select)) = create.query.as_ref().map(|query| query.body.as_ref()) else { return &[] };
    match select.from.first().map(|from| &from.relation) {
        Some(TableFactor::Derived { alias: Some(alias), .. }) if alias.name.value == CREATED_QUERY => &alias.columns,
        _ => &[],
    }
}

/// The columns of a query. The first ones get these names.
pub(crate) fn named(schema: SchemaRef, names: &[TableAliasColumnDef]) -> Result<SchemaRef> {
    if names.is_empty() {
        return Ok(schema);
    }
    if names.len() > schema.fields().len() {
        return Err(sql_error("too many column names were specified"));
    }
    let fields = schema.fields().iter().enumerate().map(|(at, field)| match names.get(at) {
        Some(column) => Arc::new(field.as_ref().clone().with_name(column.name.value.as_str())),
        None => Arc::clone(field),
    });
    Ok(Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())))
}

/// The type name of a query's column in `DESCRIBE`.
pub(crate) fn type_name_of(field: &Field) -> String {
    if let Some(enumeration) = enumeration_of(field) {
        return type_sql(&enumeration.type_name);
    }
    match column_type_of(field) {
        Some((column_type, _)) => column_type.sql_name().into_owned(),
        None => field.data_type().to_string(),
    }
}

fn no_type(field: &Field) -> atsdb_core::Error {
    sql_error(format!("column {}: no table holds the type {}", field.name(), field.data_type()))
        .with_hint(format!("cast it: CAST({} AS DOUBLE), or AS TEXT", field.name()))
}

/// Checks that the names of columns are distinct.
pub(crate) fn check_names(what: &str, schema: &SchemaRef) -> Result<()> {
    let mut names = HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(name_key(field.name()))) {
        Some(field) => Err(sql_error(format!("{what} would have two columns named {}", field.name()))
            .with_hint(format!("give one another name: ... AS {}_2", field.name()))),
        None => Ok(()),
    }
}
