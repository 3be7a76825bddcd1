//! Executes actions as a program does that uses SQL.

use crate::action::Action;
use crate::outcome::Answer;
use crate::references::{READ, ReferenceChange};
use crate::shape::{ColumnKind, altered, definition, kind_of_name, rows_of, seconds, text, value_of};
use crate::subject::{Alteration, Cells, Policy, RowSelection, Summary, rollup_name, table_name};
use arrow::array::AsArray;
use arrow::datatypes::DataType;
use atsdb_core::time::format_time;
use atsdb_core::{
    Column, ColumnType, Error, MapWidth, Result, Retention, SliceWidth, TableDefinition, TimeUnit, Unique,
};
use atsdb_engine::Engine;
use atsdb_sql::{Answer as SqlAnswer, Session, SessionOptions, create_table_sql, quoted};

/// A session over an engine, with threads and memory for tiny tables.
pub(crate) fn session(engine: &Engine) -> Result<Session> {
    Session::new(engine.clone(), SessionOptions { threads: 1, memory_bytes: 64 << 20, ..SessionOptions::default() })
}

/// Executes an action in SQL; `None` if it is not an action of a session.
pub(crate) fn perform(session: &Session, action: &Action) -> Option<Result<Answer>> {
    let is_open = session.in_transaction();
    let done = match action {
        // In SQL, batches have no names.
        Action::Append { batch: Some(_), .. } if !is_open => return None,
        Action::Append { table, policy, rows, .. } => insert(session, table_name(*table), *policy, rows),
        Action::Upsert { table, row, .. } => upsert(session, table_name(*table), row),
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
        Action::Delete { table, rows, .. } => change(session, "DELETE FROM", table_name(*table), *rows, None),
        Action::Update { table, rows, note, .. } => change(session, "UPDATE", table_name(*table), *rows, Some(*note)),
        Action::Truncate { table, .. } => run(session, &format!("TRUNCATE TABLE {}", table_name(*table))),
        Action::Read { table, .. } => read(session, table_name(*table)),
        Action::Create { table, shape, policy, is_checked, .. } => {
            run(session, &create_table_sql(&definition(*table, *shape, *policy, *is_checked)))
        }
        Action::Drop { table, cascade, .. } => {
            run(session, &format!("DROP TABLE {}{}", table_name(*table), if *cascade { " CASCADE" } else { "" }))
        }
        Action::Alter { table, alteration, .. } => alter(session, table_name(*table), *alteration),
        Action::CreateRollup { rollup, table, summary, .. } => {
            create_rollup(session, rollup_name(*rollup), table_name(*table), *summary)
        }
        Action::DropRollup { rollup, .. } => run(session, &format!("DROP ROLLUP {}", rollup_name(*rollup))),
        Action::Refresh { rollup, .. } => run(session, &format!("REFRESH ROLLUP {}", rollup_name(*rollup))),
        Action::ReadRollup { rollup, .. } => read(session, rollup_name(*rollup)),
        Action::Refer { change, .. } if is_open && change.is_declaration() => Ok(Answer::Nothing),
        Action::Refer { change, .. } => refer(session, change),
        Action::ReadReferences { .. } => queried(session, READ).map(|(names, rows)| Answer::Rows(names, rows)),
        Action::Checkpoint { table: Some(table), .. } => run(session, &format!("CHECKPOINT {}", table_name(*table))),
        Action::Checkpoint { table: None, .. } => run(session, "CHECKPOINT"),
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

/// Returns the names of a table's columns, for a statement that changes it. If this fails, so must the statement.
fn columns(session: &Session, table: &str) -> Result<Vec<String>> {
    Ok(described(session, table)?.columns.into_iter().map(|column| column.name).collect())
}

/// The columns of a table from `DESCRIBE`, as a definition, for a statement that alters it.
fn described(session: &Session, table: &str) -> Result<TableDefinition> {
    describe(session, table).inspect_err(|_| {
        // A failed query leaves a transaction as it was, but a failed statement ends it.
        let _ = run(session, "UPDATE no_such_table SET note = NULL");
    })
}

fn describe(session: &Session, table: &str) -> Result<TableDefinition> {
    let SqlAnswer::Rows(rows) = execute(session, &format!("DESCRIBE {table}"))? else {
        return Err(Error::internal("DESCRIBE shows nothing"));
    };
    let mut definition = TableDefinition::new(table);
    for batch in rows {
        let batch = batch?;
        let texts = |column: usize| arrow::compute::cast(batch.column(column), &DataType::Utf8);
        let (names, notes) = (texts(0)?, texts(3)?);
        for (name, notes) in names.as_string::<i32>().iter().zip(notes.as_string::<i32>()) {
            definition = with_column(definition, name.unwrap_or_default(), notes.unwrap_or_default())?;
        }
    }
    Ok(definition)
}

fn with_column(definition: TableDefinition, name: &str, notes: &str) -> Result<TableDefinition> {
    let widths = [MapWidth::U8, MapWidth::U16, MapWidth::U32];
    let map = widths.into_iter().find(|width| notes.contains(&format!("mapped ({width})")));
    if kind_of_name(name) != ColumnKind::Time {
        let mut definition = definition.with_column(name, ColumnType::Text, map);
        if notes.split(", ").any(|note| note == "unique") {
            definition.unique.extend(definition.columns.last().map(|column| Unique::new(vec![column.id])));
        }
        return Ok(definition);
    }
    let unit = TimeUnit::Second;
    let mut definition = definition.with_column(name, ColumnType::Timestamp(unit), None).with_time(name, unit)?;
    let is_hourly = notes.contains(&format!("sliced by {}", SliceWidth::Hour));
    definition.slice = if is_hourly { SliceWidth::Hour } else { SliceWidth::Day };
    let days = notes.split_once("kept for ").map(|(_, days)| days.chars().take_while(char::is_ascii_digit));
    let count = days.and_then(|days| days.collect::<String>().parse().ok());
    definition.retention = count.map(|count| Retention { count, unit: SliceWidth::Day });
    Ok(definition)
}

fn literal(kind: ColumnKind, value: Option<i64>) -> String {
    match (kind, value) {
        (_, None) => "NULL".into(),
        (ColumnKind::Time, Some(seconds)) => format!("'{}'", format_time(seconds, TimeUnit::Second)),
        (ColumnKind::Sensor | ColumnKind::Note, Some(number)) => format!("'{}'", text(number)),
        (ColumnKind::Count | ColumnKind::Extra, Some(number)) => number.to_string(),
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
        // A statement cannot choose to merge.
        None | Some(Policy::Merge) => "INSERT INTO",
        Some(Policy::Error) => "INSERT OR ABORT INTO",
        Some(Policy::Replace) => "INSERT OR REPLACE INTO",
        Some(Policy::Keep) => "INSERT OR IGNORE INTO",
    };
    run(session, &format!("{verb} {table} ({}) VALUES {}", columns.join(", "), rows.join(", ")))
}

fn upsert(session: &Session, table: &str, row: &Cells) -> Result<Answer> {
    let columns = columns(session, table)?;
    let Some(note) = columns.iter().find(|column| kind_of_name(column) == ColumnKind::Note) else {
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

fn change(session: &Session, verb: &str, table: &str, rows: RowSelection, note: Option<Option<i64>>) -> Result<Answer> {
    let columns = columns(session, table)?;
    let note_column =
        columns.iter().find(|column| kind_of_name(column) == ColumnKind::Note).cloned().unwrap_or_default();
    let condition = match rows {
        RowSelection::All => String::new(),
        RowSelection::Before(time) if columns.iter().any(|column| column == "time") => {
            format!(" WHERE time < {}", literal(ColumnKind::Time, Some(seconds(time))))
        }
        RowSelection::Before(count) => format!(" WHERE count < {count}"),
        RowSelection::Sensor(sensor) => format!(" WHERE sensor = {}", literal(ColumnKind::Sensor, Some(sensor))),
        RowSelection::Count(count) => format!(" WHERE count = {count}"),
        RowSelection::NoNote => format!(" WHERE {note_column} IS NULL"),
    };
    let set = note.map(|note| format!(" SET {note_column} = {}", literal(ColumnKind::Note, note))).unwrap_or_default();
    run(session, &format!("{verb} {table}{set}{condition}"))
}

fn read(session: &Session, table: &str) -> Result<Answer> {
    rows(session, table).map(|(names, rows)| Answer::Rows(names, rows))
}

/// The names of columns, and their rows.
type NamedRows = (Vec<String>, Vec<Vec<Option<i64>>>);

/// Returns the columns and the sorted rows of a table or rollup.
pub(crate) fn rows(session: &Session, table: &str) -> Result<NamedRows> {
    queried(session, &format!("SELECT * FROM {table}"))
}

/// Returns the columns and the sorted rows of a query.
fn queried(session: &Session, query: &str) -> Result<NamedRows> {
    let SqlAnswer::Rows(rows) = execute(session, query)? else {
        return Err(Error::internal("SELECT shows nothing"));
    };
    let names = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut found = Vec::new();
    for batch in rows {
        found.extend(rows_of(batch?.columns()));
    }
    found.sort();
    Ok((names, found))
}

/// Executes the statements of a change. A transaction of its own is rolled back after an error.
fn refer(session: &Session, change: &ReferenceChange) -> Result<Answer> {
    let statements = change.statements();
    let done = statements.iter().try_for_each(|statement| run(session, statement).map(drop));
    if done.is_err() && statements.len() > 1 {
        let _ = run(session, "ROLLBACK");
    }
    done.map(|()| Answer::Done)
}

fn create_rollup(session: &Session, rollup: &str, table: &str, summary: Summary) -> Result<Answer> {
    let from = described(session, table)?;
    let every = if summary.daily { "1 day" } else { "1 hour" };
    let (sensor, group) = if summary.by_sensor { ("sensor, ", " GROUP BY sensor") } else { ("", "") };
    let notes = if summary.notes { format!(", count({}) AS notes", note(&from)) } else { String::new() };
    run(
        session,
        &format!(
            "CREATE ROLLUP {rollup} ON {table} EVERY '{every}' AS \
             SELECT {sensor}sum(count) AS total, count(*) AS n, count(count) AS counted{notes} FROM {table}{group}"
        ),
    )
}

fn alter(session: &Session, table: &str, alteration: Alteration) -> Result<Answer> {
    let from = described(session, table)?;
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
        Alteration::Key => match from.unique.first() {
            Some(key) => format!("DROP CONSTRAINT {}", quoted(&from.key_name(key))),
            None => "ADD UNIQUE (count)".into(),
        },
        Alteration::Retain(_) => match to.retention {
            Some(retention) => format!("SET (retention = '{retention}')"),
            None => "RESET (retention)".into(),
        },
    };
    run(session, &format!("ALTER TABLE {table} {what}"))
}

fn note(definition: &TableDefinition) -> &str {
    definition
        .columns
        .iter()
        .find(|column| kind_of_name(&column.name) == ColumnKind::Note)
        .map_or("", |column| &column.name)
}
