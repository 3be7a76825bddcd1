//! Statements as a program does them that uses SQL.

use crate::action::{Action, Alteration, Cells, Policy, Rows};
use crate::execute::{Answer, name};
use crate::shape::{Kind, altered, definition, kind_of_name, rows_of, seconds, text, value_of};
use atsdb_core::time::format_time;
use atsdb_core::{Column, Error, Result, TableDefinition, TimeUnit};
use atsdb_engine::Engine;
use atsdb_sql::{Answer as SqlAnswer, Session, SessionOptions, create_table_sql, quoted};

/// A session over an engine, with threads and memory for tiny tables.
pub(crate) fn session(engine: &Engine) -> Result<Session> {
    Session::new(engine.clone(), SessionOptions { threads: 1, memory_bytes: 64 << 20, ..SessionOptions::default() })
}

/// Does an action by SQL; `None` if it is none of a session's.
pub(crate) fn perform(engine: &Engine, session: &Session, action: &Action) -> Option<Result<Answer>> {
    let is_open = session.in_transaction();
    let done = match action {
        // Batches have names outside of SQL alone.
        Action::Append { batch: Some(_), .. } if !is_open => return None,
        Action::Append { table, policy, rows, .. } => insert(session, name(*table), *policy, rows),
        Action::Upsert { table, row, .. } => upsert(session, name(*table), row),
        Action::Begin { .. } if is_open => Ok(Answer::Nothing),
        Action::Begin { .. } => run(session, "BEGIN"),
        Action::Commit { .. } | Action::Mark { .. } | Action::ReturnTo { .. } | Action::ReleaseMark { .. }
            if !is_open =>
        {
            Ok(Answer::Nothing)
        }
        Action::Commit { .. } => run(session, "COMMIT"),
        Action::Rollback { .. } if !is_open => Ok(Answer::Done),
        Action::Rollback { .. } => run(session, "ROLLBACK"),
        Action::Mark { mark, .. } => run(session, &format!("SAVEPOINT m{mark}")),
        Action::ReturnTo { mark, .. } => run(session, &format!("ROLLBACK TO m{mark}")),
        Action::ReleaseMark { mark, .. } => run(session, &format!("RELEASE m{mark}")),
        Action::Delete { table, rows, .. } => change(session, "DELETE FROM", name(*table), *rows, None),
        Action::Update { table, rows, note, .. } => change(session, "UPDATE", name(*table), *rows, Some(*note)),
        Action::Truncate { table, .. } => run(session, &format!("TRUNCATE TABLE {}", name(*table))),
        Action::Read { table, .. } => read(session, name(*table)),
        Action::Create { table, shape, policy, .. } => {
            run(session, &create_table_sql(&definition(*table, *shape, *policy)))
        }
        Action::Drop { table, .. } => run(session, &format!("DROP TABLE {}", name(*table))),
        // How it is written depends on the definition, which a transaction does not show.
        Action::Alter { .. } if is_open => Ok(Answer::Nothing),
        Action::Alter { table, alteration, .. } => alter(engine, session, name(*table), *alteration),
        _ => return None,
    };
    Some(done)
}

fn run(session: &Session, text: &str) -> Result<Answer> {
    match execute(session, text)? {
        SqlAnswer::Done { .. } => Ok(Answer::Done),
        SqlAnswer::Rows(mut rows) => rows.try_for_each(|rows| rows.map(drop)).map(|()| Answer::Done),
    }
}

fn execute(session: &Session, text: &str) -> Result<SqlAnswer> {
    let statement = session.statements(text).next().ok_or_else(|| Error::internal("no statement"))??;
    session.execute(&statement, &[])
}

/// The names of a table's columns, for a statement that changes it: without them that statement fails.
fn columns(session: &Session, table: &str) -> Result<Vec<String>> {
    described(session, table).inspect_err(|_| {
        // A question that is not answered leaves a transaction as it was, a statement does not.
        let _ = run(session, "UPDATE no_such_table SET note = NULL");
    })
}

fn described(session: &Session, table: &str) -> Result<Vec<String>> {
    let SqlAnswer::Rows(rows) = execute(session, &format!("DESCRIBE {table}"))? else {
        return Err(Error::internal("DESCRIBE shows nothing"));
    };
    let mut names = Vec::new();
    for batch in rows {
        let batch = batch?;
        let column = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8)
            .map_err(|error| Error::internal(error.to_string()))?;
        let column = arrow::array::AsArray::as_string::<i32>(&column);
        names.extend(column.iter().map(|name| name.unwrap_or_default().to_owned()));
    }
    Ok(names)
}

fn literal(kind: Kind, value: Option<i64>) -> String {
    match (kind, value) {
        (_, None) => "NULL".into(),
        (Kind::Time, Some(seconds)) => format!("'{}'", format_time(seconds, TimeUnit::Second)),
        (Kind::Sensor | Kind::Note, Some(number)) => format!("'{}'", text(number)),
        (Kind::Count | Kind::Extra, Some(number)) => number.to_string(),
    }
}

