//! `UPDATE` and `DELETE` over many chunks, in transactions, beyond the memory limit, and interrupted.

use crate::limits::interrupted;
use crate::scripts::answer;
use crate::stores::{STORES, session};
use atsdb_core::ErrorKind;
use atsdb_engine::{Engine, EngineOptions};
use atsdb_memory::MemoryStore;
use atsdb_sql::{Answer, Permission, Session, SessionOptions};
use std::sync::Arc;
use std::time::Duration;

/// Inserts 400,000 rows of 40 days in many chunks, half of them sealed.
fn fill(session: &Session) {
    let sql = "CREATE TABLE t (time TIMESTAMP, tag TEXT, n BIGINT, x DOUBLE) WITH (map = 'tag:u8', slice = 'day')";
    answer(session, sql).unwrap();
    for (first, last) in [(0, 199_999), (200_000, 399_999)] {
        let sql = format!(
            "INSERT INTO t SELECT to_timestamp(value * 8), 'tag ' || CAST(value % 7 AS TEXT), value, value / 2.0 \
             FROM generate_series({first}, {last})"
        );
        answer(session, &sql).unwrap();
        if first == 0 {
            session.engine().recompress(None).unwrap();
        }
    }
}

fn done(session: &Session, sql: &str) -> u64 {
    let statement = session.statements(sql).next().unwrap().unwrap();
    match session.execute(&statement, &[]).unwrap_or_else(|error| panic!("{error}: {sql}")) {
        Answer::Done { row_count: Some(row_count), .. } => row_count,
        other => panic!("{other:?}: {sql}"),
    }
}

fn kind(session: &Session, sql: &str) -> ErrorKind {
    let statement = session.statements(sql).next().unwrap().unwrap();
    session.execute(&statement, &[]).unwrap_err().kind()
}

fn totals(session: &Session) -> String {
    answer(session, "SELECT count(*), sum(n), count(DISTINCT tag), count(x) FROM t").unwrap()[1].clone()
}

#[test]
fn every_row_that_is_meant_changes_and_no_other() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        assert_eq!(totals(&session), "400000 | 79999800000 | 7 | 400000");
        assert_eq!(done(&session, "UPDATE t SET n = n + 1"), 400_000);
        assert_eq!(totals(&session), "400000 | 80000200000 | 7 | 400000");
        assert_eq!(done(&session, "UPDATE t SET n = n - 2, x = NULL, tag = 'even' WHERE n % 2 = 0"), 200_000);
        assert_eq!(totals(&session), "400000 | 79999800000 | 8 | 200000");
        assert_eq!(done(&session, "DELETE FROM t WHERE tag = 'even' AND n < 100000"), 50_000);
        assert_eq!(done(&session, "DELETE FROM t WHERE time >= to_timestamp(1600000)"), 200_000);
        assert_eq!(answer(&session, "SELECT count(*), max(time) FROM t").unwrap()[1], "150000 | 1970-01-19T12:26:32Z");
        assert_eq!(
            done(&session, "UPDATE t SET time = time + INTERVAL '100 days' WHERE n > 150000 AND x IS NULL"),
            24_999
        );
        assert_eq!(totals(&session).split(" | ").next(), Some("150000"));
        let moved = "SELECT count(*), min(tag) FROM t WHERE time >= to_timestamp(8640000)";
        assert_eq!(answer(&session, moved).unwrap()[1], "24999 | even");
        assert_eq!(done(&session, "DELETE FROM t"), 150_000);
        assert_eq!(answer(&session, "SELECT count(*) FROM t").unwrap()[1], "0");
        assert!(session.engine().verify(None).unwrap().findings.is_empty());
    }
}

