//! Stores written by released formats, which every later version must read.
//!
//! `ATSDB_WRITE_GOLDEN=1` writes the missing ones and never overwrites an existing one: a changed format gets a folder
//! of its own. Their expected contents are generated here.

use crate::arrays;
use crate::content::{Shape, assert_batches, assert_sound, create_tables, read, send};
use crate::declared_types;
use crate::support::{open_quiet, rows as rows_of_query};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow::compute::{cast, concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Int64Type};
use atsdb::{
    ColumnType, CommitOutcome, Database, MapWidth, Retention, ScanRequest, SliceWidth, TableDefinition, TimeUnit,
    logical_type,
};
use atsdb_testkit::sample::Random;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most bytes that all golden stores of a format may take together.
const BYTES_MAX: u64 = 450_000;

/// Returns a copy of a golden store of format 1, so that opening it does not change the original.
fn golden(folder: &Path, name: &str, make: impl FnOnce(&Database)) -> PathBuf {
    golden_of("format1", folder, name, make)
}

pub(crate) fn golden_of(format: &str, folder: &Path, name: &str, make: impl FnOnce(&Database)) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat").join(format).join(name);
    if std::env::var_os("ATSDB_WRITE_GOLDEN").is_some() && !path.exists() {
        make(&open_quiet(&path).unwrap());
    }
    let copy = folder.join(name);
    std::fs::copy(&path, &copy).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    copy
}

/// A table with a row number and one column of each type, of each width of mapped columns, and of each unit of time.
fn definition(name: &str) -> TableDefinition {
    let mut definition = TableDefinition::new(name).with_column("row", ColumnType::Int64, None);
    for column_type in ColumnType::PLAIN {
        definition = definition.with_column(column_type.name(), column_type, None);
    }
    for width in [MapWidth::U8, MapWidth::U16, MapWidth::U32] {
        definition = definition.with_column(format!("mapped_{width}"), ColumnType::Text, Some(width));
    }
    definition
}

fn series(name: &str, slice: SliceWidth, key: &[&str]) -> TableDefinition {
    let mut definition = definition(name)
        .with_column("at", ColumnType::Timestamp(TimeUnit::Millisecond), None)
        .with_time("at", TimeUnit::Millisecond)
        .unwrap();
    definition.slice = slice;
    definition.key = key.iter().map(|name| definition.column(name).unwrap().id).collect();
    definition.retention = (slice == SliceWidth::Year).then(|| Retention::parse("9000 years").unwrap());
    definition
}

fn tables() -> Vec<TableDefinition> {
    let tables = [
        series("fresh", SliceWidth::Day, &[]),
        series("sealed", SliceWidth::Month, &["mapped_u16"]),
        series("mixed", SliceWidth::Year, &[]),
        definition("plain"),
    ];
    // These stores are older than the count of assigned column numbers. It reads as 0, and new columns continue after
    // the last one.
    tables.map(|definition| TableDefinition { columns_given: 0, ..definition }).to_vec()
}

const ROWS: usize = 150;

/// Rows `first` to `first + ROWS`: extremes, NULLs, runs, noise, and many kinds of text.
fn rows(definition: &TableDefinition, first: usize) -> RecordBatch {
    let columns = definition.columns.iter().map(|column| {
        let array: ArrayRef = match (column.name.as_str(), column.map) {
            ("row", _) => Arc::new((first..first + ROWS).map(|row| row as i64).collect::<Int64Array>()),
            ("at", _) => times(first),
            (_, Some(_)) => cast(&texts(first, column.id.0), &logical_type(column)).unwrap(),
            _ => values(column.column_type, &logical_type(column), first, column.id.0),
        };
        (column.name.clone(), array, true)
    });
    RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap()
}

fn times(first: usize) -> ArrayRef {
    let time = |row: usize| match row % 60 {
        58 => i64::MIN + row as i64,
        59 => i64::MAX - row as i64,
        _ => 1_700_000_000_000 - row as i64 * 7_000,
    };
    let times: Int64Array = (first..first + ROWS).map(time).collect();
    cast(&times, &DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, Some("UTC".into()))).unwrap()
}

