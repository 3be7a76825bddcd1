//! Damaged files, and files that are not stores: reading gives an error or the right rows, never wrong rows, never a
//! panic.

use crate::content::{Shape, assert_batches, create_tables, read, send};
use crate::support::{beside, open_quiet};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use atsdb::{Error, ErrorKind};
use atsdb_testkit::sample::Random;
use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::path::Path;

type TableRows = BTreeMap<String, RecordBatch>;

const FLIPS: usize = 600;

/// A closed store with fresh and sealed chunks, and its rows.
fn sample(path: &Path) -> (Vec<u8>, TableRows) {
    let db = open_quiet(path).unwrap();
    create_tables(&db);
    for number in 0..12 {
        send(&db, if number == 3 { Shape::Bulky } else { Shape::Small }, number).unwrap();
        if number == 8 {
            db.engine().recompress(None).unwrap();
        }
    }
    let rows = read(&db.snapshot().unwrap()).unwrap();
    drop(db);
    (std::fs::read(path).unwrap(), rows)
}

/// The effect of damage on a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Opening or reading fails, and if opening succeeds, verify finds the damage.
    Reported,
    /// Every row is there; verify finds the damage.
    Found,
    /// Every row is there: the damage is in unused bytes.
    Harmless,
    /// All rows that are read are right, but whole chunks are no longer listed. Verify finds the damage.
    Unlisted,
}

fn fate(path: &Path, bytes: &[u8], right: &TableRows) -> Fate {
    ["-wal", "-shm"].iter().for_each(|ending| drop(std::fs::remove_file(beside(path, ending))));
    std::fs::write(path, bytes).unwrap();
    let db = match open_quiet(path) {
        Ok(db) => db,
        Err(error) => return reported(&error),
    };
    let rows = db.snapshot().and_then(|snapshot| read(&snapshot));
    let found = db
        .engine()
        .verify(None)
        .map_or_else(|error| reported(&error) == Fate::Reported, |report| !report.findings.is_empty());
    match rows {
        Err(error) => {
            assert!(found, "verify does not find what reading does: {error}");
            reported(&error)
        }
        Ok(rows) if rows == *right => {
            if found {
                Fate::Found
            } else {
                Fate::Harmless
            }
        }
        Ok(rows) => {
            assert_part(&rows, right);
            assert!(found, "rows are missing, and verify does not find it");
            Fate::Unlisted
        }
    }
}

fn reported(error: &Error) -> Fate {
    let kinds = [ErrorKind::Corrupt, ErrorKind::NotAStore, ErrorKind::NewerFormat, ErrorKind::NotFound];
    assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
    Fate::Reported
}

/// Fails unless every row is one of the right ones, without duplicates.
fn assert_part(rows: &TableRows, right: &TableRows) {
    for (name, rows) in rows {
        let right = right.get(name).unwrap_or_else(|| panic!("a table {name} that never was"));
        assert_eq!(rows.schema(), right.schema());
        let mut places: HashMap<(i64, i32), usize> = (0..right.num_rows()).map(|row| (key(right, row), row)).collect();
        for row in 0..rows.num_rows() {
            let place = places.remove(&key(rows, row)).expect("a row that never was, or twice");
            assert_eq!(rows.slice(row, 1), right.slice(place, 1));
        }
    }
}

fn key(rows: &RecordBatch, row: usize) -> (i64, i32) {
    assert!(rows.column(1).is_valid(row) && rows.column(2).is_valid(row));
    (rows.column(1).as_primitive::<Int64Type>().value(row), rows.column(2).as_primitive::<Int32Type>().value(row))
}

#[test]
fn a_bit_flipped_anywhere_in_the_file_gives_an_error_or_the_right_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, right) = sample(&folder.path().join("sample.db"));
    let path = folder.path().join("damaged.db");
    let flip_count = std::env::var("ATSDB_TEST_FLIPS").map_or(FLIPS, |count| count.parse().unwrap());
    let mut random = Random::new(1);
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
    for flip in 0..flip_count {
        let (position, bit) = (random.below(bytes.len() as u64) as usize, random.below(8));
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << bit;
        let judge = || fate(&path, &damaged, &right);
        let fate = std::panic::catch_unwind(AssertUnwindSafe(judge))
            .unwrap_or_else(|_| panic!("flip {flip}: bit {bit} of byte {position}"));
        *fates.entry(fate).or_default() += 1;
    }
    let count = |fate| fates.get(&fate).copied().unwrap_or(0);
    assert!(count(Fate::Reported) > flip_count / 3, "{fates:?}");
    assert!(count(Fate::Unlisted) <= flip_count / 200, "{fates:?}");
}

