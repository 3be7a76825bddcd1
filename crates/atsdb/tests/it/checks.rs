//! CHECK constraints hold for rows that do not come by SQL: Arrow batches, structs, rewritten chunks, copies.

use crate::support::{open, open_quiet, rows};
use atsdb::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use atsdb::arrow::datatypes::Int64Type;
use atsdb::{
    BackupOptions, BackupSelector, BatchId, CommitOutcome, ConflictPolicy, CopyOptions, Database, ErrorKind, Record,
};
use std::sync::Arc;

const DECLARATION: &str = "CREATE TABLE checked (id BIGINT PRIMARY KEY CHECK (id > 0), state TEXT CONSTRAINT known \
                           CHECK (state IN ('on', 'off') OR state LIKE 'x%')) WITH (map = 'state:u8')";

#[derive(Record)]
struct Checked {
    id: i64,
    state: String,
}

fn batch_of(rows: &[(i64, &str)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
    let states: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.1)).collect::<StringArray>());
    RecordBatch::try_from_iter([("id", ids), ("state", states)]).unwrap()
}

fn ids(db: &Database) -> Vec<i64> {
    rows(db, "SELECT id FROM checked ORDER BY id").column(0).as_primitive::<Int64Type>().values().to_vec()
}

fn violated(error: &atsdb::Error) -> &str {
    assert_eq!(error.kind(), ErrorKind::CheckViolation, "{error}");
    error.message().split('"').nth(3).unwrap()
}

#[test]
fn arrow_batches_are_tested_before_any_session_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    open_quiet(&path).unwrap().sql(DECLARATION).unwrap();
    let db = open_quiet(&path).unwrap();
    let table = db.engine().table("checked").unwrap();
    let mut batch = db.batch(None);
    batch.append(&table, &batch_of(&[(1, "on"), (2, "xy")])).unwrap();
    assert_eq!(violated(&batch.append(&table, &batch_of(&[(3, "on"), (4, "broken")])).unwrap_err()), "known");
    for policy in [ConflictPolicy::Replace, ConflictPolicy::Keep] {
        let refused = batch.append_with(&table, &batch_of(&[(-1, "on")]), policy).unwrap_err();
        assert_eq!(violated(&refused), "checked_id_check");
    }
    let merged = batch.append_with(&table, &batch_of(&[(1, "off")]), ConflictPolicy::Merge).unwrap_err();
    assert!(merged.to_string().contains("cannot be merged"), "{merged}");
    let mut batch = db.batch(None);
    batch.append(&table, &batch_of(&[(1, "on"), (2, "xy")])).unwrap();
    batch.append(&table, &batch_of(&[(5, "broken")])).unwrap_err();
    // The refused rows are not in the batch, and the others are.
    batch.append(&table, &batch_of(&[(3, "off")])).unwrap();
    batch.commit().unwrap();
    assert_eq!(ids(&db), [1, 2, 3]);
}

#[test]
fn structs_are_tested_when_they_leave_the_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder.path().join("a.db"));
    db.sql(DECLARATION).unwrap();
    let mut appender = db.appender("checked").unwrap();
    appender.push_plain(&Checked { id: 1, state: "on".to_owned() }).unwrap();
    appender.flush().unwrap();
    appender.push_plain(&Checked { id: 2, state: "off".to_owned() }).unwrap();
    appender.push_plain(&Checked { id: 3, state: "broken".to_owned() }).unwrap();
    assert_eq!(violated(&appender.flush().unwrap_err()), "known");
    appender.push_plain(&Checked { id: 4, state: "x".to_owned() }).unwrap();
    appender.flush().unwrap();
    assert_eq!(ids(&db), [1, 4]);
}

#[test]
fn a_batch_that_was_committed_before_is_a_duplicate_under_a_new_constraint() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder.path().join("a.db"));
    db.sql("CREATE TABLE checked (id BIGINT)").unwrap();
    let table = db.engine().table("checked").unwrap();
    let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![-1])) as ArrayRef)]).unwrap();
    let send = || {
        let mut batch = db.batch(Some(BatchId::new("once").unwrap()));
        batch.append(&table, &rows)?;
        batch.commit()
    };
    assert_eq!(send().unwrap(), CommitOutcome::Committed);
    db.sql("DELETE FROM checked").unwrap();
    db.sql("ALTER TABLE checked ADD CHECK (id > 0)").unwrap();
    assert_eq!(send().unwrap(), CommitOutcome::Duplicate);
}

#[test]
fn a_batch_under_the_older_definition_does_not_pass_by_a_new_constraint() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder.path().join("a.db"));
    db.sql("CREATE TABLE checked (id BIGINT)").unwrap();
    let table = db.engine().table("checked").unwrap();
    let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![-1])) as ArrayRef)]).unwrap();
    let mut batch = db.batch(None);
    batch.append(&table, &rows).unwrap();
    db.sql("ALTER TABLE checked ADD CHECK (id > 0)").unwrap();
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let mut batch = db.batch(None);
    assert_eq!(violated(&batch.append(&table, &rows).unwrap_err()), "checked_id_check");
    assert!(ids(&db).is_empty());
}

#[test]
fn copies_and_backups_keep_the_constraints() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_quiet(&folder.path().join("a.db")).unwrap();
    db.sql(DECLARATION).unwrap();
    db.sql("INSERT INTO checked VALUES (1, 'on')").unwrap();
    let archive = folder.path().join("archive");
    db.backup(archive.to_str().unwrap(), &BackupOptions::default()).unwrap();
    let restored = open_quiet(&folder.path().join("b.db")).unwrap();
    restored.restore(archive.to_str().unwrap(), &BackupSelector::Latest, &CopyOptions::default()).unwrap();
    let copied = open_quiet(&folder.path().join("c.db")).unwrap();
    db.copy_into(&copied, &CopyOptions::default()).unwrap();
    for other in [restored, copied] {
        let table = other.engine().table("checked").unwrap();
        assert_eq!(table.definition.checks, db.engine().table("checked").unwrap().definition.checks);
        let refused = other.batch(None).append(&table, &batch_of(&[(2, "broken")])).unwrap_err();
        assert_eq!(violated(&refused), "known");
        assert_eq!(ids(&other), [1]);
    }
}