fn texts(first: usize, seed: u16) -> ArrayRef {
    let text = |row: usize| match (row + usize::from(seed)) % 9 {
        0 => None,
        1 => Some(String::new()),
        2 => Some("nul\0 表 'quoted'".into()),
        _ => Some(format!("string {}", row % 23)),
    };
    Arc::new((first..first + ROWS).map(text).collect::<StringArray>())
}

/// Values of the type's width: extremes, small numbers, noise. Every seventh is NULL.
fn values(column_type: ColumnType, data_type: &DataType, first: usize, seed: u16) -> ArrayRef {
    if matches!(column_type, ColumnType::Text | ColumnType::Binary) {
        return cast(&texts(first, seed), data_type).unwrap();
    }
    let mut random = Random::new(u64::from(seed) << 32 | first as u64);
    let bits = |row: usize| {
        let noise = random.bits();
        match row % 7 {
            0 => None,
            1 => Some([0, u64::MAX, 1 << 63, u64::MAX >> 1, 0x7ff8_0000_0000_0001, 0x8000_0080_0080_8000][row / 7 % 6]),
            2 | 3 => Some(row as u64),
            4 => Some(1),
            _ => Some(noise),
        }
    };
    let bits: UInt64Array = (first..first + ROWS).map(bits).collect();
    if column_type == ColumnType::Bool {
        return Arc::new(
            bits.iter().map(|bits| bits.map(|bits| bits % 3 == 1)).collect::<arrow::array::BooleanArray>(),
        );
    }
    let width = data_type.primitive_width().unwrap();
    let bytes: Vec<u8> = bits.values().iter().flat_map(|bits| bits.to_le_bytes()[..width].to_vec()).collect();
    let data = arrow::array::ArrayData::builder(data_type.clone())
        .len(ROWS)
        .add_buffer(arrow::buffer::Buffer::from_vec(bytes))
        .nulls(bits.nulls().cloned())
        .align_buffers(true)
        .build()
        .unwrap();
    arrow::array::make_array(data)
}

fn append(db: &Database, definition: &TableDefinition, first: usize) {
    let table = db.engine().table(&definition.name).unwrap();
    let mut batch = db.batch(None);
    batch.append(&table, &rows(definition, first)).unwrap();
    batch.commit().unwrap();
}

fn write_types(db: &Database) {
    for definition in tables() {
        let table = db.engine().create_table(&definition).unwrap();
        append(db, &definition, 0);
        if definition.name != "fresh" {
            db.engine().recompress(Some(&table)).unwrap();
        }
        if definition.name != "sealed" {
            append(db, &definition, ROWS);
        }
    }
}

fn assert_types(db: &Database) {
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.tables().iter().map(|table| table.definition.clone()).collect::<Vec<_>>(), tables());
    for table in snapshot.tables() {
        let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
        let schema = scan.schema();
        let found = concat_batches(&schema, &scan.batches().map(Result::unwrap).collect::<Vec<_>>()).unwrap();
        let order = sort_to_indices(found.column(0), None, None).unwrap();
        let found = take_record_batch(&found, &order).unwrap();
        let starts = if table.definition.name == "sealed" { vec![0] } else { vec![0, ROWS] };
        let expected: Vec<RecordBatch> = starts.into_iter().map(|first| rows(&table.definition, first)).collect();
        let expected = concat_batches(&expected[0].schema(), &expected).unwrap();
        for (position, column) in table.definition.columns.iter().enumerate() {
            let plain = |array: &ArrayRef| match column.map {
                Some(_) => cast(array, &DataType::Utf8).unwrap(),
                None => Arc::clone(array),
            };
            let same = plain(found.column(position)).to_data() == plain(expected.column(position)).to_data();
            assert!(same, "table {}, column {}", table.definition.name, column.name);
        }
    }
    let stats = db.engine().stats(None).unwrap();
    let chunks: Vec<(bool, bool)> =
        stats.iter().map(|table| (table.fresh_chunks > 0, table.chunks > table.fresh_chunks)).collect();
    assert_eq!(chunks, [(true, false), (false, true), (true, true), (true, true)], "fresh and sealed chunks");
}