#[test]
fn a_transaction_sees_its_changes_and_rolls_them_back() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        let before = totals(&session);
        answer(&session, "BEGIN").unwrap();
        assert_eq!(done(&session, "UPDATE t SET n = 1"), 400_000);
        assert_eq!(done(&session, "UPDATE t SET n = n + 1 WHERE tag = 'tag 1'"), 57_143);
        assert_eq!(done(&session, "DELETE FROM t WHERE tag <> 'tag 1'"), 342_857);
        assert_eq!(totals(&session), "57143 | 114286 | 1 | 57143");
        answer(&session, "ROLLBACK").unwrap();
        assert_eq!(totals(&session), before);
        answer(&session, "BEGIN").unwrap();
        answer(&session, "INSERT INTO t VALUES ('2030-01-01', 'own', 5, NULL)").unwrap();
        assert_eq!(done(&session, "UPDATE t SET n = n * 2 WHERE tag = 'own'"), 1);
        assert_eq!(done(&session, "DELETE FROM t WHERE tag <> 'own'"), 400_000);
        answer(&session, "COMMIT").unwrap();
        assert_eq!(answer(&session, "SELECT * FROM t").unwrap()[1], "2030-01-01T00:00:00Z | own | 10 | NULL");
    }
}

#[test]
fn statements_that_do_not_fit_or_are_stopped_change_nothing() {
    let (session, _directory) = session("memory");
    fill(&session);
    let before = totals(&session);
    let failing = "UPDATE t SET n = 9223372036854775807 / (n - 390000)";
    assert!(answer(&session, failing).unwrap_err().contains("division by zero"));
    assert_eq!(totals(&session), before);
    let endless =
        "UPDATE t SET n = (SELECT count(*) FROM generate_series(1, 10000000000) a, generate_series(1, 1000000) b)";
    assert_eq!(interrupted(&session, || kind(&session, endless)), ErrorKind::Interrupted);
    assert_eq!(totals(&session), before);
}

#[test]
fn plans_that_read_in_order_hold_few_rows_at_a_time() {
    let (session, _directory) = session("memory");
    fill(&session);
    // Each row gets 400 bytes: 400,000 rows do not fit into the memory limit.
    let text = "x".repeat(400);
    answer(&session, "ALTER TABLE t ADD COLUMN note TEXT").unwrap();
    assert_eq!(done(&session, &format!("UPDATE t SET note = '{text}' || CAST(n AS TEXT)")), 400_000);
    let joined = format!("UPDATE t SET note = '{text}' || CAST(o.n AS TEXT) FROM t AS o WHERE o.n = t.n");
    assert_eq!(kind(&session, &joined), ErrorKind::Resources);
    assert_eq!(totals(&session), "400000 | 79999800000 | 7 | 400000");
}

#[test]
fn sealing_by_itself_does_not_end_a_transaction() {
    let options = EngineOptions { maintenance: true, ..EngineOptions::default() };
    let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), options).unwrap();
    let session = Session::new(engine, SessionOptions::default()).unwrap();
    done_or_declared(&session, "CREATE TABLE t (time TIMESTAMP, n INT)");
    assert_eq!(done(&session, "INSERT INTO t VALUES ('2024-01-01', 1), ('2024-01-02', 2)"), 2);
    done_or_declared(&session, "BEGIN");
    assert_eq!(done(&session, "UPDATE t SET n = n + 10"), 2);
    // Long enough for the background to seal the slices.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(done(&session, "UPDATE t SET n = n + 10 WHERE n = 11"), 1);
    done_or_declared(&session, "COMMIT");
    assert_eq!(answer(&session, "SELECT sum(n) FROM t").unwrap()[1], "33");
}

fn done_or_declared(session: &Session, sql: &str) {
    let statement = session.statements(sql).next().unwrap().unwrap();
    session.execute(&statement, &[]).unwrap();
}

