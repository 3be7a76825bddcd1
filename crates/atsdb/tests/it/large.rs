//! Large sizes through all layers: SQL, files, servers, backups. Each works or is refused on entry. Tests that take
//! gigabytes or minutes run only if `ATSDB_TEST_LARGE` is set.

use crate::support::rows;
use atsdb::arrow::array::{
    ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::{DataType, Int64Type};
use atsdb::{
    BackupOptions, BackupSelector, ColumnType, CopyOptions, Database, ErrorKind, MapWidth, OpenOptions,
    PageCacheFolder, TableDefinition, limits,
};
use atsdb_testkit::sample::Random;
use atsdb_testkit::server::{self, ServerKind};
use std::path::Path;
use std::sync::Arc;

const HOUR: i64 = 3_600_000_000;
/// The first hour of 2000, in microseconds.
const BEGIN: i64 = 946_684_800_000_000;

fn is_asked_for() -> bool {
    std::env::var_os("ATSDB_TEST_LARGE").is_some()
}

fn open(path: &Path) -> Database {
    open_url(path.to_str().unwrap())
}

fn open_url(url: &str) -> Database {
    OpenOptions::new().maintenance(false).page_cache(PageCacheFolder::Off).open(url).unwrap()
}

/// A file, a split store, and a database on each installed server.
fn places(folder: &Path) -> Vec<String> {
    let file = |ending: &str| format!("{}{ending}", folder.join("a").display());
    let servers = [ServerKind::Mariadb, ServerKind::Postgres].into_iter().filter_map(server::shared);
    [file(".db"), file("?split=slice")].into_iter().chain(servers.map(|server| server.database())).collect()
}

fn put(db: &Database, table: &str, columns: Vec<(&str, ArrayRef)>) -> atsdb::Result<()> {
    let mut batch = db.batch(None);
    batch.append(&db.engine().table(table)?, &RecordBatch::try_from_iter(columns).unwrap())?;
    batch.commit().map(drop)
}

/// The only number of the answer.
fn number(db: &Database, query: &str) -> i64 {
    let number = cast(rows(db, query).column(0), &DataType::Int64).unwrap();
    number.as_primitive::<Int64Type>().value(0)
}

/// Prints how long the work took. No test depends on it.
#[allow(clippy::print_stderr, reason = "for who looks at it")]
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = std::time::Instant::now();
    let done = work();
    eprintln!("{what}: {:.2?}", started.elapsed());
    done
}

