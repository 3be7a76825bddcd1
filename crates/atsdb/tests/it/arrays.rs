//! Columns of arrays in stored tables and in memory, fresh and sealed, through Arrow, copies and backups.

use crate::support::{open_quiet, rows as rows_of_query};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Float64Type};
use atsdb::sql::{Answer, SessionOptions};
use atsdb::{BackupOptions, BackupSelector, CopyOptions, Database, ErrorKind, ScanRequest, array_text};
use std::sync::Arc;

const ROWS: i64 = 40;

/// A column's name and type, and the text of an element that stands for a number.
type ColumnOfArrays = (&'static str, &'static str, fn(i64) -> String);

/// A column of each kind of elements.
const COLUMNS: [ColumnOfArrays; 9] = [
    ("flags", "BOOLEAN[]", |number| if number % 2 == 0 { "t" } else { "f" }.to_owned()),
    ("counts", "INT[]", |number| (number * 100_003 - 5).to_string()),
    ("samples", "DOUBLE PRECISION[]", |number| format!("{}.5", number * 7)),
    ("words", "TEXT[]", |number| ["", "a b", "null", "\"quoted\"", "plain"][number as usize % 5].to_owned()),
    ("times", "TIMESTAMP[]", |number| format!("2024-03-01 12:00:{:02}", number % 60)),
    ("days", "DATE[]", |number| format!("2024-03-{:02}", number % 28 + 1)),
    ("short", "DECIMAL(9, 2)[]", |number| format!("{number}.25")),
    ("long", "DECIMAL(30, 5)[]", |number| format!("1234567890123456789.{number:05}")),
    ("ids", "UUID[]", |number| format!("a0eebc99-9c0b-4ef8-bb6d-{number:012x}")),
];

pub(crate) fn create(db: &Database, name: &str, options: &str) {
    let columns: Vec<String> = COLUMNS.iter().map(|(column, ty, _)| format!("{column} {ty}")).collect();
    run(db, &format!("CREATE TABLE {name} (row BIGINT, {}) WITH ({options})", columns.join(", ")));
}

fn run(db: &Database, sql: &str) {
    let session = db.session(SessionOptions::default()).unwrap();
    let statement = session.statements(sql).next().unwrap().unwrap();
    if let Answer::Rows(rows) = session.execute(&statement, &[]).unwrap() {
        rows.for_each(|rows| drop(rows.unwrap()));
    }
}

/// The text of the array of a row: NULL, empty, or with up to four elements, some of them NULL.
fn text(row: i64, column: usize) -> Option<String> {
    let (_, _, element) = COLUMNS[column];
    let number = row * 11 + column as i64;
    let elements = (0..number % 5).map(|at| ((number + at) % 4 > 0).then(|| element(number + at)));
    (number % 7 > 0).then(|| array_text::format(elements))
}

/// The rows from `first` on, with arrays as text.
fn rows(first: i64) -> RecordBatch {
    let each = || first..first + ROWS;
    let mut columns: Vec<(&str, ArrayRef, bool)> = vec![("row", Arc::new(each().collect::<Int64Array>()), true)];
    for (position, (name, _, _)) in COLUMNS.iter().enumerate() {
        columns.push((name, Arc::new(each().map(|row| text(row, position)).collect::<StringArray>()), true));
    }
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

pub(crate) fn insert(db: &Database, name: &str, first: i64) {
    let table = db.engine().table(name).unwrap();
    let mut batch = db.batch(None);
    batch.append(&table, &rows(first)).unwrap();
    batch.commit().unwrap();
}

pub(crate) fn assert_rows(db: &Database, name: &str, starts: &[i64]) {
    let texts: Vec<String> = COLUMNS.iter().map(|(column, _, _)| format!("{column}::text")).collect();
    let found = rows_of_query(db, &format!("SELECT {} FROM {name} ORDER BY row", texts.join(", ")));
    for (position, (name, _, _)) in COLUMNS.iter().enumerate() {
        let found: Vec<Option<&str>> = found.column(position).as_string::<i32>().iter().collect();
        let expected: Vec<Option<String>> =
            starts.iter().flat_map(|first| *first..first + ROWS).map(|row| text(row, position)).collect();
        assert_eq!(found, expected.iter().map(Option::as_deref).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn copies_and_backups_have_the_same_arrays_and_hashes() {
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
    run(&db, "UPDATE stored SET counts = counts || NULL::int WHERE row = 1");
    assert_ne!(hashes(&db)[1].hash, of_source[1].hash, "a NULL more is another array");
}

#[test]
fn arrow_arrays_come_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_quiet(&folder.path().join("a.db")).unwrap();
    run(&db, "CREATE TABLE waves (n BIGINT, samples DOUBLE[])");
    let table = db.engine().table("waves").unwrap();
    let odd = [0x7ff8_0000_dead_beef, 0xfff0_0000_0000_0001, 1_u64 << 63, 1].map(f64::from_bits);
    let wave = |n: i64| (0..200 + n % 3).map(|at| Some((at * n) as f64 / 10.0)).collect::<Vec<_>>();
    let waves = (0..5_000).map(|n| match n {
        7 => None,
        8 => Some(odd.map(Some).to_vec()),
        n => Some(wave(n)),
    });
    let samples = arrow::array::ListArray::from_iter_primitive::<Float64Type, _, _>(waves);
    let numbers = Int64Array::from_iter_values(0..5_000);
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("samples", Arc::new(samples.clone()))];
    let mut batch = db.batch(None);
    batch.append(&table, &RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    batch.commit().unwrap();
    let read = || {
        let snapshot = db.snapshot().unwrap();
        let scan = snapshot.scan(snapshot.table("waves").unwrap(), &ScanRequest::all(&table)).unwrap();
        let schema = scan.schema();
        let batches: Vec<RecordBatch> = scan.batches().map(Result::unwrap).collect();
        arrow::compute::concat_batches(&schema, &batches).unwrap().column(1).as_list::<i32>().clone()
    };
    let bits = |list: &arrow::array::ListArray| {
        let bits = |row: ArrayRef| row.as_primitive::<Float64Type>().values().iter().map(|v| v.to_bits()).collect();
        list.iter().map(|row| row.map(bits)).collect::<Vec<Option<Vec<u64>>>>()
    };
    assert!(matches!(read().data_type(), DataType::List(field) if field.data_type() == &DataType::Float64));
    assert!(bits(&read()) == bits(&samples));
    db.engine().recompress(None).unwrap();
    assert!(bits(&read()) == bits(&samples));
    // Decimal fractions with one digit take a fraction of their eight bytes.
    let stats = db.engine().stats(None).unwrap();
    assert!(stats[0].bytes < 1_000_000 * 3, "{} bytes", stats[0].bytes);
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_quiet(&folder.path().join("a.db")).unwrap();
    create(&db, "t", "time = 'none'");
    let table = db.engine().table("t").unwrap();
    for (column, wrong) in
        [("counts", "{1,x}"), ("counts", "{1"), ("counts", "{{1}}"), ("ids", "{7}"), ("short", "{1e9}")]
    {
        let rows = RecordBatch::try_from_iter_with_nullable([(
            column,
            Arc::new(StringArray::from(vec![wrong])) as ArrayRef,
            true,
        )]);
        let error = db.batch(None).append(&table, &rows.unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{wrong}: {error}");
        assert!(error.to_string().contains(column), "{error}");
    }
}
