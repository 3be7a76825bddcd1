//! Limits that protect the process: statements must not overflow the stack, use up the memory, or run on after being
//! stopped.

use crate::stores::session;
use atsdb_core::{Error, ErrorKind};
use atsdb_sql::{Answer, Session, SessionOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
fn text_nested_thousands_deep_is_an_error() {
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
        let error = execute(&session, &sql, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Sql, "{error}");
    }
    assert_eq!(execute(&session, "SELECT 1", &[]).unwrap(), ["1"]);
}

/// A text with another one in it, which has another one in it, and so on.
fn nested(depth: usize, innermost: &str, around: impl Fn(&str) -> String) -> String {
    (0..depth).fold(innermost.to_owned(), |inner, _| around(&inner))
}

#[test]
fn first_values_nested_deep_are_not_repeated() {
    let (session, _directory) = session("memory");
    for (innermost, around, wanted) in [
        ("x", "coalesce({}, 0)", ["1", "0"]),
        ("x", "coalesce({} + 1, 0)", ["61", "59"]),
        ("x", "nvl(CAST({} AS BIGINT), y)", ["1", "2"]),
        ("x", "coalesce({}, y / (y - 1))", ["1", "2"]),
        ("x", "coalesce({}, x + 1, y + 1)", ["1", "3"]),
        ("x", "coalesce(nullif({}, 7), y)", ["1", "2"]),
    ] {
        let value = nested(60, innermost, |inner| around.replace("{}", inner));
        let sql = format!("SELECT {value} FROM (VALUES (1, 2), (NULL, 2)) AS v(x, y)");
        assert_eq!(execute(&session, &sql, &[]).unwrap(), wanted, "{around}");
    }
    let steps = nested(60, "SELECT 1 AS x", |inner| format!("SELECT coalesce(x + 1, 0) AS x FROM ({inner}) AS q"));
    assert_eq!(execute(&session, &steps, &[]).unwrap(), ["61"]);
}

#[test]
fn a_statement_whose_parts_planning_would_repeat_for_ever_is_refused() {
    let (session, _directory) = session("memory");
    let row = "FROM (VALUES (1, 2)) AS v(x, y)";
    let select = |around: &str| {
        let value = nested(40, "(x = 1)", |inner| around.replace("{}", inner));
        format!("SELECT {value} {row}")
    };
    let items = (1..60).map(|at| format!(", t{at} AS (SELECT a.x FROM t{0} AS a, t{0} AS b)", at - 1));
    let columns = (0..24).map(|at| format!("c{at}")).collect::<Vec<_>>().join(", ");
    let cases = (0..24).fold("7".to_owned(), |inner, at| format!("CASE WHEN c{at} = 1 THEN {inner} ELSE c{at} END"));
    for sql in [
        format!("SELECT {cases} FROM (VALUES ({})) AS v({columns})", ["1"; 24].join(", ")),
        select("({} BETWEEN false AND true)"),
        select("({} NOT BETWEEN SYMMETRIC true AND false)"),
        select("(({}, true) < (x = 2, false))"),
        select("({} > ALL (ARRAY[true, x = 2]))"),
        select("CASE WHEN {} THEN x > 1 ELSE x < 1 END"),
        select("(CAST({} AS TEXT) LIKE 't%')"),
        select("(coalesce(CAST({} AS INT) + 1, 1 / y) = 1)"),
        select("EXISTS (SELECT 1 FROM (VALUES (1)) AS w(z) WHERE {})"),
        select("(1 IN (SELECT z FROM (VALUES (1)) AS w(z) WHERE {}))"),
        nested(60, "SELECT 1 AS x", |inner| format!("SELECT ({inner}) AS x")),
        format!("WITH t0 AS (SELECT 1 AS x){} SELECT x FROM t59", items.collect::<String>()),
        format!(
            "SELECT x FROM ({}) AS r WHERE x > 0",
            nested(60, &format!("SELECT x {row}"), |inner| format!("SELECT x - x + 1 AS x FROM ({inner}) AS q"))
        ),
    ] {
        let error = execute(&session, &sql, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Sql, "{error}");
        let is_clear = ["too complex", "tables (the maximum is"].iter().any(|words| error.to_string().contains(words));
        assert!(is_clear && error.hint().is_some(), "{error}: {sql}");
    }
    assert_eq!(execute(&session, "SELECT 5", &[]).unwrap(), ["5"]);
}

