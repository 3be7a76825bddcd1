//! Large sizes through the whole: SQL, files, servers, backups. Each works, or is refused on entry. Those that take
//! gigabytes or minutes run where `ATSDB_TEST_LARGE` is set.

use crate::support::rows;
use atsdb::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, TimestampMicrosecondArray};
use atsdb::arrow::datatypes::Int64Type;
use atsdb::{Database, OpenOptions};
use std::path::Path;
use std::sync::Arc;

const HOUR: i64 = 3_600_000_000;
/// The first hour of 2000.
const BEGIN: i64 = 946_684_800_000_000;

fn is_asked_for() -> bool {
    std::env::var_os("ATSDB_TEST_LARGE").is_some()
}

fn open(path: &Path) -> Database {
    OpenOptions::new().maintenance(false).open(path.to_str().unwrap()).unwrap()
}

/// The only number of an answer.
fn number(db: &Database, query: &str) -> i64 {
    rows(db, query).column(0).as_primitive::<Int64Type>().value(0)
}

/// Says how long something took: nothing depends on it.
#[allow(clippy::print_stderr, reason = "for who looks at it")]
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = std::time::Instant::now();
    let done = work();
    eprintln!("{what}: {:.2?}", begun.elapsed());
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
    let bytes = || std::fs::metadata(&path).unwrap().len();
    let (before, half) = (bytes(), slices as i64 / 2);
    let delete = format!("DELETE FROM t WHERE time < TIMESTAMP '2000-01-01' + INTERVAL '{half} hours'");
    timed("delete", || db.sql(&delete).unwrap());
    assert_eq!(db.engine().stats(None).unwrap()[0].chunks, chunks / 2);
    let now_ms = db.engine().now_ms();
    timed("reclaim", || while db.engine().store().reclaim(8 << 20, now_ms).unwrap().more {});
    assert!(bytes() < before * 3 / 4, "{} of {before} bytes are left", bytes());
    let sealed = timed("seal", || db.engine().recompress(None).unwrap());
    assert_eq!((sealed.chunks_after, sealed.conflicts), (slices as u64 - half as u64, 0));
    assert_eq!(number(&db, "SELECT count(*) FROM t"), (chunks / 2) as i64);
    timed("drop", || db.sql("DROP TABLE t").unwrap());
    while db.engine().store().reclaim(8 << 20, now_ms).unwrap().more {}
    assert!(db.engine().verify(None).unwrap().findings.is_empty());
}
