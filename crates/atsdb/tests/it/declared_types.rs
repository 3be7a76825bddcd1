//! Decimals, times of day, UUIDs, JSON and intervals in stored tables and in memory, through Arrow, copies and backups.

use crate::support::open_quiet;
use arrow::array::{
    ArrayRef, Decimal128Array, Int64Array, IntervalMonthDayNanoArray, RecordBatch, StringArray, Time64MicrosecondArray,
};
use arrow::compute::{concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, IntervalMonthDayNano};
use atsdb::sql::{Answer, SessionOptions};
use atsdb::{BackupOptions, BackupSelector, CopyOptions, Database, ErrorKind, ScanRequest};
use std::sync::Arc;

const ROWS: i64 = 40;

/// Creates a table with a column of each of the types, and a key of three of them.
pub(crate) fn create(db: &Database, name: &str, options: &str) {
    let columns = "short DECIMAL(18, 3), long DECIMAL(38, 9), begins TIME, id UUID, doc JSON, span INTERVAL";
    let create = format!("CREATE TABLE {name} (row BIGINT, {columns}, UNIQUE (short, begins, id)) WITH ({options})");
    run(db, &create);
}

fn run(db: &Database, sql: &str) -> Vec<RecordBatch> {
    let session = db.session(SessionOptions::default()).unwrap();
    let statement = session.statements(sql).next().unwrap().unwrap();
    match session.execute(&statement, &[]).unwrap() {
        Answer::Rows(rows) => rows.map(Result::unwrap).collect(),
        _ => Vec::new(),
    }
}

/// The rows from `first` on: extremes, NULLs and ordinary values.
fn rows(first: i64) -> RecordBatch {
    let each = || first..first + ROWS;
    let decimal = |row: i64, precision: u32| match row % 5 {
        0 => None,
        1 => Some(10_i128.pow(precision) - 1 - i128::from(row)),
        2 => Some(1 + i128::from(row) - 10_i128.pow(precision)),
        _ => Some(i128::from(row) * 1_001 - 20_000),
    };
    let decimals = |precision: u32, scale: i8| -> ArrayRef {
        let numbers = each().map(|row| decimal(row, precision)).collect::<Decimal128Array>();
        Arc::new(numbers.with_precision_and_scale(precision as u8, scale).unwrap())
    };
    let times = each().map(|row| (row % 4 > 0).then_some((row * 86_399_999_999 / 300).min(86_399_999_999)));
    let ids = each().map(|row| (row % 3 > 0).then(|| format!("a0eebc99-9c0b-4ef8-bb6d-{row:012x}")));
    let docs = each().map(|row| (row % 7 > 0).then(|| format!(r#"{{"row": {row}, "list": [1.50, null]}}"#)));
    let span = |row: i64| IntervalMonthDayNano::new(row as i32 - 20, 7 - row as i32, row * 86_399_999_999_999);
    let spans = each().map(|row| (row % 6 > 0).then(|| span(row)));
    RecordBatch::try_from_iter_with_nullable([
        ("row", Arc::new(each().collect::<Int64Array>()) as ArrayRef, true),
        ("short", decimals(18, 3), true),
        ("long", decimals(38, 9), true),
        ("begins", Arc::new(times.collect::<Time64MicrosecondArray>()), true),
        ("id", Arc::new(ids.collect::<StringArray>()), true),
        ("doc", Arc::new(docs.collect::<StringArray>()), true),
        ("span", Arc::new(spans.collect::<IntervalMonthDayNanoArray>()), true),
    ])
    .unwrap()
}

pub(crate) fn insert(db: &Database, name: &str, first: i64) {
    let table = db.engine().table(name).unwrap();
    let mut batch = db.batch(None);
    batch.append(&table, &rows(first)).unwrap();
    batch.commit().unwrap();
}

fn ordered(rows: &RecordBatch) -> RecordBatch {
    take_record_batch(rows, &sort_to_indices(rows.column(0), None, None).unwrap()).unwrap()
}

/// The rows of a table by SQL.
fn selected(db: &Database, name: &str) -> RecordBatch {
    let rows = run(db, &format!("SELECT * FROM {name} ORDER BY row"));
    concat_batches(&rows[0].schema(), &rows).unwrap()
}

pub(crate) fn assert_rows(db: &Database, name: &str, starts: &[i64]) {
    let expected: Vec<RecordBatch> = starts.iter().map(|first| rows(*first)).collect();
    let expected = concat_batches(&expected[0].schema(), &expected).unwrap();
    assert_eq!(selected(db, name).columns(), expected.columns());
    let snapshot = db.snapshot().unwrap();
    let table = snapshot.table(name).unwrap();
    if !table.definition.is_in_memory() {
        let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
        let schema = scan.schema();
        let found = concat_batches(&schema, &scan.batches().map(Result::unwrap).collect::<Vec<_>>()).unwrap();
        assert_eq!(*schema.field(2).data_type(), DataType::Decimal128(38, 9));
        assert_eq!(ordered(&found).columns(), expected.columns());
    }
}

#[test]
fn copies_and_backups_have_the_same_rows_and_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_quiet(&folder.path().join("a.db")).unwrap();
    create(&db, "stored", "time = 'none'");
    create(&db, "memory", "engine = 'memory'");
    for name in ["stored", "memory"] {
        insert(&db, name, 0);
        db.engine().recompress(None).unwrap();
        insert(&db, name, 100);
        assert_rows(&db, name, &[0, 100]);
    }
    let hashes = |db: &Database| db.snapshot().unwrap().content_hashes(None).unwrap();
    let of_source = hashes(&db);
    assert_eq!(of_source[0].hash, of_source[1].hash, "a table in memory hashes like a stored one");
    let copy = open_quiet(&folder.path().join("b.db")).unwrap();
    db.copy_into(&copy, &CopyOptions::default()).unwrap();
    let archive = folder.path().join("archive");
    let archive = archive.to_str().unwrap();
    db.backup(archive, &BackupOptions::default()).unwrap();
    let restored = open_quiet(&folder.path().join("c.db")).unwrap();
    restored.restore(archive, &BackupSelector::Latest, &CopyOptions::default()).unwrap();
    for other in [&copy, &restored] {
        for name in ["stored", "memory"] {
            assert_rows(other, name, &[0, 100]);
        }
        assert_eq!(hashes(other), of_source);
    }
}

#[test]
fn tables_in_memory_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let db = open_quiet(&path).unwrap();
    create(&db, "memory", "engine = 'memory'");
    insert(&db, "memory", 0);
    run(&db, "CHECKPOINT");
    drop(db);
    let db = open_quiet(&path).unwrap();
    assert_rows(&db, "memory", &[0]);
    let twice = db.engine().table("memory").unwrap();
    let mut batch = db.batch(None);
    let keyed = rows(1).slice(0, 1);
    let refused = batch.append(&twice, &keyed).and_then(|()| batch.commit());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::DuplicateKey);
}
