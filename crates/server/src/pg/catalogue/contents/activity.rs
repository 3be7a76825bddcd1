//! The tables of the catalogue about what runs: sessions, statements, prepared statements.

use super::super::activity::{Backend, CursorEntry, PreparedEntry};
use super::super::relation::Row;
use super::super::value::Value;
use super::roles::Roles;
use super::row::row;
use crate::pg::types::known;
use crate::pg::wire::outgoing::TransactionStatus;
use atsdb::sql::{HeldLock, LockKey, LockMode};

/// The rows of `pg_stat_activity`, for the database with this number and name.
pub(super) fn backends(backends: &[Backend], database: (i64, &str), roles: &Roles) -> Vec<Row> {
    backends.iter().map(|backend| of_backend(backend, database, roles)).collect()
}

fn of_backend(backend: &Backend, (number, database): (i64, &str), roles: &Roles) -> Row {
    let user = backend.user.as_deref();
    let state = match (&backend.running, backend.idle) {
        (Some(_), _) | (None, None) => "active",
        (None, Some((TransactionStatus::Idle, _))) => "idle",
        (None, Some((TransactionStatus::Open, _))) => "idle in transaction",
        (None, Some((TransactionStatus::Failed, _))) => "idle in transaction (aborted)",
    };
    let began = backend.running.as_ref().map(|(_, began)| *began);
    let changed = began.or(backend.idle.map(|(_, since)| since));
    let waits = |word: &str| if backend.running.is_none() { Value::text(word) } else { Value::Null };
    row(
        "pg_catalog",
        "pg_stat_activity",
        &[
            ("datid", Value::Int(number)),
            ("datname", Value::text(database)),
            ("pid", Value::Int(i64::from(backend.process))),
            ("usesysid", Value::maybe(user.map(|user| roles.number(user)))),
            ("usename", Value::maybe(user)),
            ("application_name", Value::text(backend.application.as_str())),
            ("client_addr", Value::maybe(backend.address.map(|address| address.to_string()))),
            ("backend_start", time(backend.started_ns)),
            ("query_start", time(began)),
            ("state_change", time(changed)),
            ("wait_event_type", waits("Client")),
            ("wait_event", waits("ClientRead")),
            ("state", Value::text(state)),
            ("query", Value::text(backend.running.as_ref().map_or("", |(text, _)| text))),
            ("backend_type", Value::text("client backend")),
        ],
    )
}

/// The rows of the function `pg_stat_get_activity`: numbers of processes and of the database.
pub(super) fn processes(backends: &[Backend], database: i64) -> Vec<Row> {
    backends.iter().map(|backend| vec![Value::Int(i64::from(backend.process)), Value::Int(database)]).collect()
}

/// The rows of `pg_locks`: the advisory locks, in the database with this number.
pub(super) fn locks(held: &[HeldLock], database: i64) -> Vec<Row> {
    let of_lock = |lock: &HeldLock| {
        // A number of 64 bits is shown as its two halves, without signs.
        let half = |number: i64| Value::Int(number & 0xffff_ffff);
        let (class, object, parts) = match lock.key {
            LockKey::Number(number) => (half(number >> 32), half(number), 1),
            LockKey::Pair(class, object) => (half(i64::from(class)), half(i64::from(object)), 2),
        };
        let mode = match lock.mode {
            LockMode::Exclusive => "ExclusiveLock",
            LockMode::Shared => "ShareLock",
        };
        row(
            "pg_catalog",
            "pg_locks",
            &[
                ("locktype", Value::text("advisory")),
                ("database", Value::Int(database)),
                ("classid", class),
                ("objid", object),
                ("objsubid", Value::Int(parts)),
                ("pid", Value::maybe(lock.process.map(i64::from))),
                ("mode", Value::text(mode)),
                ("granted", Value::Bool(true)),
                ("fastpath", Value::Bool(false)),
            ],
        )
    };
    held.iter().map(of_lock).collect()
}

/// The rows of `pg_prepared_statements`.
pub(super) fn prepared(statements: Vec<PreparedEntry>) -> Vec<Row> {
    let name_of = |id: &u32| {
        let name = known::sql_name(*id).unwrap_or_else(|| id.to_string());
        Value::Named(i64::from(*id), name)
    };
    let entry = |statement: PreparedEntry| {
        row(
            "pg_catalog",
            "pg_prepared_statements",
            &[
                ("name", Value::Text(statement.name)),
                ("statement", Value::Text(statement.text)),
                ("prepare_time", time(Some(statement.prepared_ns))),
                ("parameter_types", Value::Array(statement.parameter_types.iter().map(name_of).collect())),
                ("from_sql", Value::Bool(statement.is_from_sql)),
            ],
        )
    };
    statements.into_iter().map(entry).collect()
}

/// The rows of `pg_cursors`.
pub(super) fn cursors(cursors: Vec<CursorEntry>) -> Vec<Row> {
    let entry = |cursor: CursorEntry| {
        row(
            "pg_catalog",
            "pg_cursors",
            &[
                ("name", Value::Text(cursor.name)),
                ("statement", Value::Text(cursor.text)),
                ("is_holdable", Value::Bool(cursor.is_holdable)),
                ("is_binary", Value::Bool(cursor.is_binary)),
                ("is_scrollable", Value::Bool(cursor.is_scrollable)),
                ("creation_time", time(Some(cursor.created_ns))),
            ],
        )
    };
    cursors.into_iter().map(entry).collect()
}

fn time(nanoseconds: Option<i64>) -> Value {
    nanoseconds.map_or(Value::Null, |nanoseconds| Value::Time(nanoseconds.div_euclid(1_000)))
}