#[test]
fn all_types_of_a_store_of_format_1_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = golden(folder.path(), "types.db", write_types);
    let db = open_quiet(&path).unwrap();
    assert_sound(&db);
    assert_types(&db);
    // It accepts new rows and is sealed, like a new store.
    for definition in tables().into_iter().filter(|definition| definition.name != "sealed") {
        append(&db, &definition, 2 * ROWS);
    }
    let before = read_all(&db);
    db.engine().recompress(None).unwrap();
    assert!(read_all(&db) == before, "sealing changed an answer");
    assert_sound(&db);
}

fn read_all(db: &Database) -> Vec<RecordBatch> {
    let snapshot = db.snapshot().unwrap();
    let read = |table: &atsdb::Table| {
        let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
        let schema = scan.schema();
        let rows = concat_batches(&schema, &scan.batches().map(Result::unwrap).collect::<Vec<_>>()).unwrap();
        let order = sort_to_indices(rows.column(0), None, None).unwrap();
        take_record_batch(&rows, &order).unwrap()
    };
    snapshot.tables().iter().map(read).collect()
}

/// Fresh and sealed batches, and an import that was never finished.
fn write_batches(db: &Database) {
    create_tables(db);
    for number in 0..16 {
        send(db, Shape::Small, number).unwrap();
        if number == 10 {
            db.engine().recompress(None).unwrap();
        }
    }
    let stage = db.engine().store().open_stage(i64::MAX).unwrap();
    db.engine().store().create_table(&definition("staged"), Some(stage)).unwrap();
}

#[test]
fn batches_of_a_store_of_format_1_are_read_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    assert_remembers_batches(&golden(folder.path(), "batches.db", write_batches));
}

/// Small chunks have their pages in their rows.
#[test]
fn batches_of_a_store_of_format_3_are_read_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = golden_of("format3", folder.path(), "batches.db", write_batches);
    let file = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT count(pages) > 0 FROM atsdb_chunk";
    assert!(file.query_row(sql, [], |row| row.get::<_, bool>(0)).unwrap(), "no chunk has its pages in its row");
    drop(file);
    assert_remembers_batches(&path);
}

fn assert_remembers_batches(path: &Path) {
    let db = open_quiet(path).unwrap();
    assert_sound(&db);
    assert_batches(&read(&db.snapshot().unwrap()).unwrap(), Shape::Small, 0..16);
    for number in 0..16 {
        assert_eq!(send(&db, Shape::Small, number).unwrap(), CommitOutcome::Duplicate);
    }
    assert_eq!(send(&db, Shape::Small, 16).unwrap(), CommitOutcome::Committed);
    db.engine().recompress(None).unwrap();
    assert_batches(&read(&db.snapshot().unwrap()).unwrap(), Shape::Small, 0..17);
    assert_sound(&db);
}

#[test]
fn types_with_rules_of_a_store_of_format_1_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = golden(folder.path(), "declared.db", |db| {
        declared_types::create(db, "stored", "time = 'none'");
        declared_types::insert(db, "stored", 0);
        db.engine().recompress(None).unwrap();
        declared_types::insert(db, "stored", 100);
    });
    let db = open_quiet(&path).unwrap();
    assert_sound(&db);
    declared_types::assert_rows(&db, "stored", &[0, 100]);
    declared_types::insert(&db, "stored", 200);
    db.engine().recompress(None).unwrap();
    declared_types::assert_rows(&db, "stored", &[0, 100, 200]);
    assert_sound(&db);
}

#[test]
fn arrays_of_a_store_of_format_3_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = golden_of("format3", folder.path(), "arrays.db", |db| {
        arrays::create(db, "stored", "time = 'none'");
        arrays::insert(db, "stored", 0);
        db.engine().recompress(None).unwrap();
        arrays::insert(db, "stored", 100);
    });
    let db = open_quiet(&path).unwrap();
    assert_sound(&db);
    arrays::assert_rows(&db, "stored", &[0, 100]);
    arrays::insert(&db, "stored", 200);
    db.engine().recompress(None).unwrap();
    arrays::assert_rows(&db, "stored", &[0, 100, 200]);
    assert_sound(&db);
}

/// A store with identity columns: one that was restarted, one that has given numbers, one that has not.
fn write_identities(db: &Database) {
    db.sql(
        "CREATE TABLE numbered (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), a SERIAL, x INT);
         CREATE TABLE unused (id SMALLINT GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY -1));
         INSERT INTO numbered (x) VALUES (1), (2), (3);
         ALTER TABLE numbered ALTER COLUMN a RESTART WITH 100;
         INSERT INTO numbered (x) VALUES (4)",
    )
    .unwrap();
}