#[test]
fn a_million_chunks_are_listed_asked_verified_sealed_and_reclaimed() {
    const EACH: usize = 100;
    let slices = if is_asked_for() { 10_000 } else { 30 };
    let chunks = (slices * EACH) as u64;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let db = open(&path);
    db.sql("CREATE TABLE t (time TIMESTAMP, n BIGINT) WITH (slice = 'hour')").unwrap();
    let table = db.engine().table("t").unwrap();
    timed("append", || {
        for round in 0..EACH as i64 {
            let times = (0..slices as i64).map(|hour| BEGIN + hour * HOUR + round);
            let columns: [(&str, ArrayRef); 2] = [
                ("time", Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC"))),
                ("n", Arc::new(Int64Array::from_iter_values(std::iter::repeat_n(round, slices)))),
            ];
            let mut batch = db.batch(None);
            batch.append(&table, &RecordBatch::try_from_iter(columns).unwrap()).unwrap();
            batch.commit().unwrap();
        }
    });
    let chunk_count = || db.engine().stats(None).unwrap()[0].chunks;
    assert_eq!(timed("stats", chunk_count), chunks);
    assert_eq!(timed("count", || number(&db, "SELECT count(*) FROM t")), chunks as i64);
    let two_hours = "SELECT sum(n) FROM t WHERE time >= '2000-01-01 10:00' AND time < '2000-01-01 12:00'";
    for _ in 0..2 {
        assert_eq!(timed("two hours", || number(&db, two_hours)), (EACH * (EACH - 1)) as i64);
    }
    assert_eq!(timed("sum", || number(&db, "SELECT sum(n) FROM t")), (slices * EACH * (EACH - 1) / 2) as i64);
    let report = timed("verify", || db.engine().verify(None).unwrap());
    assert_eq!((report.chunks, report.findings), (chunks, vec![]));
    drop(db);
    let db = timed("open", || open(&path));
    assert_eq!(timed("two hours", || number(&db, two_hours)), (EACH * (EACH - 1)) as i64);
    timed("append one row", || db.sql("INSERT INTO t VALUES ('1999-01-01', 1)").unwrap());
    // Rows may still be in the log, not in the file.
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    let bytes = || length(&path) + length(&path.with_extension("db-wal"));
    let (before, half) = (bytes(), slices as i64 / 2);
    let delete = format!("DELETE FROM t WHERE time < TIMESTAMP '2000-01-01' + INTERVAL '{half} hours'");
    timed("delete", || db.sql(&delete).unwrap());
    assert_eq!(db.engine().stats(None).unwrap()[0].chunks, chunks / 2);
    let now_ms = db.engine().now_ms();
    timed("reclaim", || while db.engine().store().reclaim(8 << 20, now_ms).unwrap().more {});
    let sealed = timed("seal", || db.engine().recompress(None).unwrap());
    assert_eq!((sealed.chunks_after, sealed.conflicts), (slices as u64 - half as u64, 0));
    assert_eq!(number(&db, "SELECT count(*) FROM t"), (chunks / 2) as i64);
    assert!(bytes() < before / 4, "{} of {before} bytes are left", bytes());
    timed("drop", || db.sql("DROP TABLE t").unwrap());
    while db.engine().store().reclaim(8 << 20, now_ms).unwrap().more {}
    assert!(db.engine().verify(None).unwrap().findings.is_empty());
}

/// The maximum number of columns, with names of the maximum length, which also makes the definition long.
#[test]
fn a_table_of_the_most_columns_works_on_each_store() {
    let folder = tempfile::tempdir().unwrap();
    let name = |number: usize| format!("c{number:0>width$}", width = limits::NAME_BYTES_MAX - 1);
    let of = |count: usize| {
        (0..count).fold(TableDefinition::new("t"), |definition, number| match number % 4 {
            0 => definition.with_column(name(number), ColumnType::Text, Some(MapWidth::U32)),
            1 => definition.with_column(name(number), ColumnType::Text, None),
            _ => definition.with_column(name(number), ColumnType::Int64, None),
        })
    };
    for place in places(folder.path()) {
        let db = open_url(&place);
        assert!(db.engine().create_table(&of(limits::COLUMNS_MAX + 1)).is_err());
        db.engine().create_table(&of(limits::COLUMNS_MAX)).unwrap();
        let columns = |row: usize| {
            (0..limits::COLUMNS_MAX).map(move |number| match number % 4 {
                0 | 1 => format!("'text {}'", row * number),
                _ => (row * number).to_string(),
            })
        };
        let literals = |row: usize| format!("({})", columns(row).collect::<Vec<_>>().join(", "));
        let inserted: Vec<String> = (0..3).map(literals).collect();
        db.sql(&format!("INSERT INTO t VALUES {}", inserted.join(", "))).unwrap();
        db.sql("INSERT INTO t SELECT * FROM t").unwrap();
        let [text, last] = [name(997), name(999)];
        for sealed in [false, true] {
            if sealed {
                db.engine().recompress(None).unwrap();
            }
            let all = rows(&db, "SELECT * FROM t");
            assert_eq!((all.num_rows(), all.num_columns()), (6, limits::COLUMNS_MAX), "{place}");
            assert_eq!(number(&db, &format!("SELECT sum({last}) FROM t WHERE {text} <> 'text 0'")), 2 * (999 + 1_998));
        }
        db.sql(&format!("UPDATE t SET {last} = 7 WHERE {text} = 'text 997'")).unwrap();
        assert_eq!(number(&db, &format!("SELECT sum({last}) FROM t")), 2 * (7 + 1_998));
        let error = db.sql("ALTER TABLE t ADD COLUMN more INT").unwrap_err();
        assert!(error.to_string().contains("1001 columns; the maximum is 1000"), "{place}: {error}");
        assert!(db.engine().verify(None).unwrap().findings.is_empty(), "{place}");
    }
}

/// No packet limit of a server applies, because pages are cut into parts. A string of a dictionary is not cut: servers
/// that cannot take one this long refuse it.
#[test]
fn values_of_200_mb_are_stored_sealed_backed_up_and_restored_on_each_store() {
    if !is_asked_for() {
        atsdb_testkit::skipped("ATSDB_TEST_LARGE is not set");
        return;
    }
    const BYTES: usize = 200_000_000;
    let value = |number: i64| Random::new(number as u64).bytes(BYTES);
    let assert_right = |db: &Database, count: usize| {
        let table = db.engine().table("t").unwrap();
        let scan = db.snapshot().unwrap().scan(&table, &atsdb::ScanRequest::all(&table)).unwrap();
        let mut found = 0;
        for rows in scan.batches() {
            let rows = rows.unwrap();
            for (number, bytes) in
                rows.column(0).as_primitive::<Int64Type>().values().iter().zip(rows.column(1).as_binary::<i32>())
            {
                assert!(bytes.unwrap() == value(number % 10), "value {number}");
                found += 1;
            }
        }
        assert_eq!(found, count);
    };
    let folder = tempfile::tempdir().unwrap();
    for (position, place) in places(folder.path()).into_iter().enumerate() {
        let db = open_url(&place);
        db.sql("CREATE TABLE t (n BIGINT, b BYTEA); CREATE TABLE m (s TEXT) WITH (map = 's:u32')").unwrap();
        let row = |number: i64, bytes: &[u8]| -> Vec<(&str, ArrayRef)> {
            vec![
                ("n", Arc::new(Int64Array::from(vec![number]))),
                ("b", Arc::new(BinaryArray::from_iter_values([bytes]))),
            ]
        };
        timed(&format!("{place}: append"), || {
            (0..3).for_each(|number| put(&db, "t", row(number, &value(number))).unwrap())
        });
        timed("read", || assert_right(&db, 3));
        timed("seal", || db.engine().recompress(None).unwrap());
        timed("update", || db.sql("UPDATE t SET n = n + 10 WHERE n < 2").unwrap());
        timed("read", || assert_right(&db, 3));
        assert_eq!(number(&db, "SELECT count(b) FROM t WHERE b IS NOT NULL"), 3);
        let refused = put(&db, "t", row(3, &vec![1; limits::VALUE_BYTES_MAX + 1])).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Limit, "{place}: {refused}");
        let text: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(BYTES)]));
        match put(&db, "m", vec![("s", text)]) {
            Ok(()) => assert_eq!(number(&db, "SELECT CAST(octet_length(s) AS BIGINT) FROM m"), BYTES as i64, "{place}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Limit, "{place}: {error}");
                assert!(error.hint().is_some(), "{place}: {error}");
            }
        }
        let archive = folder.path().join(format!("backups-{position}"));
        let archive = archive.to_str().unwrap();
        timed("backup", || db.backup(archive, &BackupOptions::default()).unwrap());
        let restored = open(&folder.path().join(format!("restored-{position}.db")));
        timed("restore", || restored.restore(archive, &BackupSelector::Latest, &CopyOptions::default()).unwrap());
        assert_right(&restored, 3);
        assert!(restored.engine().verify(None).unwrap().findings.is_empty(), "{place}");
        db.sql("DROP TABLE t; DROP TABLE m").unwrap();
    }
}
