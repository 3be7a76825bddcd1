//! The names of catalog, schemas and tables. A store has one catalog.

use atsdb::{Table, TemporaryTables};
use std::borrow::Cow;

/// The catalog of every store, as `information_schema` calls it.
pub(crate) const CATALOG: &str = "atsdb";
/// The schema of tables that are in no other.
pub(crate) const SCHEMA: &str = "public";

/// The schema of temporary tables.
pub(crate) const TEMPORARY_SCHEMA: &str = "pg_temp";

/// The schema that a table is listed in.
pub(crate) fn schema_of(table: &Table) -> &str {
    if TemporaryTables::contain(table) {
        return TEMPORARY_SCHEMA;
    }
    table.definition.schema.as_deref().unwrap_or(SCHEMA)
}

/// The name of a table in the schema `atsdb` of the catalogue.
pub(crate) fn name_in_catalogue(table: &Table) -> Cow<'_, str> {
    if TemporaryTables::contain(table) {
        return Cow::Owned(format!("{TEMPORARY_SCHEMA}.{}", table.definition.name));
    }
    Cow::Borrowed(&table.definition.name)
}