#[test]
fn a_cut_file_gives_an_error_or_the_right_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, right) = sample(&folder.path().join("sample.db"));
    let path = folder.path().join("damaged.db");
    let length = bytes.len();
    let mut lengths = vec![2, 15, 16, 99, 100, 101, 511, 512, 4_095, 4_096, 4_097, length - 4_096, length - 1];
    lengths.extend((2..length / 4_096).map(|page| page * 4_096));
    lengths.extend((0..60).map(|step| 4_096 + step * (length - 4_096) / 60 + 7));
    for length in lengths {
        let fate = fate(&path, &bytes[..length], &right);
        assert!(matches!(fate, Fate::Reported | Fate::Found), "cut to {length} bytes: {fate:?}");
    }
}

#[test]
fn swapped_pages_of_the_file_give_an_error_or_the_right_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, right) = sample(&folder.path().join("sample.db"));
    let path = folder.path().join("damaged.db");
    let mut random = Random::new(3);
    let page_count = bytes.len() as u64 / 4_096;
    for _ in 0..150 {
        let mut page = || random.below(page_count) as usize * 4_096;
        let (one, other) = (page(), page());
        let mut damaged = bytes.clone();
        damaged[one..one + 4_096].copy_from_slice(&bytes[other..other + 4_096]);
        damaged[other..other + 4_096].copy_from_slice(&bytes[one..one + 4_096]);
        fate(&path, &damaged, &right);
    }
}

fn refusal(path: &Path) -> Error {
    let error = open_quiet(path).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(path.file_name().unwrap().to_str().unwrap()), "it names the file: {text}");
    assert!(error.hint().is_some() || error.kind() == ErrorKind::NotAStore, "it says what to do: {text}");
    error
}

#[test]
fn files_that_are_not_stores_are_refused_and_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let random = Random::new(5).bytes(10_000);
    for content in [b"x".as_slice(), b"time,value\n1,2\n", b"SQLite format 3\0", &random, &[0; 8_192]] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(refusal(&path).kind(), ErrorKind::NotAStore);
        assert!(std::fs::read(&path).unwrap() == content, "{} bytes were changed", content.len());
    }
    std::fs::remove_file(&path).unwrap();
    for sql in ["CREATE TABLE t (a)", "CREATE TABLE t (a); DROP TABLE t", "PRAGMA user_version = 7"] {
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch(sql).unwrap();
        drop(file);
        let before = std::fs::read(&path).unwrap();
        assert_eq!(refusal(&path).kind(), ErrorKind::NotAStore, "{sql}");
        assert!(std::fs::read(&path).unwrap() == before, "{sql}");
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::create_dir(&path).unwrap();
    assert_eq!(refusal(&path).kind(), ErrorKind::NotAStore);
}

#[test]
fn a_store_of_a_newer_format_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (_, right) = sample(&path);
    let set = |format: i64| {
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute("UPDATE atsdb_store SET value = ?1 WHERE key = 'format'", [format]).unwrap();
    };
    set(4);
    let error = refusal(&path);
    assert_eq!(error.kind(), ErrorKind::NewerFormat);
    assert!(error.to_string().contains("format 4") && error.to_string().contains("upgrade"), "{error}");
    set(3);
    assert!(read(&open_quiet(&path).unwrap().snapshot().unwrap()).unwrap() == right);
}

#[test]
fn a_damaged_page_is_named_and_the_rest_of_the_store_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (_, right) = sample(&path);
    let file = rusqlite::Connection::open(&path).unwrap();
    let damaged = file
        .execute(
            "UPDATE atsdb_page SET bytes = CAST(substr(bytes, 1, 20) || x'ff' || substr(bytes, 22) AS BLOB) WHERE id =
             (SELECT payload << 16 | 3 FROM atsdb_chunk WHERE table_id =
             (SELECT id FROM atsdb_table WHERE name = 'noise'))",
            [],
        )
        .unwrap();
    assert_eq!(damaged, 1);
    drop(file);
    let db = open_quiet(&path).unwrap();
    let error = read(&db.snapshot().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("table noise") && error.to_string().contains("column bytes"), "{error}");
    let report = db.engine().verify(None).unwrap();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert!(report.findings[0].location.contains("table noise, chunk"), "{:?}", report.findings);
    // Other tables are read and written as before.
    let noise = db.engine().table("noise").unwrap();
    db.engine().drop_table(&noise).unwrap();
    let mut rows = read(&db.snapshot().unwrap()).unwrap();
    assert_eq!(rows["readings"], right["readings"]);
    send(&db, Shape::Small, 12).unwrap();
    rows = read(&db.snapshot().unwrap()).unwrap();
    assert_batches(&rows, Shape::Small, 0..13);
}
