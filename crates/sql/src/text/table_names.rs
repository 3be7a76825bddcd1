//! Names of tables in statements.

use super::errors::sql_error;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::ObjectName;

/// The schema of temporary tables.
pub(crate) const TEMPORARY_SCHEMA: &str = "pg_temp";

/// The last part of a table's name. The part before it may only be the name of the single schema.
pub(crate) fn table_name(name: &ObjectName) -> Result<String> {
    let parts: Vec<&str> = name.0.iter().filter_map(|part| part.as_ident()).map(|ident| ident.value.as_str()).collect();
    match parts.as_slice() {
        [table] => Ok((*table).to_owned()),
        [schema, table] if ["main", "public"].iter().any(|known| known.eq_ignore_ascii_case(schema)) => {
            Ok((*table).to_owned())
        }
        _ => Err(sql_error(format!("no schema of the table {name}")).with_hint("write the table's name alone")),
    }
}

/// The error for a table that does not exist.
pub(crate) fn unknown_table(name: &str, tables: &[Table]) -> Error {
    let names = tables.iter().map(|table| table.definition.name.as_str());
    let unknown = atsdb_core::name::unknown_name("table", name, names);
    match unknown.hint() {
        Some(hint) => sql_error(unknown.message()).with_hint(hint),
        None => sql_error(unknown.message()),
    }
}
