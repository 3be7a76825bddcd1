//! Functions about databases. Users of one database have no rights in another.

use super::context::Context;
use super::find_row::{by_number, look_up};
use super::value::Value;
use crate::pg::error::PgError;

const DATABASES: (&str, &str) = ("pg_catalog", "pg_database");

/// Returns whether a database, given its name or number, is that of the connection.
pub(super) fn is_own_database(context: &Context<'_>, database: &Value) -> Result<bool, PgError> {
    match database {
        Value::Text(name) => Ok(name == context.database),
        number => Ok(by_number(context, DATABASES, number, "datname")? == Value::text(context.database)),
    }
}

/// `pg_database_size(database)`.
pub(super) fn database_size(context: &Context<'_>, database: &Value) -> Result<Value, PgError> {
    if database.is_null() {
        return Ok(Value::Null);
    }
    if is_own_database(context, database)? {
        let sizes = context.source.relation("internal", "sizes")?;
        let bytes = sizes.map_or(0, |sizes| sizes.rows.iter().filter_map(|row| row.get(1)?.int()).sum());
        return Ok(Value::Int(bytes));
    }
    let listed = match database {
        Value::Text(name) => {
            look_up(context, DATABASES, "datname", |value| value.shown().as_deref() == Some(name), "datname")?
        }
        number => Some(by_number(context, DATABASES, number, "datname")?).filter(|name| !name.is_null()),
    };
    match (listed, database) {
        (Some(name), _) => {
            let name = name.shown().unwrap_or_default();
            Err(PgError::error("42501", format!("permission denied for database {name}")))
        }
        (None, Value::Text(name)) => Err(PgError::error("3D000", format!("database \"{name}\" does not exist"))),
        // As in PostgreSQL, an unknown number is no error.
        (None, _) => Ok(Value::Null),
    }
}
