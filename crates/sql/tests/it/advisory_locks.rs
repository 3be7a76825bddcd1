//! Advisory locks of several sessions over one store, and pauses.

use crate::render::ask;
use crate::stores::session;
use atsdb_core::{Error, ErrorKind};
use atsdb_sql::{Answer, ParameterValue, Session};
use std::time::Duration;

const DONE: [&str; 1] = ["(empty)"];
const YES: [&str; 1] = ["true"];
const NO: [&str; 1] = ["false"];

fn execute(session: &Session, sql: &str) -> Result<(), Error> {
    let statement = session.statements(sql).next().unwrap()?;
    let Answer::Rows(mut rows) = session.execute(&statement, &[])? else { return Ok(()) };
    rows.try_for_each(|batch| batch.map(drop))
}

#[test]
fn a_session_waits_for_the_lock_of_another_one() {
    let (first, _directory) = session("memory");
    let second = first.sharing();
    ask(&first, "SELECT pg_advisory_lock(7)");
    assert_eq!(ask(&second, "SELECT pg_try_advisory_lock(7)"), NO);
    assert_eq!(ask(&second, "SELECT pg_try_advisory_lock_shared(7)"), NO);
    assert_eq!(ask(&second, "SELECT pg_try_advisory_lock(0, 7)"), YES);
    second.set_time_limit(Some(Duration::from_millis(50)));
    let error = execute(&second, "SELECT pg_advisory_lock(7)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Resources, "{error}");
    second.set_time_limit(None);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ask(&second, "SELECT pg_advisory_lock(7)"));
        assert_eq!(ask(&first, "SELECT pg_advisory_unlock(7)"), YES);
        assert_eq!(waiting.join().unwrap(), DONE);
    });
    assert_eq!(ask(&first, "SELECT pg_try_advisory_lock(7)"), NO);
    drop(second);
    assert_eq!(ask(&first, "SELECT pg_try_advisory_lock(7)"), YES);
}

#[test]
fn more_sessions_may_wait_than_there_are_threads() {
    let (first, _directory) = session("memory");
    ask(&first, "SELECT pg_advisory_lock(7)");
    let others: Vec<_> = (0..20).map(|_| first.sharing()).collect();
    std::thread::scope(|scope| {
        let wait = |other| scope.spawn(move || ask(other, "SELECT pg_advisory_xact_lock(7)"));
        let waiting: Vec<_> = others.iter().map(wait).collect();
        assert_eq!(ask(&first, "SELECT pg_advisory_unlock(7)"), YES);
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap(), DONE);
        }
    });
    assert_eq!(ask(&first, "SELECT pg_try_advisory_lock(7)"), YES);
}

#[test]
fn locks_of_a_transaction_end_with_it() {
    let (first, _directory) = session("memory");
    let second = first.sharing();
    for end in ["COMMIT", "ROLLBACK"] {
        execute(&first, "BEGIN").unwrap();
        ask(&first, "SELECT pg_advisory_xact_lock(7), pg_advisory_lock_shared(8)");
        assert_eq!(ask(&first, "SELECT pg_advisory_unlock(7)"), NO);
        assert_eq!(ask(&second, "SELECT pg_try_advisory_xact_lock(7)"), NO);
        execute(&first, end).unwrap();
        assert_eq!(ask(&second, "SELECT pg_try_advisory_xact_lock(7)"), YES);
        assert_eq!(ask(&second, "SELECT pg_try_advisory_xact_lock(8)"), NO);
        assert_eq!(ask(&second, "SELECT pg_try_advisory_xact_lock_shared(8)"), YES);
    }
    first.unlock_all();
    assert_eq!(ask(&second, "SELECT pg_try_advisory_lock(8)"), YES);
}

#[test]
fn a_transaction_that_begins_with_a_lock_sees_what_was_committed_before_it_had_the_lock() {
    let (first, _directory) = session("memory");
    let second = first.sharing();
    execute(&first, "CREATE TABLE t (version INT PRIMARY KEY)").unwrap();
    ask(&second, "SELECT pg_advisory_lock(7)");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            execute(&first, "BEGIN").unwrap();
            ask(&first, "SELECT pg_advisory_xact_lock(7)");
            ask(&first, "SELECT version FROM t")
        });
        execute(&second, "INSERT INTO t VALUES (1)").unwrap();
        assert_eq!(ask(&second, "SELECT pg_advisory_unlock(7)"), YES);
        assert_eq!(waiting.join().unwrap(), ["1"]);
    });
    execute(&second, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(ask(&first, "SELECT version FROM t"), ["1"]);
}

#[test]
fn a_lock_is_named_by_a_parameter() {
    let (session, _directory) = session("memory");
    for (sql, types) in [
        ("SELECT pg_advisory_lock($1)", vec!["Int64"]),
        ("SELECT pg_try_advisory_xact_lock($1, $2)", vec!["Int32", "Int32"]),
        ("SELECT pg_sleep($1)", vec!["Float64"]),
    ] {
        let prepared = session.prepare(sql, &[]).unwrap();
        let found: Vec<String> = prepared.parameter_types().iter().map(ToString::to_string).collect();
        assert_eq!(found, types, "{sql}");
        let values: Vec<ParameterValue> = vec!["0".into(); types.len()];
        session.execute_prepared(&prepared, &values).unwrap();
    }
}

#[test]
fn a_pause_ends_with_the_statement() {
    let (session, _directory) = session("memory");
    assert_eq!(ask(&session, "SELECT pg_sleep(0.001)"), DONE);
    session.set_time_limit(Some(Duration::from_millis(50)));
    let error = execute(&session, "SELECT pg_sleep(1000000)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Resources, "{error}");
}