#[test]
fn a_syntax_error_deep_in_a_statement_is_reported() {
    let (session, _directory) = session("memory");
    for (around, depth, innermost) in
        [("NOT ({})", 60, "1 +"), ("CAST({} AS INT)", 60, "1 +"), ("ceil({})", 60, "1 +"), ("NOT ({})", 150, "true")]
    {
        let value = nested(depth, innermost, |inner| around.replace("{}", inner));
        let error = execute(&session, &format!("SELECT {value}"), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Sql, "{error}: {around}");
    }
    assert_eq!(execute(&session, "SELECT 6", &[]).unwrap(), ["6"]);
}

#[test]
fn a_statement_with_many_parts_is_not_too_complex() {
    let (session, _directory) = session("memory");
    let row = "FROM (VALUES (1, 2)) AS v(x, y)";
    let list = |count: u32, item: &dyn Fn(u32) -> String| (0..count).map(item).collect::<Vec<_>>().join(", ");
    for sql in [
        format!("CREATE TABLE wide ({})", list(24, &|item| format!("c{item} TEXT"))),
        format!("INSERT INTO wide VALUES ({})", list(24, &|item| format!("'{item}'"))),
    ] {
        execute(&session, &sql, &[]).unwrap();
    }
    let cases = (0..24)
        .fold("'none'".to_owned(), |inner, item| format!("CASE WHEN c{item} = 'x' THEN c{item} ELSE {inner} END"));
    let case = nested(60, "'last'", |inner| format!("CASE WHEN x > 60 THEN 'first' ELSE {inner} END"));
    for (sql, wanted) in [
        (format!("SELECT x IN ({}) {row}", list(100_000, &|item| item.to_string())), "true"),
        (format!("SELECT count(*) {row} WHERE x IN ({})", list(100_000, &|item| (item + 2).to_string())), "0"),
        (format!("SELECT (x, y) IN ({}) {row}", list(500, &|item| format!("({item}, {})", item + 1))), "true"),
        (format!("SELECT {case} {row}"), "last"),
        (format!("SELECT {cases} FROM wide"), "none"),
        (format!("SELECT {} {row}", vec!["x"; 400].join(" + ")), "400"),
        (format!("SELECT {} {row}", nested(90, "x > 0", |inner| format!("NOT ({inner})"))), "true"),
        (format!("SELECT {} {row}", nested(60, "x", |inner| format!("CAST(CAST({inner} AS INT) AS BIGINT)"))), "1"),
        (nested(10, "SELECT 1", |inner| format!("SELECT ({inner})")), "1"),
        // Each operand that may fail is computed only where those before it do not decide.
        (
            format!(
                "SELECT {} {row}",
                nested(24, "9 / x > 1", |inner| format!("(({inner}) AND 9 / y > 1 OR 9 / x > 9)"))
            ),
            "true",
        ),
        (format!("SELECT {} {row}", list(150, &|item| format!("9 / x > -{item}")).replace(", ", " AND ")), "true"),
        (
            format!(
                "SELECT count(*) FROM wide WHERE {}",
                list(24, &|item| format!("c{item}::int >= {item}")).replace(", ", " AND ")
            ),
            "1",
        ),
    ] {
        assert_eq!(execute(&session, &sql, &[]).unwrap(), [wanted], "{sql:.80}");
    }
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

/// Returns the result of `run`, while the session is interrupted again and again, because the first interrupt may come
/// too early.
pub(crate) fn interrupted<T>(session: &Session, run: impl FnOnce() -> T) -> T {
    let (handle, is_done) = (session.interrupt_handle(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(200));
                handle.interrupt();
            }
        });
        let outcome = run();
        is_done.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Queries that would run for hours or for ever, each in another operator.