#[test]
fn of_two_transactions_that_change_the_same_rows_one_has_a_conflict() {
    for store in STORES {
        let (one, _directory) = session(store);
        let two = Session::new(one.engine().clone(), SessionOptions::default()).unwrap();
        answer(&one, "CREATE TABLE t (id INT PRIMARY KEY, n INT)").unwrap();
        answer(&one, "CREATE TABLE u (id INT PRIMARY KEY, n INT)").unwrap();
        answer(&one, "INSERT INTO t VALUES (1, 10), (2, 20)").unwrap();
        answer(&one, "INSERT INTO u VALUES (1, 10)").unwrap();
        let conflicts = [
            ("UPDATE t SET n = n + 1 WHERE id = 1", "UPDATE t SET n = n + 5 WHERE id = 1", true),
            // Two rows of the same chunk.
            ("UPDATE t SET n = n + 1 WHERE id = 1", "DELETE FROM t WHERE id = 2", true),
            ("INSERT INTO t VALUES (3, 3)", "INSERT INTO t VALUES (3, 4)", true),
            ("INSERT INTO t VALUES (4, 4)", "INSERT INTO t VALUES (5, 5)", false),
            ("UPDATE t SET n = n + 1 WHERE id = 1", "UPDATE u SET n = n + 5", false),
            ("DROP TABLE u", "INSERT INTO u VALUES (7, 7)", true),
        ];
        for (first, second, conflicts) in conflicts {
            answer(&one, "BEGIN").unwrap();
            answer(&two, "BEGIN").unwrap();
            answer(&two, second).unwrap();
            answer(&one, first).unwrap();
            answer(&one, "COMMIT").unwrap();
            let before = answer(&one, "SELECT * FROM t ORDER BY id").unwrap();
            let committed = answer(&two, "COMMIT");
            assert_eq!(committed.is_err(), conflicts, "{store}: {first}; {second}: {committed:?}");
            assert!(!two.in_transaction());
            if conflicts {
                assert_eq!(answer(&two, "SELECT * FROM t ORDER BY id").unwrap(), before, "{first}; {second}");
            }
        }
        let rows = answer(&one, "SELECT id, n FROM t ORDER BY id").unwrap();
        assert_eq!(rows[1..], ["1 | 13", "2 | 20", "3 | 3", "4 | 4", "5 | 5"]);
    }
}

