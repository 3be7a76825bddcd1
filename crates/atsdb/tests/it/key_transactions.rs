//! Transactions that insert into one table with a key at the same time: in threads, and in two engines on one file.

use crate::support::{open_quiet, rows};
use atsdb::arrow::array::AsArray;
use atsdb::arrow::datatypes::Int64Type;
use atsdb::sql::{Answer, Session};
use atsdb::{Database, ErrorKind, Result};
use std::thread;

const DECLARATION: &str = "CREATE TABLE keyed (id BIGINT PRIMARY KEY, n BIGINT)";

fn run(session: &Session, text: &str) -> Result<()> {
    session.statements(text).try_for_each(|statement| match session.execute(&statement?, &[])? {
        Answer::Rows(mut rows) => rows.try_for_each(|batch| batch.map(drop)),
        Answer::Done { .. } => Ok(()),
    })
}

fn ids(db: &Database) -> Vec<i64> {
    rows(db, "SELECT id FROM keyed ORDER BY id").column(0).as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn transactions_of_eight_threads_add_different_keys() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_quiet(&folder.path().join("a.db")).unwrap();
    db.sql(DECLARATION).unwrap();
    thread::scope(|scope| {
        for writer in 0..8 {
            let session = db.session(Default::default()).unwrap();
            scope.spawn(move || {
                for step in 0..10 {
                    let id = step * 8 + writer;
                    run(&session, &format!("BEGIN; INSERT INTO keyed VALUES ({id}, 1); COMMIT")).unwrap();
                }
            });
        }
    });
    assert_eq!(ids(&db), (0..80).collect::<Vec<_>>());
}

/// Runs two transactions at the same time in two engines on one file: the first commits while the second is open.
/// Returns the error of the second COMMIT, and the ids of the table.
fn interleaved(first: &str, second: &str) -> (Option<ErrorKind>, Vec<i64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let one = open_quiet(&path).unwrap();
    one.sql(DECLARATION).unwrap();
    one.sql("INSERT INTO keyed VALUES (1, 1), (2, 2)").unwrap();
    let other = open_quiet(&path).unwrap();
    let sessions = [&one, &other].map(|db| db.session(Default::default()).unwrap());
    let texts = [first, second];
    for (session, text) in sessions.iter().zip(texts) {
        // The query has the rows of the statements before it checked now.
        run(session, &format!("BEGIN; {text}; SELECT count(*) FROM keyed")).unwrap();
    }
    run(&sessions[0], "COMMIT").unwrap();
    let error = run(&sessions[1], "COMMIT").err();
    let ids = ids(&one);
    (error.map(|error| error.kind()), ids)
}

#[test]
fn different_keys_do_not_conflict() {
    let many = "INSERT INTO keyed VALUES (100, 0), (101, 1), (102, 2)";
    for second in ["INSERT INTO keyed VALUES (4, 4)", "INSERT INTO keyed VALUES (4, 4) ON CONFLICT DO NOTHING"] {
        let (error, ids) = interleaved("INSERT INTO keyed VALUES (3, 3)", second);
        assert_eq!((error, ids), (None, vec![1, 2, 3, 4]), "{second}");
    }
    let (error, ids) = interleaved(many, "INSERT INTO keyed SELECT 101 + n, n FROM keyed");
    assert_eq!((error, ids), (Some(ErrorKind::DuplicateKey), vec![1, 2, 100, 101, 102]));
    let (error, ids) = interleaved(many, "INSERT INTO keyed SELECT 200 + n, n FROM keyed");
    assert_eq!((error, ids), (None, vec![1, 2, 100, 101, 102, 201, 202]));
}

#[test]
fn an_equal_key_is_a_duplicate() {
    let insert = "INSERT INTO keyed VALUES (3, 3)";
    assert_eq!(interleaved(insert, insert), (Some(ErrorKind::DuplicateKey), vec![1, 2, 3]));
    let (error, ids) = interleaved("DELETE FROM keyed WHERE id = 1", "INSERT INTO keyed VALUES (3, 3)");
    assert_eq!((error, ids), (None, vec![2, 3]));
}

#[test]
fn what_a_conflict_policy_decided_in_an_older_state_is_a_conflict() {
    let insert = "INSERT INTO keyed VALUES (3, 3)";
    for action in ["DO NOTHING", "(id) DO UPDATE SET n = excluded.n"] {
        let second = format!("INSERT INTO keyed VALUES (3, 30) ON CONFLICT {action}");
        assert_eq!(interleaved(insert, &second), (Some(ErrorKind::Conflict), vec![1, 2, 3]), "{action}");
    }
    let update = "UPDATE keyed SET n = n + 1 WHERE id = 2";
    let again = "DELETE FROM keyed WHERE id = 2; INSERT INTO keyed VALUES (2, 20)";
    assert_eq!(interleaved(update, again), (Some(ErrorKind::Conflict), vec![1, 2]));
}
