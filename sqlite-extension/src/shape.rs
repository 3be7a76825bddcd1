//! The columns of a table as SQLite sees them.

use crate::error::{module_error, of_store};
use crate::time_format::{TimeFormat, TimeScale};
use crate::{decimal_text, time_text};
use atsdb_core::{ColumnType, Table, TableDefinition};
use atsdb_engine::ReadSnapshot;
use rusqlite::{Error, Result};
use std::ffi::CString;

/// A column's name and type, which must stay while a virtual table is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnShape {
    pub(crate) name: String,
    pub(crate) column_type: ColumnType,
}

/// The columns of a table.
pub(crate) fn shape_of(table: &Table) -> Vec<ColumnShape> {
    let shape =
        |column: &atsdb_core::Column| ColumnShape { name: column.name.clone(), column_type: column.column_type };
    table.definition.columns.iter().map(shape).collect()
}

/// Looks up a table by name, and refuses one that no virtual table can show.
pub(crate) fn find<'a>(snapshot: &'a ReadSnapshot, name: &str) -> Result<&'a Table> {
    let table = snapshot.table(name).map_err(of_store)?;
    let definition = &table.definition;
    if definition.view.is_some() {
        return Err(refused(
            definition,
            "is a view, and SQLite does not understand its query",
            "read the tables of the view, or use atsdb sql",
        ));
    }
    if definition.sequence {
        return Err(refused(
            definition,
            "is a sequence, which has no rows",
            "its numbers are drawn by nextval in atsdb sql",
        ));
    }
    if definition.is_in_memory() {
        return Err(refused(
            definition,
            "is a table in memory: its rows are in the process that writes it",
            "use atsdb sql there",
        ));
    }
    Ok(table)
}

/// Looks up a table by name, and refuses one whose rows are not all in the store.
pub(crate) fn find_complete<'a>(snapshot: &'a ReadSnapshot, name: &str) -> Result<&'a Table> {
    let table = find(snapshot, name)?;
    let definition = &table.definition;
    if definition.is_unpopulated() {
        let hint = "run REFRESH MATERIALIZED VIEW in atsdb sql";
        return Err(refused(definition, "is a materialized view without rows", hint));
    }
    if let Some(rollup) = &definition.rollup
        && !snapshot.stale_times(rollup).map_err(of_store)?.is_empty()
    {
        let hint = "run REFRESH ROLLUP, or use atsdb sql, which computes the rest";
        return Err(refused(definition, "is a rollup that is not up to date", hint));
    }
    Ok(table)
}

fn refused(definition: &TableDefinition, problem: &str, hint: &str) -> Error {
    module_error(format!("{} {problem} ({hint})", definition.name))
}

/// The kind of a table in a list.
pub(crate) fn kind(table: &Table) -> &'static str {
    let definition = &table.definition;
    match () {
        () if definition.view.is_some() => "view",
        () if definition.sequence => "sequence",
        () if definition.is_in_memory() => "memory",
        () if definition.rollup.is_some() => "rollup",
        () if definition.materialized.is_some() => "materialized view",
        () => "table",
    }
}

/// The declaration of the columns for SQLite.
pub(crate) fn declaration(columns: &[ColumnShape], format: TimeFormat) -> Result<CString> {
    let column = |column: &ColumnShape| {
        format!("\"{}\"{}", column.name.replace('"', "\"\""), sql_type(column.column_type, format))
    };
    let columns: Vec<String> = columns.iter().map(column).collect();
    CString::new(format!("CREATE TABLE x ({})", columns.join(", ")))
        .map_err(|_| module_error("a column's name contains a zero byte"))
}

/// The type that gives a column the right affinity: it decides to which type SQLite converts the operands of
/// comparisons with the column.
fn sql_type(column: ColumnType, format: TimeFormat) -> String {
    if let Some(scale) = TimeScale::of(column) {
        return match format {
            TimeFormat::Text => format!(" TEXT COLLATE {}", time_text::COLLATION),
            _ if scale.is_integer(format) => " INTEGER".to_owned(),
            _ => " REAL".to_owned(),
        };
    }
    match column {
        ColumnType::Bool => " BOOLEAN",
        ColumnType::Float32 | ColumnType::Float64 => " REAL",
        ColumnType::Text | ColumnType::Uuid | ColumnType::Json => " TEXT",
        // Exact decimals, times of day and intervals have no type in SQLite. An array is a JSON array.
        ColumnType::Decimal { .. } => return format!(" TEXT COLLATE {}", decimal_text::COLLATION),
        ColumnType::Time | ColumnType::Interval | ColumnType::Array(_) => " TEXT",
        ColumnType::Binary => " BLOB",
        // Numbers beyond SQLite's integers are text, which must not be converted to floating point.
        ColumnType::UInt64 => "",
        _ => " INTEGER",
    }
    .to_owned()
}