#[test]
fn rows_that_move_between_slices_keep_their_keys() {
    for store in STORES {
        let (session, _directory) = session(store);
        let sql = "CREATE TABLE k (time TIMESTAMP, s TEXT, n INT, PRIMARY KEY (s, time)) WITH (map = 's:u8')";
        answer(&session, sql).unwrap();
        let rows =
            "SELECT to_timestamp(value * 86400), 's' || CAST(value % 3 AS TEXT), value FROM generate_series(0, 99)";
        answer(&session, &format!("INSERT INTO k {rows}")).unwrap();
        session.engine().recompress(None).unwrap();
        // Each row moves to the time of another row of its series, which moves as well. The last rows move to new days.
        assert_eq!(done(&session, "UPDATE k SET time = time + INTERVAL '3 days'"), 100);
        let ends = "SELECT count(*), count(DISTINCT time), min(time), max(time), sum(n) FROM k";
        assert_eq!(
            answer(&session, ends).unwrap()[1],
            "100 | 100 | 1970-01-04T00:00:00Z | 1970-04-13T00:00:00Z | 4950"
        );
        // If another row stays at the new time, an error names its key, and no row moves.
        let taken = "UPDATE k SET time = time - INTERVAL '3 days' WHERE n = 50";
        let error = answer(&session, taken).unwrap_err();
        assert!(error.contains("(s2, 1970-02-20T00:00:00") && error.contains("already exists"), "{error}");
        assert_eq!(done(&session, "UPDATE k SET time = time - INTERVAL '3 days', s = s || '!' WHERE n = 50"), 1);
        assert_eq!(answer(&session, "SELECT time, s FROM k WHERE n = 50").unwrap()[1], "1970-02-20T00:00:00Z | s2!");
        assert_eq!(answer(&session, ends).unwrap()[1].split(" | ").next(), Some("100"));
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_with_its_column() {
    let (session, _directory) = session("memory");
    answer(&session, "CREATE TABLE t (time TIMESTAMP, n SMALLINT NOT NULL, x REAL)").unwrap();
    answer(&session, "INSERT INTO t SELECT to_timestamp(value), value % 100, 1 FROM generate_series(1, 20000)")
        .unwrap();
    for (sql, parts) in [
        ("UPDATE t SET n = CASE WHEN time = to_timestamp(12345) THEN 70000 ELSE n END", ["column n", "70000"]),
        ("UPDATE t SET n = NULL WHERE time = to_timestamp(12345)", ["column n", "NULL"]),
        ("UPDATE t SET x = 1e300 WHERE n = 45", ["column x", "1e300"]),
        ("UPDATE t SET time = NULL WHERE n = 45", ["column time", "the time is NULL"]),
    ] {
        let error = answer(&session, sql).unwrap_err();
        assert!(error.contains("table t") && parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(!error.contains("row "), "rows have no numbers that anybody knows: {error}");
    }
}

#[test]
fn rows_that_a_transaction_has_added_change_once_however_many_they_are() {
    let (session, _directory) = session("memory");
    answer(&session, "CREATE TABLE r (time TIMESTAMP, a DOUBLE, b DOUBLE) WITH (slice = 'day')").unwrap();
    // Fewer bytes than are written ahead, but more than half of them.
    let rows = "SELECT to_timestamp(value), random(), random() FROM generate_series(1, 800000)";
    answer(&session, "BEGIN").unwrap();
    answer(&session, &format!("INSERT INTO r {rows}")).unwrap();
    assert_eq!(done(&session, "UPDATE r SET a = random() + 1, b = random() + 1"), 800_000);
    let counted = "SELECT count(*), count(*) FILTER (WHERE a < 1 OR b < 1) FROM r";
    assert_eq!(answer(&session, counted).unwrap()[1], "800000 | 0");
    let moved = format!("WITH i AS (INSERT INTO r {rows}) DELETE FROM r WHERE a >= 1");
    assert_eq!(done(&session, &moved), 800_000);
    assert_eq!(answer(&session, counted).unwrap()[1], "800000 | 800000");
    answer(&session, "COMMIT").unwrap();
    assert_eq!(answer(&session, counted).unwrap()[1], "800000 | 800000");
}

#[test]
fn rows_of_a_with_that_do_not_fit_into_memory_are_refused_and_nothing_changes() {
    let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), EngineOptions::default()).unwrap();
    let options = SessionOptions { memory_bytes: 8 << 20, ..SessionOptions::default() };
    let session = Session::new(engine, options).unwrap();
    answer(&session, "CREATE TABLE t (time TIMESTAMP, x DOUBLE)").unwrap();
    answer(&session, "CREATE TABLE old (time TIMESTAMP, x DOUBLE)").unwrap();
    answer(&session, "INSERT INTO t SELECT to_timestamp(value), random() FROM generate_series(1, 1500000)").unwrap();
    for sql in [
        "WITH gone AS (DELETE FROM t RETURNING *) INSERT INTO old SELECT * FROM gone",
        "WITH gone AS (DELETE FROM t WHERE x < 0) SELECT * FROM t",
    ] {
        assert_eq!(kind(&session, sql), ErrorKind::Resources, "{sql}");
        assert_eq!(answer(&session, "SELECT count(*) FROM t").unwrap()[1], "1500000", "{sql}");
    }
    assert_eq!(answer(&session, "SELECT count(*) FROM old").unwrap()[1], "0");
}

#[test]
fn a_with_that_changes_rows_needs_the_right_to_change() {
    let (session, _directory) = session("memory");
    answer(&session, "CREATE TABLE t (a INT)").unwrap();
    answer(&session, "INSERT INTO t VALUES (1)").unwrap();
    session.restrict(Permission::Read, "only for reading");
    for sql in [
        "WITH d AS (DELETE FROM t) SELECT 1",
        "WITH i AS (INSERT INTO t VALUES (2) RETURNING a) SELECT * FROM i",
        "WITH d AS (DELETE FROM t RETURNING a) INSERT INTO t SELECT a FROM d",
    ] {
        assert_eq!(kind(&session, sql), ErrorKind::ReadOnly, "{sql}");
    }
    assert_eq!(answer(&session, "SELECT count(*) FROM t").unwrap()[1], "1");
}
