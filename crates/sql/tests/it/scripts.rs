//! Runs the scripts of `tests/slt` on every store, with fresh, half sealed and sealed rows: the answers must be the
//! same.
//!
//! A script consists of records between empty lines: `statement ok`, `statement error TEXT` or `query [rowsort]`, then
//! SQL. A query is followed by `----` and the expected lines, of which the first has the column names. `#` begins a
//! comment. `ATSDB_SLT_WRITE=1` rewrites the expected lines.

use crate::render::lines;
use crate::stores::{STATES, STORES, SealState, server_session, session};
use arrow::array::RecordBatch;
use atsdb_core::Result;
use atsdb_sql::{Answer, Session};
use atsdb_testkit::server::ServerKind;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Scripts that also run with all of their tables in memory.
const ALSO_IN_MEMORY: [&str; 13] = [
    "decimal-columns.slt",
    "decimal-arithmetic.slt",
    "time-uuid-json.slt",
    "declared-keys.slt",
    "added-keys.slt",
    "upsert.slt",
    "returning.slt",
    "keys.slt",
    "change-update.slt",
    "change-delete.slt",
    "savepoints.slt",
    "transactions.slt",
    "decimal-literals.slt",
];

struct Record<'a> {
    line: usize,
    directive: &'a str,
    sql: String,
    expected: Vec<String>,
}

