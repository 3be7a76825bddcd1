//! Sessions that share threads and memory: an error or an interrupt in one session does not affect the others.

use crate::limits::interrupted;
use crate::render::ask;
use crate::stores::session;
use atsdb_core::{Error, ErrorKind};
use atsdb_sql::{Answer, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";

fn execute(session: &Session, sql: &str) -> Result<usize, Error> {
    let statement = session.statements(sql).next().unwrap()?;
    let Answer::Rows(rows) = session.execute(&statement, &[])? else { return Ok(0) };
    rows.map(|batch| batch.map(|batch| batch.num_rows())).sum()
}

/// Runs `work` while another session runs small queries, all of which must succeed.
fn beside_small_queries<T>(other: &Session, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut count = 0;
            while count < 3 || !is_done.load(Ordering::Relaxed) {
                let found = ask(other, "SELECT count(DISTINCT value % 100), sum(value) FROM generate_series(1, 5000)");
                assert_eq!(found, ["100 | 12502500"]);
                count += 1;
            }
        });
        let done = work();
        is_done.store(true, Ordering::Relaxed);
        asking.join().unwrap();
        done
    })
}

#[test]
fn a_session_that_is_interrupted_is_the_only_one() {
    let (first, _directory) = session("memory");
    let (second, third) = (first.sharing(), first.sharing());
    std::thread::scope(|scope| {
        // Runs from before the first interrupt until after the last one.
        let long = scope.spawn(|| execute(&third, "SELECT value FROM generate_series(1, 3000000)"));
        beside_small_queries(&second, || {
            for _ in 0..5 {
                let error = interrupted(&first, || execute(&first, ENDLESS)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
            }
        });
        assert_eq!(long.join().unwrap().unwrap(), 3_000_000);
    });
    assert_eq!(ask(&first, "SELECT 1"), ["1"]);
}

#[test]
fn two_sessions_drop_the_indexes_of_one_table() {
    let (first, _directory) = session("memory");
    execute(&first, "CREATE TABLE t (a BIGINT, b BIGINT)").unwrap();
    for number in 0..40 {
        execute(&first, &format!("CREATE INDEX i{number} ON t (a)")).unwrap();
    }
    let second = first.sharing();
    std::thread::scope(|scope| {
        for (session, numbers) in [(&first, 0..20), (&second, 20..40)] {
            scope.spawn(move || {
                for number in numbers {
                    execute(session, &format!("DROP INDEX i{number}")).unwrap();
                }
            });
        }
    });
    assert_eq!(ask(&first, "SELECT count(*) FROM atsdb.indexes"), ["0"]);
}

#[test]
fn stopped_queries_that_hold_all_threads_do_not_keep_the_next_one_waiting() {
    let (first, _directory) = session("memory");
    let second = first.sharing();
    let slow = "SELECT count(*) FROM generate_series(1, 100000000) \
                WHERE regexp_like(repeat('a', 1000) || value, '(a*)*b|(a|aa)+c')";
    for _ in 0..3 {
        let error = interrupted(&first, || execute(&first, slow)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        assert_eq!(ask(&second, "SELECT 2"), ["2"]);
    }
}

#[test]
fn a_query_beyond_its_memory_affects_no_other() {
    let (first, _directory) = session("memory");
    let (second, third) = (first.sharing(), first.sharing());
    let reading = third.statements("SELECT value FROM generate_series(1, 3000000)").next().unwrap().unwrap();
    let Answer::Rows(mut reading) = third.execute(&reading, &[]).unwrap() else { panic!() };
    let mut read = reading.next().unwrap().unwrap().num_rows();
    for greedy in [
        "SELECT array_length(array_agg(value)) FROM generate_series(1, 100000000)",
        "SELECT max(s) FROM (SELECT sum(value) OVER (PARTITION BY value % 2) s FROM generate_series(1, 100000000))",
    ] {
        let error = beside_small_queries(&second, || execute(&first, greedy)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resources, "{error}");
        assert!(error.hint().is_some());
        assert_eq!(ask(&first, "SELECT 2"), ["2"]);
        read += reading.next().unwrap().unwrap().num_rows();
    }
    let rest: usize = reading.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(read + rest, 3_000_000);
}

#[test]
fn each_session_has_its_own_transaction_and_limit_of_time() {
    let (first, _directory) = session("memory");
    let second = first.sharing();
    ask(&first, "CREATE TABLE t (a INT)");
    ask(&first, "BEGIN");
    ask(&first, "INSERT INTO t VALUES (1)");
    assert_eq!((first.in_transaction(), second.in_transaction()), (true, false));
    assert_eq!(ask(&second, "SELECT count(*) FROM t"), ["0"]);
    ask(&first, "COMMIT");
    assert_eq!(ask(&second, "SELECT count(*) FROM t"), ["1"]);
    first.set_time_limit(Some(Duration::from_millis(200)));
    let error = execute(&first, ENDLESS).unwrap_err();
    assert!(error.to_string().contains("longer than 200ms"), "{error}");
    assert_eq!(execute(&second, "SELECT count(*) FROM generate_series(1, 20000000)").unwrap(), 1);
    first.set_time_limit(None);
    assert_eq!(execute(&first, "SELECT count(*) FROM generate_series(1, 20000000)").unwrap(), 1);
}

/// Executes the statements one after the other.
fn run(session: &Session, statements: &[&str]) {
    for sql in statements {
        execute(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn a_table_is_not_created_in_a_schema_that_another_session_drops() {
    for store in ["memory", "sqlite"] {
        let (first, _directory) = session(store);
        let second = first.sharing();
        run(&first, &["CREATE SCHEMA s", "BEGIN", "CREATE TABLE s.t (a INT)"]);
        run(&second, &["DROP SCHEMA s"]);
        execute(&first, "COMMIT").unwrap_err();
        assert!(second.schemas().unwrap().is_empty(), "{store}");
        run(&second, &["CREATE SCHEMA s", "CREATE TABLE s.t (a INT)"]);
    }
}

#[test]
fn a_transaction_that_cannot_be_committed_names_the_table() {
    let (update, alter) = ("UPDATE readings SET x = 2", "ALTER TABLE readings ADD COLUMN y INT");
    let changed = "the definition of table readings was changed by another writer";
    for store in ["memory", "sqlite"] {
        let (first, _directory) = session(store);
        let second = first.sharing();
        for (own, other, expected) in [
            (update, alter, changed),
            (alter, alter, changed),
            (update, "ALTER TABLE readings RENAME TO renamed", changed),
            (update, update, "of table readings was replaced by another writer"),
            (update, "DROP TABLE readings", "table readings was dropped by another writer"),
        ] {
            let create = "CREATE TABLE readings (time TIMESTAMP, x INT)";
            run(&first, &[create, "INSERT INTO readings VALUES ('2024-01-01', 1)", "BEGIN", own]);
            run(&second, &[other]);
            let error = execute(&first, "COMMIT").unwrap_err();
            assert!(error.message().contains(expected), "{store}: {own}, {other}: {error}");
            run(&second, &["DROP TABLE IF EXISTS readings, renamed"]);
        }
    }
}

#[test]
fn no_column_is_left_without_its_sequence() {
    for store in ["memory", "sqlite"] {
        let (first, _directory) = session(store);
        let second = first.sharing();
        let table = "CREATE TABLE t (a INT, id BIGINT DEFAULT nextval('s'))";
        run(&first, &["CREATE SEQUENCE s", "BEGIN", table]);
        run(&second, &["DROP SEQUENCE s"]);
        execute(&first, "COMMIT").unwrap_err();
        run(&first, &["CREATE SEQUENCE s", "BEGIN", "DROP SEQUENCE s"]);
        run(&second, &[table]);
        execute(&first, "COMMIT").unwrap_err();
        run(&second, &["INSERT INTO t (a) VALUES (1)"]);
        assert_eq!(ask(&first, "SELECT a, id FROM t"), ["1 | 1"], "{store}");
        run(&second, &["DROP SEQUENCE s CASCADE"]);
    }
}

#[test]
fn rows_that_wait_in_a_transaction_keep_the_defaults_of_their_statements() {
    let (first, _directory) = session("memory");
    let second = first.sharing();
    let create =
        "CREATE TABLE t (n INT, at TIMESTAMP DEFAULT now(), id UUID DEFAULT gen_random_uuid()) WITH (time = 'none')";
    let insert = "INSERT INTO t (n) VALUES (1)";
    for sql in [create, "BEGIN", insert] {
        execute(&first, sql).unwrap();
    }
    execute(&second, "ALTER TABLE t ALTER COLUMN at DROP DEFAULT, ALTER COLUMN id DROP DEFAULT").unwrap();
    // No row loses its defaults: either all have them, or the transaction is refused as a whole.
    let committed = [insert, "COMMIT"].into_iter().try_for_each(|sql| execute(&first, sql).map(drop));
    let wanted = match committed {
        Ok(()) => "2 | 1 | 2",
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            "0 | 0 | 0"
        }
    };
    assert_eq!(ask(&first, "SELECT count(at), count(DISTINCT at), count(DISTINCT id) FROM t"), [wanted]);
    execute(&first, insert).unwrap();
    assert_eq!(ask(&first, "SELECT count(*) - count(at), count(*) - count(id) FROM t"), ["1 | 1"]);
}