#[test]
fn identity_columns_count_on() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_quiet(&golden(folder.path(), "identity.db", write_identities)).unwrap();
    db.sql("INSERT INTO numbered (x) VALUES (5); INSERT INTO unused VALUES (DEFAULT), (DEFAULT)").unwrap();
    let found = rows_of_query(&db, "SELECT id, CAST(a AS BIGINT), CAST(x AS BIGINT) FROM numbered ORDER BY x");
    let column = |at: usize| found.column(at).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(column(0), [10, 15, 20, 25, 30]);
    assert_eq!(column(1), [1, 2, 3, 100, 101]);
    let unused = rows_of_query(&db, "SELECT CAST(id AS BIGINT) FROM unused ORDER BY id DESC");
    assert_eq!(unused.column(0).as_primitive::<Int64Type>().values().to_vec(), [-1, -2]);
    assert_sound(&db);
}

/// A table with each default function, and a column that was added with one.
fn write_defaults(db: &Database) {
    db.sql(
        "CREATE TABLE stamped (id INT, at TIMESTAMP DEFAULT now(), made TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
           began TIMESTAMP(0) DEFAULT transaction_timestamp(), here TIMESTAMP(9) DEFAULT LOCALTIMESTAMP,
           said TIMESTAMP DEFAULT statement_timestamp(), heard TIMESTAMP DEFAULT clock_timestamp(),
           on_day DATE DEFAULT CURRENT_DATE, tag UUID DEFAULT gen_random_uuid()) WITH (time = 'none');
         INSERT INTO stamped (id) VALUES (1), (2);
         ALTER TABLE stamped ADD COLUMN later TIMESTAMP NOT NULL DEFAULT now()",
    )
    .unwrap();
}

#[test]
fn default_functions_of_a_store_of_format_3_are_read_and_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = golden_of("format3", folder.path(), "defaults.db", write_defaults);
    let file = rusqlite::Connection::open(&path).unwrap();
    let stored: String = file.query_row("SELECT definition FROM atsdb_table", [], |row| row.get(0)).unwrap();
    drop(file);
    let functions = [
        r#""name":"at","type":"timestamp_us","nullable":true,"default_function":"now"}"#,
        r#""name":"made","type":"timestamp_ms","nullable":false,"default_function":"current_timestamp"}"#,
        r#""name":"began","type":"timestamp_s","nullable":true,"default_function":"transaction_timestamp"}"#,
        r#""name":"here","type":"timestamp_ns","nullable":true,"default_function":"localtimestamp"}"#,
        r#""name":"said","type":"timestamp_us","nullable":true,"default_function":"statement_timestamp"}"#,
        r#""name":"heard","type":"timestamp_us","nullable":true,"default_function":"clock_timestamp"}"#,
        r#""name":"on_day","type":"date","nullable":true,"default_function":"current_date"}"#,
        r#""name":"tag","type":"uuid","nullable":true,"default_function":"gen_random_uuid"}"#,
        r#""name":"later","type":"timestamp_us","nullable":false,"default_function":"now","missing":{"int":"#,
    ];
    for function in functions {
        assert!(stored.contains(function), "{function} is not in {stored}");
    }
    let db = open_quiet(&path).unwrap();
    assert_sound(&db);
    db.sql("INSERT INTO stamped (id) VALUES (3), (4)").unwrap();
    db.engine().recompress(None).unwrap();
    let found = rows_of_query(
        &db,
        "SELECT count(*), count(at), count(made), count(began), count(here), count(heard), count(DISTINCT tag),
           count(DISTINCT later), count(*) FILTER (WHERE at = said AND on_day = at::date),
           count(*) FILTER (WHERE later = at) FROM stamped",
    );
    let counts: Vec<i64> = found.columns().iter().map(|column| column.as_primitive::<Int64Type>().value(0)).collect();
    // The older rows have the time at which the column was added.
    assert_eq!(counts, [4, 4, 4, 4, 4, 4, 4, 2, 4, 2]);
    assert_sound(&db);
}

#[test]
fn golden_stores_stay_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/format1");
    let stores = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(stores.sum::<u64>() <= BYTES_MAX);
}
