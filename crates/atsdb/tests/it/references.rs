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

/// Runs statements of six threads in two engines on one file, and counts the rows without a parent afterwards. Each
/// statement follows from the number of its thread and a key.
fn orphans_after(clauses: &str, statement: impl Fn(i64, i64) -> String + Sync) -> i64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let databases = [open_quiet(&path).unwrap(), open_quiet(&path).unwrap()];
    databases[0].sql("CREATE TABLE p (id BIGINT PRIMARY KEY)").unwrap();
    databases[0].sql(&format!("CREATE TABLE c (a BIGINT REFERENCES p {clauses}, n BIGINT)")).unwrap();
    thread::scope(|scope| {
        for writer in 0..6_i64 {
            let session = databases[writer as usize % 2].session(Default::default()).unwrap();
            let statement = &statement;
            scope.spawn(move || {
                for step in 0..20 {
                    let statement = statement(writer, (step * 7 + writer) % 5);
                    match run(&session, &statement).map_err(|error| error.kind()) {
                        Ok(()) | Err(ErrorKind::ForeignKeyViolation | ErrorKind::Conflict) => {}
                        // The other row has the key.
                        Err(ErrorKind::DuplicateKey) if statement.starts_with("UPDATE") => {}
                        Err(kind) => panic!("{statement}: {kind:?}"),
                    }
                }
            });
        }
    });
    count(&databases[1], ORPHANS)
}

#[test]
fn no_row_loses_its_parent_while_threads_add_and_delete() {
    for action in ["NO ACTION", "CASCADE", "SET NULL"] {
        let orphans = orphans_after(&format!("ON DELETE {action}"), |writer, id| match writer % 3 {
            0 => format!("INSERT INTO p VALUES ({id}) ON CONFLICT DO NOTHING"),
            1 => format!("INSERT INTO c VALUES ({id}, {writer})"),
            _ => format!("DELETE FROM p WHERE id = {id}"),
        });
        assert_eq!(orphans, 0, "{action}");
    }
}

#[test]
fn no_row_loses_its_parent_while_threads_change_keys() {
    for clauses in
        ["ON UPDATE CASCADE", "ON UPDATE SET NULL", "MATCH FULL ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED"]
    {
        let orphans = orphans_after(clauses, |writer, id| match writer % 3 {
            0 => format!("INSERT INTO p VALUES ({id}) ON CONFLICT DO NOTHING"),
            1 => format!("INSERT INTO c VALUES ({id}, {writer})"),
            _ => format!("UPDATE p SET id = {} WHERE id = {id}", (id + writer) % 5),
        });
        assert_eq!(orphans, 0, "{clauses}");
    }
}

/// Runs two transactions at the same time in two engines on one file: the first commits while the second is open.
/// Returns the error of the second COMMIT.
fn interleaved(first: &str, second: &str) -> Option<ErrorKind> {
    interleaved_with("", first, second)
}

/// Does the same as [`interleaved`], with clauses of the foreign key.
fn interleaved_with(clauses: &str, first: &str, second: &str) -> Option<ErrorKind> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let one = open_quiet(&path).unwrap();
    one.sql("CREATE TABLE p (id BIGINT PRIMARY KEY, x BIGINT)").unwrap();
    one.sql(&format!("CREATE TABLE c (a BIGINT REFERENCES p {clauses}, n BIGINT)")).unwrap();
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

#[test]
fn a_row_that_would_follow_another_key_makes_the_transaction_repeat() {
    let (adds, changes) = ("INSERT INTO c VALUES (1, 1)", "UPDATE p SET id = 7 WHERE id = 1");
    for clauses in ["ON UPDATE CASCADE", "ON UPDATE SET NULL"] {
        assert_eq!(interleaved_with(clauses, adds, changes), Some(ErrorKind::Conflict), "{clauses}");
        assert_eq!(interleaved_with(clauses, changes, adds), Some(ErrorKind::ForeignKeyViolation), "{clauses}");
        assert_eq!(interleaved_with(clauses, "UPDATE p SET x = 9", adds), None, "{clauses}");
    }
    // Another row has the key afterwards, but the new one refers to the row that had it before.
    let shifts = "UPDATE p SET id = id + 1";
    assert_eq!(interleaved_with("ON UPDATE CASCADE", "INSERT INTO c VALUES (2, 1)", shifts), Some(ErrorKind::Conflict));
    assert_eq!(interleaved_with("ON UPDATE CASCADE", shifts, "INSERT INTO c VALUES (2, 1)"), None);
}

#[test]
fn a_deferred_check_sees_what_others_have_committed() {
    let deferred = "DEFERRABLE INITIALLY DEFERRED";
    let (adds, deletes) = ("INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE id = 1");
    let violation = Some(ErrorKind::ForeignKeyViolation);
    assert_eq!(interleaved_with(deferred, adds, deletes), violation);
    assert_eq!(interleaved_with(deferred, deletes, adds), violation);
    let renews = "DELETE FROM p WHERE id = 1; INSERT INTO p VALUES (1, 5)";
    assert_eq!(interleaved_with(deferred, adds, renews), None);
    assert_eq!(interleaved_with(deferred, renews, adds), None);
}

#[test]
fn older_rows_without_a_parent_are_no_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let one = open_quiet(&path).unwrap();
    one.sql("CREATE TABLE p (id BIGINT PRIMARY KEY); CREATE TABLE c (a BIGINT, n BIGINT)").unwrap();
    one.sql("INSERT INTO p VALUES (1), (2), (3); INSERT INTO c VALUES (70, 1), (1, 2), (1, 3)").unwrap();
    one.sql("ALTER TABLE c ADD CONSTRAINT c_p FOREIGN KEY (a) REFERENCES p NOT VALID").unwrap();
    let other = open_quiet(&path).unwrap();
    let sessions = [&one, &other].map(|db| db.session(Default::default()).unwrap());
    // The keys of the transaction are looked up again, because the parent has lost one since.
    run(&sessions[0], "BEGIN; DELETE FROM c WHERE n = 3; UPDATE c SET n = 4 WHERE n = 2; INSERT INTO c VALUES (2, 5)")
        .unwrap();
    run(&sessions[1], "DELETE FROM p WHERE id = 3").unwrap();
    run(&sessions[0], "COMMIT").unwrap();
    assert_eq!(count(&other, "SELECT count(*) FROM c"), 3);
    assert_eq!(count(&other, ORPHANS), 1);
    let validated = run(&sessions[0], "ALTER TABLE c VALIDATE CONSTRAINT c_p").unwrap_err();
    assert_eq!(validated.kind(), ErrorKind::ForeignKeyViolation);
    // Of the transactions that delete a parent and add a row for it, the second one fails as for any foreign key.
    run(&sessions[0], "BEGIN; INSERT INTO c VALUES (2, 6)").unwrap();
    run(&sessions[1], "DELETE FROM c WHERE a = 2; DELETE FROM p WHERE id = 2").unwrap();
    let refused = run(&sessions[0], "COMMIT").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ForeignKeyViolation);
}
