//! The tables of the catalogue about what was done with tables, indexes and the database: what the store counts of it,
//! and NULL for the rest.

use super::super::relation::Row;
use super::super::value::Value;
use super::objects::{IndexObject, Object, Objects};
use super::row::row;
use crate::pg::error::PgError;
use atsdb::Engine;

/// Returns whether a table of `pg_catalog` is one of these.
pub(super) fn has_rows(name: &str) -> bool {
    [
        "pg_stat_all_tables",
        "pg_stat_user_tables",
        "pg_statio_user_tables",
        "pg_stat_all_indexes",
        "pg_stat_user_indexes",
        "pg_stat_database",
    ]
    .contains(&name)
}

/// The rows of a table. `database` is the number, the name and the sessions of the database.
pub(super) fn rows(
    name: &str,
    objects: &Objects,
    engine: &Engine,
    (number, database, sessions): (i64, &str, usize),
) -> Result<Vec<Row>, PgError> {
    let stored = || objects.own().filter(|object| matches!(object.kind, 'r' | 'm'));
    match name {
        "pg_stat_database" => {
            let count = Value::Int(i64::try_from(sessions).unwrap_or(i64::MAX));
            let values = [("datid", Value::Int(number)), ("datname", Value::text(database)), ("numbackends", count)];
            Ok(vec![row("pg_catalog", name, &values)])
        }
        "pg_stat_all_indexes" | "pg_stat_user_indexes" => {
            let indexes = stored().flat_map(|object| object.indexes.iter().map(move |index| (object, index)));
            let of = |(object, index): (&Object, &IndexObject)| {
                let mut values = table(object);
                values.push(("indexrelid", Value::Int(index.number)));
                values.push(("indexrelname", Value::text(index.name.as_str())));
                row("pg_catalog", name, &values)
            };
            Ok(indexes.map(of).collect())
        }
        _ => {
            let of =
                |object: &Object| -> Result<Row, PgError> { Ok(row("pg_catalog", name, &counted(object, engine)?)) };
            stored().map(of).collect()
        }
    }
}

/// The names of a table, and how many rows it has.
fn counted(object: &Object, engine: &Engine) -> Result<Vec<(&'static str, Value)>, PgError> {
    let mut values = table(object);
    if let Some(stored) = &object.table {
        let rows = engine.stats(Some(stored))?.first().map(|stats| stats.rows);
        let rows = rows.and_then(|rows| i64::try_from(rows).ok());
        values.push(("n_live_tup", Value::maybe(rows)));
    }
    Ok(values)
}

fn table(object: &Object) -> Vec<(&'static str, Value)> {
    vec![
        ("relid", Value::Int(object.number)),
        ("schemaname", Value::text(object.schema.as_str())),
        ("relname", Value::text(object.name.as_str())),
    ]
}
