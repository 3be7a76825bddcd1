//! Foreign keys between sessions: of threads, and of two engines on one file.

use crate::support::{open_quiet, rows};
use atsdb::arrow::array::AsArray;
use atsdb::arrow::datatypes::Int64Type;
use atsdb::sql::{Answer, Session};
use atsdb::{Database, ErrorKind, Result};
use std::thread;

fn run(session: &Session, text: &str) -> Result<()> {
    session.statements(text).try_for_each(|statement| match session.execute(&statement?, &[])? {
        Answer::Rows(mut rows) => rows.try_for_each(|batch| batch.map(drop)),
        Answer::Done { .. } => Ok(()),
    })
}

fn count(db: &Database, query: &str) -> i64 {
    rows(db, query).column(0).as_primitive::<Int64Type>().value(0)
}

const ORPHANS: &str = "SELECT count(*) FROM c WHERE a IS NOT NULL AND NOT EXISTS (SELECT 1 FROM p WHERE p.id = c.a)";

#[test]
fn no_row_loses_its_parent_while_threads_add_and_delete() {
    for action in ["NO ACTION", "CASCADE", "SET NULL"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let databases = [open_quiet(&path).unwrap(), open_quiet(&path).unwrap()];
        databases[0].sql("CREATE TABLE p (id BIGINT PRIMARY KEY)").unwrap();
        databases[0].sql(&format!("CREATE TABLE c (a BIGINT REFERENCES p ON DELETE {action}, n BIGINT)")).unwrap();
        thread::scope(|scope| {
            for writer in 0..6_i64 {
                let session = databases[writer as usize % 2].session(Default::default()).unwrap();
                scope.spawn(move || {
                    for step in 0..20 {
                        let id = (step * 7 + writer) % 5;
                        let statement = match writer % 3 {
                            0 => format!("INSERT INTO p VALUES ({id}) ON CONFLICT DO NOTHING"),
                            1 => format!("INSERT INTO c VALUES ({id}, {step})"),
                            _ => format!("DELETE FROM p WHERE id = {id}"),
                        };
                        match run(&session, &statement).map_err(|error| error.kind()) {
                            Ok(()) | Err(ErrorKind::ForeignKeyViolation | ErrorKind::Conflict) => {}
                            Err(kind) => panic!("{statement}: {kind:?}"),
                        }
                    }
                });
            }
        });
        assert_eq!(count(&databases[1], ORPHANS), 0, "{action}");
    }
}

/// Runs two transactions at the same time in two engines on one file: the first commits while the second is open.
/// Returns the error of the second COMMIT.
fn interleaved(first: &str, second: &str) -> Option<ErrorKind> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let one = open_quiet(&path).unwrap();
    one.sql("CREATE TABLE p (id BIGINT PRIMARY KEY, x BIGINT)").unwrap();
    one.sql("CREATE TABLE c (a BIGINT REFERENCES p, n BIGINT)").unwrap();
    one.sql("INSERT INTO p VALUES (1, 1), (2, 2)").unwrap();
    one.sql("INSERT INTO p VALUES (3, 3)").unwrap();
    let other = open_quiet(&path).unwrap();
    let sessions = [&one, &other].map(|db| db.session(Default::default()).unwrap());
    for (session, text) in sessions.iter().zip([first, second]) {
        run(session, &format!("BEGIN; {text}")).unwrap();
    }
    run(&sessions[0], "COMMIT").unwrap();
    let error = run(&sessions[1], "COMMIT").err();
    assert_eq!(count(&one, ORPHANS), 0);
    error.map(|error| error.kind())
}

#[test]
fn of_a_new_row_and_the_deletion_of_its_parent_only_the_first_is_committed() {
    let violation = Some(ErrorKind::ForeignKeyViolation);
    let (adds, deletes) = ("INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE id = 1");
    assert_eq!(interleaved(adds, deletes), violation);
    assert_eq!(interleaved(deletes, adds), violation);
    assert_eq!(interleaved("UPDATE p SET id = 7 WHERE id = 1", adds), violation);
    assert_eq!(interleaved(adds, "UPDATE p SET id = 7 WHERE id = 1"), violation);
    assert_eq!(interleaved("DELETE FROM p WHERE id = 3", adds), None);
    assert_eq!(interleaved(adds, "DELETE FROM p WHERE id = 3"), None);
    assert_eq!(interleaved("UPDATE p SET x = 9", adds), None);
    assert_eq!(interleaved(adds, "UPDATE p SET x = 9"), None);
    assert_eq!(interleaved("INSERT INTO p VALUES (8, 8)", deletes), None);
    assert_eq!(interleaved(deletes, "INSERT INTO p VALUES (8, 8)"), None);
}