#[test]
fn every_script_answers_the_same_on_every_store_fresh_and_sealed() {
    let failures: Vec<String> =
        scripts().iter().enumerate().flat_map(|(position, path)| run_file(position, path)).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_script_answers_the_same_on_postgresql() {
    on_server(ServerKind::Postgres);
}

#[test]
fn every_script_answers_the_same_on_mariadb() {
    on_server(ServerKind::Mariadb);
}

#[test]
fn every_script_answers_the_same_on_mysql() {
    on_server(ServerKind::Mysql);
}

#[test]
fn scripts_about_changes_answer_the_same_with_tables_in_memory() {
    let mut failures = Vec::new();
    for path in scripts().iter().filter(|path| ALSO_IN_MEMORY.iter().any(|name| path.ends_with(name))) {
        let text = in_memory(&fs::read_to_string(path).unwrap());
        let tables = text.lines().filter(|line| line.starts_with("CREATE TABLE ") && !line.contains(" AS "));
        assert!(
            tables.clone().count() > 0 && tables.clone().all(|line| line.ends_with("engine = 'memory')")),
            "{path:?}"
        );
        for store in STORES {
            let (session, _directory) = session(store);
            failures.extend(run_text(path, &text, &session, (store, SealState::Fresh)));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Returns the script with `engine = 'memory'` in each `CREATE TABLE`, and without options that such tables do not
/// accept.
fn in_memory(text: &str) -> String {
    let declared = |line: &str| {
        let Some((columns, options)) = line.split_once(") WITH (") else {
            return format!("{line} WITH (engine = 'memory')");
        };
        let options = options.trim_end_matches(')').split("', ").map(|option| option.trim_end_matches('\''));
        let is_kept = |option: &&str| !option.starts_with("map = ") && !option.starts_with("engine = ");
        let kept = options.filter(is_kept).map(|option| format!("{option}', "));
        format!("{columns}) WITH ({}engine = 'memory')", kept.collect::<String>())
    };
    let line = |line: &str| match line.starts_with("CREATE TABLE ") && line.ends_with(')') {
        true => declared(line),
        false => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs each script in a single state, as on the stores in files.
fn on_server(kind: ServerKind) {
    let mut failures = Vec::new();
    for (position, path) in scripts().iter().enumerate() {
        let Some(session) = server_session(kind) else { return };
        let text = fs::read_to_string(path).unwrap();
        failures.extend(run_text(path, &text, &session, (&format!("{kind:?}"), STATES[position % STATES.len()])));
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn scripts() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(Path::new(ROOT).join("tests/slt")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "slt"));
    // `ATSDB_SLT=memory` selects scripts by a part of their name.
    let only = std::env::var("ATSDB_SLT").unwrap_or_default();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&only)));
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn run_file(position: usize, path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    if std::env::var_os("ATSDB_SLT_WRITE").is_some() {
        rewrite(path, &text);
        return Vec::new();
    }
    let mut failures = Vec::new();
    for (store, state) in layouts_of(position) {
        let (session, _directory) = session(store);
        failures.extend(run_text(path, &text, &session, (store, state)));
    }
    failures
}

/// Returns all states on the store in memory and one on each other store, which differs from script to script: states
/// are the engine's part.
fn layouts_of(position: usize) -> impl Iterator<Item = (&'static str, SealState)> {
    let on_disk = STORES[1..].iter().zip(position..).map(|(store, turn)| (*store, STATES[turn % STATES.len()]));
    STATES.map(|state| (STORES[0], state)).into_iter().chain(on_disk)
}

fn run_text(path: &Path, text: &str, session: &Session, (store, state): (&str, SealState)) -> Vec<String> {
    let name = path.file_name().unwrap().to_string_lossy();
    let mut inserts = 0;
    let failure = |record: Record<'_>| {
        let failure = run(session, &record, state, &mut inserts).err()?;
        Some(format!("{name}:{} on {store}, {state:?}: {failure}", record.line))
    };
    records(text).into_iter().filter_map(failure).collect()
}

fn run(session: &Session, record: &Record<'_>, state: SealState, inserts: &mut usize) -> Result<(), String> {
    let answer = answer(session, &record.sql);
    if record.sql.trim_start().to_uppercase().starts_with("INSERT") {
        *inserts += 1;
        if state == SealState::Sealed || (state == SealState::HalfSealed && *inserts % 2 == 1) {
            session.engine().recompress(None).map_err(|error| error.to_string())?;
        }
    }
    match (record.directive.split_once(' ').unwrap_or((record.directive, "")), answer) {
        (("statement", "ok"), Ok(_)) => Ok(()),
        (("statement", "ok"), Err(error)) => Err(error),
        (("statement", wanted), answer) => {
            let wanted = wanted.strip_prefix("error").unwrap_or(wanted).trim();
            match answer {
                Ok(_) => Err(format!("succeeded; wanted the error: {wanted}")),
                Err(error) if error.contains(wanted) => Ok(()),
                Err(error) => Err(format!("the error is: {error}; wanted: {wanted}")),
            }
        }
        (("query", _), Err(error)) => Err(error),
        (("query", options), Ok(mut found)) => {
            if options.contains("rowsort") && found.len() > 1 {
                found[1..].sort();
            }
            let same = found == record.expected;
            if same {
                Ok(())
            } else {
                Err(format!("found\n{}\nwanted\n{}", found.join("\n"), record.expected.join("\n")))
            }
        }
        ((other, _), _) => Err(format!("unknown directive {other}")),
    }
}

/// Returns the column names, then the rows. The list is empty if the statement returns no rows.
pub(crate) fn answer(session: &Session, sql: &str) -> Result<Vec<String>, String> {
    answer_in(session, sql, lines)
}

/// Returns the same, with the rows of a batch in another form.
pub(crate) fn answer_in(
    session: &Session,
    sql: &str,
    lines: fn(&RecordBatch) -> Vec<String>,
) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for statement in session.statements(sql) {
        found.clear();
        let run = || -> Result<Vec<String>> {
            let Answer::Rows(rows) = session.execute(&statement?, &[])? else { return Ok(Vec::new()) };
            let names: Vec<String> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
            let mut found = vec![names.join(" | ")];
            for batch in rows {
                found.extend(lines(&batch?));
            }
            Ok(found)
        };
        found = run().map_err(|error| error.to_string())?;
    }
    Ok(found)
}

fn records(text: &str) -> Vec<Record<'_>> {
    let mut records = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (mut sql, mut expected, mut in_sql) = (String::new(), Vec::new(), true);
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
            match line {
                "----" => in_sql = false,
                line if in_sql => sql.push_str(&format!("{line}\n")),
                line => expected.push(line.to_owned()),
            }
        }
        records.push(Record { line: number + 1, directive: line.trim(), sql, expected });
    }
    records
}

fn rewrite(path: &Path, text: &str) {
    let (session, _directory) = session("memory");
    let mut written = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        written.push_str(&format!("{line}\n"));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut sql = String::new();
        while let Some(line) = lines.next_if(|line| !line.is_empty() && *line != "----") {
            sql.push_str(&format!("{line}\n"));
        }
        written.push_str(&sql);
        while lines.next_if(|line| !line.is_empty()).is_some() {}
        let found = answer(&session, &sql);
        if line.starts_with("query") {
            let mut found = found.unwrap_or_else(|error| vec![format!("FAILED {error}")]);
            if line.contains("rowsort") && found.len() > 1 {
                found[1..].sort();
            }
            written.push_str(&format!("----\n{}\n", found.join("\n")));
        } else if let (true, Err(error)) = (line == "statement ok", found) {
            written.push_str(&format!("# FAILED {error}\n"));
        }
    }
    fs::write(path, written).unwrap();
}