fn tuple(columns: &[String], row: &Cells) -> String {
    let values: Vec<String> =
        columns.iter().map(|column| kind_of_name(column)).map(|kind| literal(kind, value_of(row, kind))).collect();
    format!("({})", values.join(", "))
}

fn insert(session: &Session, table: &str, policy: Option<Policy>, rows: &[Cells]) -> Result<Answer> {
    let columns = columns(session, table)?;
    let rows: Vec<String> = rows.iter().map(|row| tuple(&columns, row)).collect();
    let verb = match policy {
        None => "INSERT INTO",
        Some(Policy::Error) => "INSERT OR ABORT INTO",
        Some(Policy::Replace) => "INSERT OR REPLACE INTO",
        Some(Policy::Keep) => "INSERT OR IGNORE INTO",
    };
    run(session, &format!("{verb} {table} ({}) VALUES {}", columns.join(", "), rows.join(", ")))
}

fn upsert(session: &Session, table: &str, row: &Cells) -> Result<Answer> {
    let columns = columns(session, table)?;
    let Some(note) = columns.iter().find(|column| kind_of_name(column) == Kind::Note) else {
        return Ok(Answer::Nothing);
    };
    let key = if columns.iter().any(|column| column == "time") { "sensor, time" } else { "count" };
    let (row, columns) = (tuple(&columns, row), columns.join(", "));
    run(
        session,
        &format!(
            "INSERT INTO {table} ({columns}) VALUES {row} ON CONFLICT ({key}) DO UPDATE SET {note} = excluded.{note}"
        ),
    )
}

fn change(session: &Session, verb: &str, table: &str, rows: Rows, note: Option<Option<i64>>) -> Result<Answer> {
    let columns = columns(session, table)?;
    let note_column = columns.iter().find(|column| kind_of_name(column) == Kind::Note).cloned().unwrap_or_default();
    let condition = match rows {
        Rows::All => String::new(),
        Rows::Before(time) if columns.iter().any(|column| column == "time") => {
            format!(" WHERE time < {}", literal(Kind::Time, Some(seconds(time))))
        }
        Rows::Before(count) => format!(" WHERE count < {count}"),
        Rows::Sensor(sensor) => format!(" WHERE sensor = {}", literal(Kind::Sensor, Some(sensor))),
        Rows::Count(count) => format!(" WHERE count = {count}"),
        Rows::NoNote => format!(" WHERE {note_column} IS NULL"),
    };
    let set = note.map(|note| format!(" SET {note_column} = {}", literal(Kind::Note, note))).unwrap_or_default();
    run(session, &format!("{verb} {table}{set}{condition}"))
}

fn read(session: &Session, table: &str) -> Result<Answer> {
    let SqlAnswer::Rows(rows) = execute(session, &format!("SELECT * FROM {table}"))? else {
        return Err(Error::internal("SELECT shows nothing"));
    };
    let names = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut found = Vec::new();
    for batch in rows {
        found.extend(rows_of(&batch?));
    }
    found.sort();
    Ok(Answer::Rows(names, found))
}

fn alter(engine: &Engine, session: &Session, table: &str, alteration: Alteration) -> Result<Answer> {
    let from = engine.table(table)?.definition;
    let Some(to) = altered(&from, alteration) else { return Ok(Answer::Nothing) };
    let what = match alteration {
        Alteration::AddColumn(missing) => {
            let column = to.columns.last().map_or("", |column| &column.name);
            let default = missing.map_or_else(String::new, |missing| format!(" DEFAULT {missing}"));
            format!("ADD COLUMN {column} INT{default}")
        }
        Alteration::DropColumn => format!("DROP COLUMN {}", from.columns.last().map_or("", |column| &column.name)),
        Alteration::RenameNote => format!("RENAME COLUMN {} TO {}", note(&from), note(&to)),
        Alteration::Rename(_) => format!("RENAME TO {}", quoted(&to.name)),
        Alteration::Widen => {
            let width = to.columns.iter().find_map(|column: &Column| column.map).map_or("u8", |map| map.name());
            format!("SET (map = 'sensor:{width}')")
        }
        Alteration::Slice => format!("SET (slice = '{}')", to.slice),
        Alteration::Retain(_) => match to.retention {
            Some(retention) => format!("SET (retention = '{retention}')"),
            None => "RESET (retention)".into(),
        },
    };
    run(session, &format!("ALTER TABLE {table} {what}"))
}

fn note(definition: &TableDefinition) -> &str {
    definition.columns.iter().find(|column| kind_of_name(&column.name) == Kind::Note).map_or("", |column| &column.name)
}