const ENDLESS: [&str; 10] = [
    "SELECT count(*) FROM generate_series(1, 10000000000)",
    "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b",
    "SELECT count(*) FROM generate_series(1, 300000) a JOIN generate_series(1, 3000000000) b ON a.a < b.b % 3",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "SELECT count(*) FROM generate_series(1, 100000000) WHERE regexp_like(repeat('a', 1000) || value, '(a*)*b|(a|aa)+c')",
    "SELECT sum(levenshtein(repeat('a', 600) || value, repeat('b', 600))) FROM generate_series(1, 100000000)",
    "SELECT max(s) FROM (SELECT sum(value % 3) OVER (ORDER BY value) s FROM generate_series(1, 10000000000))",
    "SELECT count(*) FROM generate_series(1, 300000) a WHERE EXISTS (SELECT 1 FROM generate_series(1, 3000000) b WHERE b.b < -a.a)",
    "SELECT sum(value * value % 7) FROM generate_series(1, 10000000000)",
];

#[test]
fn every_operator_stops_when_interrupted_and_leaves_the_session_usable() {
    let (session, _directory) = session("memory");
    for sql in ENDLESS {
        let error = interrupted(&session, || execute(&session, sql, &[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}: {sql}");
        assert_eq!(execute(&session, "SELECT 3", &[]).unwrap(), ["3"]);
    }
}

#[test]
fn a_query_beyond_its_time_says_so_and_the_session_goes_on() {
    let options = SessionOptions { time_limit: Some(Duration::from_millis(300)), ..SessionOptions::default() };
    let (engine, _directory) = session("memory");
    let session = Session::new(engine.engine().clone(), options).unwrap();
    for sql in ENDLESS {
        let error = execute(&session, sql, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resources, "{error}: {sql}");
        assert!(error.to_string().contains("longer than 300ms") && error.hint().is_some(), "{error}");
    }
    // What was stopped may still occupy the machine for a moment.
    session.set_time_limit(None);
    assert_eq!(execute(&session, "SELECT 4", &[]).unwrap(), ["4"]);
}

#[test]
fn a_result_that_does_not_fit_is_refused_before_it_is_made() {
    let (session, _directory) = session("memory");
    for sql in [
        "SELECT length(repeat('x', 1000000000))",
        "SELECT length(lpad('x', 1000000000, 'y'))",
        "SELECT sum(length(repeat('x', CAST(1000000 + value AS INT)))) FROM generate_series(1, 100000)",
        "SELECT sum(length(rpad('x', CAST(1000000 + value AS INT), 'y'))) FROM generate_series(1, 100000)",
        "SELECT cardinality(range(1, 10000000000))",
        "SELECT cardinality(generate_series(1, 1000000000))",
        "SELECT cardinality(array_repeat(1, 1000000000))",
        "SELECT count(*) FROM (SELECT unnest(range(1, 10000000)) FROM generate_series(1, 100000))",
    ] {
        let error = execute(&session, sql, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resources, "{error}: {sql}");
    }
    for (sql, wanted) in [
        ("SELECT length(repeat('xy', 1000))", "2000"),
        ("SELECT sum(length(lpad('x', CAST(value AS INT), 'y'))) FROM generate_series(1, 1000)", "500500"),
        ("SELECT range(5, 1, -2)", "[5, 3]"),
        ("SELECT cardinality(generate_series(1, 3))", "3"),
        ("SELECT array_repeat('a', 2)", "[a, a]"),
        ("SELECT sum(cardinality(range(value))) FROM generate_series(1, 10)", "55"),
        ("SELECT count(*) FROM (SELECT unnest(range(0, 100000)) FROM generate_series(1, 10))", "1000000"),
    ] {
        assert_eq!(execute(&session, sql, &[]).unwrap(), [wanted], "{sql}");
    }
}

#[test]
fn temporary_files_beyond_their_limit_end_the_query() {
    let (engine, _directory) = session("memory");
    let run = |temp_bytes| {
        let options = SessionOptions { memory_bytes: 50 << 20, temp_bytes, threads: 2, ..SessionOptions::default() };
        let session = Session::new(engine.engine().clone(), options).unwrap();
        let texts = "SELECT repeat('x', 100) || value AS t FROM generate_series(1, 500000)";
        let found = execute(&session, &format!("SELECT length(t) FROM ({texts}) x ORDER BY t DESC OFFSET 499999"), &[]);
        assert_eq!(execute(&session, "SELECT 5", &[]).unwrap(), ["5"]);
        found
    };
    assert_eq!(run(None).unwrap(), ["101"]);
    let error = run(Some(1 << 20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Resources, "{error}");
    assert!(error.message().ends_with(": 1 MiB") && error.hint().unwrap().contains("--temp"), "{error}");
    assert_eq!(run(Some(0)).unwrap_err().kind(), ErrorKind::Resources);
}

#[test]
fn wide_conditions_and_many_joins_answer_or_are_refused() {
    let (session, _directory) = session("memory");
    execute(&session, "CREATE TABLE t (a INT)", &[]).unwrap();
    execute(&session, "INSERT INTO t VALUES (1)", &[]).unwrap();
    let joins: Vec<String> = (1..64).map(|join| format!(" JOIN t AS t{join} ON t{join}.a = t0.a")).collect();
    for sql in [
        format!("SELECT count(*) FROM t AS t0{}", joins.concat()),
        format!("SELECT count(*) FROM t AS t0{} JOIN t AS last ON last.a = t0.a", joins.concat()),
        format!("SELECT count(*) FROM {}", (0..64).map(|t| format!("t AS t{t}")).collect::<Vec<_>>().join(", ")),
        format!(
            "SELECT count(*) FROM t WHERE a = 1{}",
            (0..20_000).map(|n| format!(" OR a = {n}")).collect::<String>()
        ),
        format!("SELECT count(*) FROM t WHERE a = 1{}", (0..400).map(|n| format!(" OR a = {n}")).collect::<String>()),
        format!(
            "SELECT count(*) FROM t WHERE a = 1{}",
            (0..20_000).map(|n| format!(" OR (a = {n})")).collect::<String>()
        ),
        format!("SELECT count(*) FROM t WHERE a = 1{}", (0..700).map(|n| format!(" OR (a = {n})")).collect::<String>()),
        format!("SELECT count(*) FROM t WHERE a{} > 0", (0..150).map(|n| format!(" + {n} * a")).collect::<String>()),
        format!(
            "SELECT count(*) FROM t WHERE a IN ({})",
            (0..20_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
        ),
    ] {
        // Without the limits, this would take hours.
        match execute(&session, &sql, &[]) {
            Ok(found) => assert_eq!(found, ["1"], "{sql:.60}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Sql, "{error}"),
        }
    }
}

#[test]
fn a_limit_without_an_order_answers_the_same_each_time() {
    let (session, _directory) = session("memory");
    execute(&session, "CREATE TABLE t (time TIMESTAMP, x BIGINT)", &[]).unwrap();
    let days = "SELECT to_timestamp_seconds(value * 864), value FROM generate_series(0, 20000)";
    execute(&session, &format!("INSERT INTO t {days}"), &[]).unwrap();
    for sql in
        ["SELECT x FROM t LIMIT 5", "SELECT x * 2 AS y, time FROM t LIMIT 3 OFFSET 150", "SELECT * FROM t LIMIT 7"]
    {
        let first = execute(&session, sql, &[]).unwrap();
        assert!((0..30).all(|_| execute(&session, sql, &[]).unwrap() == first), "{sql}");
    }
    assert_eq!(execute(&session, "SELECT x FROM t LIMIT 2", &[]).unwrap(), ["0", "1"]);
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

#[test]
fn a_sort_of_a_few_rows_needs_little_memory_however_many_threads_there_are() {
    let (plain, _directory) = session("memory");
    let options = SessionOptions { memory_bytes: 16 << 20, threads: 8, ..SessionOptions::default() };
    let session = Session::new(plain.engine().clone(), options).unwrap();
    let groups = "SELECT value % 7 AS a, count(*) AS n FROM generate_series(0, 99999) GROUP BY value % 7 ORDER BY a";
    for _ in 0..10 {
        assert_eq!(execute(&session, groups, &[]).unwrap().len(), 7);
    }
}
