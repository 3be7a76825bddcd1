//! The functions `atsdb_attach`, which creates a virtual table for each table of a store, and `atsdb_chunks_read`.

use crate::arguments::path_of;
use crate::error::{guarded, module_error};
use crate::shape::kind;
use crate::stores::Stores;
use crate::time_format::TimeFormat;
use atsdb_core::Table;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Result};
use std::sync::Arc;

/// Registers the functions.
pub(crate) fn register(host: &Connection, stores: &Arc<Stores>) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    for argument_count in 1..=3 {
        let stores = Arc::clone(stores);
        let call = move |context: &Context<'_>| guarded(|| attach(context, &stores));
        host.create_scalar_function("atsdb_attach", argument_count, flags, call)?;
    }
    let stores = Arc::clone(stores);
    host.create_scalar_function("atsdb_chunks_read", 0, flags, move |_| Ok(stores.chunks_read()))
}

/// Creates the virtual tables of `atsdb_attach(path, prefix, time)`, all or none, and returns how many.
fn attach(context: &Context<'_>, stores: &Arc<Stores>) -> Result<i64> {
    let argument =
        |number: usize| if number < context.len() { context.get::<Option<String>>(number) } else { Ok(None) };
    let url = argument(0)?.ok_or_else(|| module_error("atsdb_attach needs the path of a store"))?;
    let prefix = argument(1)?.unwrap_or_default();
    let time = argument(2)?.unwrap_or_else(|| "text".to_owned());
    TimeFormat::parse(&time)?;
    let path = path_of(&url)?;
    let snapshot = stores.open(&path)?.glance()?;
    // Views and tables in memory have no rows in the store.
    let has_rows = |table: &&Table| {
        matches!(kind(table), "table" | "rollup" | "materialized view") && !table.definition.is_unpopulated()
    };
    let tables = snapshot.tables().iter().filter(has_rows);
    let names: Vec<String> = tables.map(|table| table.definition.name.clone()).collect();
    stores.connection.with(|host| {
        for name in &names {
            let name = format!("{prefix}{name}");
            if is_taken(host, &name)? {
                return Err(module_error(format!(
                    "a table {name} already exists (give the tables of the store a prefix: atsdb_attach('{url}', 'air_'))"
                )));
            }
        }
        for (created, name) in names.iter().enumerate() {
            let sql = format!(
                "CREATE VIRTUAL TABLE temp.{} USING atsdb({}, {}, time={})",
                identifier(&format!("{prefix}{name}")),
                literal(&path),
                literal(name),
                literal(&time)
            );
            if let Err(error) = host.execute_batch(&sql) {
                for name in &names[..created] {
                    host.execute_batch(&format!("DROP TABLE temp.{}", identifier(&format!("{prefix}{name}"))))?;
                }
                return Err(error);
            }
        }
        Ok(names.len() as i64)
    })
}

/// Whether the name is taken, or a table of this name would be hidden by another one.
fn is_taken(host: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT count(*) FROM (SELECT name FROM sqlite_temp_schema UNION ALL SELECT name FROM main.sqlite_schema)
        WHERE name = ?1 COLLATE NOCASE";
    host.query_row(sql, [name], |row| Ok(row.get::<_, i64>(0)? > 0))
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
