//! What a statement may not do to the process: overflow the stack, take all memory, run when it was stopped.

use crate::stores::session;
use atsdb_core::{Error, ErrorKind};
use atsdb_sql::{Answer, Session};
use std::time::{Duration, Instant};

fn execute(session: &Session, sql: &str, params: &[(&str, &str)]) -> Result<Vec<String>, Error> {
    let params: Vec<(String, String)> =
        params.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    let statement = session.statements(sql).next().unwrap()?;
    let Answer::Rows(rows) = session.execute(&statement, &params)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for batch in rows {
        found.extend(crate::render::lines(&batch?));
    }
    Ok(found)
}

#[test]
fn text_nested_thousands_deep_is_an_error_within_a_second() {
    let (session, _directory) = session("memory");
    execute(&session, "SELECT 1", &[]).unwrap();
    for sql in [
        format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("SELECT {}true", "NOT ".repeat(10_000)),
        format!("SELECT {}1{}", "abs(".repeat(10_000), ")".repeat(10_000)),
        format!("SELECT 1 WHERE 1 = 1{}", " OR 1 = 1".repeat(20_000)),
        format!("{}SELECT 1{}", "SELECT * FROM (".repeat(5_000), ")".repeat(5_000)),
        format!("CREATE TABLE t (a INT DEFAULT {}1)", "1 + ".repeat(50_000)),
    ] {
        let start = Instant::now();
        let error = execute(&session, &sql, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Sql, "{error}");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    }
    assert_eq!(execute(&session, "SELECT 1", &[]).unwrap(), ["1"]);
}

#[test]
fn a_query_beyond_its_memory_says_so_and_the_session_goes_on() {
    let (session, _directory) = session("memory");
    let sql = "SELECT array_length(array_agg(value)) FROM generate_series(1, 100000000)";
    let error = execute(&session, sql, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Resources, "{error}");
    assert!(error.hint().is_some());
    assert_eq!(execute(&session, "SELECT 2", &[]).unwrap(), ["2"]);
}

#[test]
fn an_interrupt_ends_a_query_within_a_second() {
    let (session, _directory) = session("memory");
    let handle = session.interrupt_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        handle.interrupt();
        Instant::now()
    });
    let sql = "SELECT count(*) FROM generate_series(1, 10000000000) a, generate_series(1, 1000000) b";
    let error = execute(&session, sql, &[]).unwrap_err();
    let stopped = stopper.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert!(stopped.elapsed() < Duration::from_secs(1));
    assert_eq!(execute(&session, "SELECT 3", &[]).unwrap(), ["3"]);
}

#[test]
fn a_parameter_is_a_literal_whatever_it_holds() {
    let (session, _directory) = session("memory");
    execute(&session, "CREATE TABLE t (a INT, b TEXT)", &[]).unwrap();
    execute(&session, "INSERT INTO t VALUES ($a, $b)", &[("a", "-5"), ("b", "'); DROP TABLE t; --")]).unwrap();
    let found = execute(&session, "SELECT a, b FROM t WHERE b = $b", &[("B", "'); DROP TABLE t; --")]).unwrap();
    assert_eq!(found, ["-5 | '); DROP TABLE t; --"]);
    assert_eq!(execute(&session, "SELECT $x + 1", &[("x", "41")]).unwrap(), ["42"]);
    let error = execute(&session, "SELECT $sensro", &[("sensor", "1")]).unwrap_err();
    assert!(error.to_string().contains("did you mean $sensor?"), "{error}");
}

#[test]
fn a_thousand_columns_are_inserted_and_read() {
    let (session, _directory) = session("memory");
    let columns: Vec<String> = (0..999).map(|column| format!("c{column} INT")).collect();
    execute(&session, &format!("CREATE TABLE wide (time TIMESTAMP, {})", columns.join(", ")), &[]).unwrap();
    let values: Vec<String> = (0..999).map(|value| value.to_string()).collect();
    execute(&session, &format!("INSERT INTO wide VALUES ('2024-01-01', {})", values.join(", ")), &[]).unwrap();
    assert_eq!(execute(&session, "SELECT c998, C0 FROM wide", &[]).unwrap(), ["998 | 0"]);
    assert_eq!(execute(&session, "SELECT * FROM wide", &[]).unwrap().len(), 1);
}
