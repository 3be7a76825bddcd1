//! Preloading: recent rows are kept in memory as they are appended, sealed and loaded. Queries of these rows read no
//! page from the store and give the same answers.

use crate::support::rows;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use atsdb::{Database, OpenOptions, PreloadStats};
use atsdb_testkit::clock::wait_until;
use std::path::Path;

const RECENT: &str =
    "SELECT count(*) AS n, sum(value) AS s, max(host) AS h FROM pings WHERE time > now() - INTERVAL '7 hours'";
const ALL: &str = "SELECT count(*) AS n, sum(value) AS s, max(host) AS h FROM pings";

fn open(path: &Path, preload_bytes: usize) -> Database {
    let options = OpenOptions::new().maintenance(false).preload_bytes(preload_bytes);
    options.open(path.to_str().unwrap()).unwrap()
}

fn create(db: &Database) {
    db.sql(
        "CREATE TABLE pings (time TIMESTAMP, host TEXT, value INT)
         WITH (map = 'host:u16', slice = 'hour', preload = '8 hours')",
    )
    .unwrap();
}

/// Inserts 1,000 rows into each of the last `hours` hours.
fn insert(db: &Database, hours: u32) {
    for hour in 0..hours {
        db.sql(&format!(
            "INSERT INTO pings SELECT now() - INTERVAL '{} minutes', 'h' || (v % 9)::text, v
             FROM generate_series(1, 1000) AS g(v)",
            hour * 60 + 1
        ))
        .unwrap();
    }
}

/// Returns how many columns the query read from the store.
fn read_from_store(db: &Database, question: &str) -> u64 {
    let before = db.engine().cache_stats();
    rows(db, question);
    db.engine().cache_stats().misses - before.misses + db.engine().cache_stats().hits - before.hits
}

fn count(db: &Database, question: &str) -> i64 {
    rows(db, question).column(0).as_primitive::<Int64Type>().value(0)
}

#[test]
fn appended_and_sealed_rows_are_preloaded() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder.path().join("a.db"), 64 << 20);
    create(&db);
    insert(&db, 6);
    assert_eq!((count(&db, RECENT), read_from_store(&db, RECENT)), (6_000, 0));
    db.engine().recompress(None).unwrap();
    assert_eq!((count(&db, RECENT), read_from_store(&db, RECENT)), (6_000, 0));
    assert!(db.engine().preload_stats().hits > 0);
}

#[test]
fn columns_that_were_preloaded_before_they_were_widened_are_loaded_again() {
    const EVEN: &str = "SELECT count(*) AS n FROM pings WHERE value % 2 = 0";
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder.path().join("a.db"), 64 << 20);
    create(&db);
    insert(&db, 2);
    assert_eq!((count(&db, EVEN), read_from_store(&db, EVEN)), (1_000, 0));
    db.sql("ALTER TABLE pings ALTER COLUMN value TYPE BIGINT").unwrap();
    assert_eq!(count(&db, EVEN), 1_000);
    // The thread in the background may just then load the columns of a moment before, which later checks replace.
    wait_until("the columns are loaded", || db.preload().is_ok() && read_from_store(&db, EVEN) == 0);
    assert_eq!(count(&db, EVEN), 1_000);
}

#[test]
fn the_last_hours_are_loaded_and_older_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = open(&path, 0);
    create(&writer);
    insert(&writer, 20);
    let db = open(&path, 64 << 20);
    let loaded = db.preload().unwrap();
    assert!(loaded.chunks >= 8 && loaded.chunks < 12 && !loaded.is_cut, "{loaded:?}");
    assert_eq!((loaded.tables, read_from_store(&db, RECENT)), (1, 0));
    assert!(read_from_store(&db, ALL) > 0);
    // Another process appends and drops rows.
    insert(&writer, 3);
    db.preload().unwrap();
    assert_eq!((count(&db, RECENT), read_from_store(&db, RECENT)), (count(&writer, RECENT), 0));
    writer.sql("DROP TABLE pings").unwrap();
    // The thread in the background may just then load a chunk of a moment before, which later checks drop.
    let is_empty = |left: PreloadStats| (left.tables, left.chunks, left.bytes) == (0, 0, 0);
    wait_until("nothing is loaded", || is_empty(db.preload().unwrap()));
}

#[test]
fn the_thread_loads_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = open(&path, 0);
    create(&writer);
    insert(&writer, 4);
    let db = open(&path, 64 << 20);
    wait_until("the chunks are loaded", || db.engine().preload_stats().chunks >= 4);
    let before = db.engine().preload_stats().chunks;
    insert(&writer, 4);
    wait_until("the new chunks are loaded", || db.engine().preload_stats().chunks >= before + 4);
    // Every reader notices the declaration.
    writer.sql("ALTER TABLE pings RESET (preload)").unwrap();
    wait_until("the table is dropped", || {
        rows(&db, ALL);
        db.engine().preload_stats().tables == 0
    });
}

#[test]
fn the_bound_holds_and_the_latest_are_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = open(&path, 0);
    create(&writer);
    insert(&writer, 8);
    let db = open(&path, 60_000);
    let loaded = db.preload().unwrap();
    assert!(loaded.is_cut && loaded.bytes <= 60_000 && loaded.chunks > 0, "{loaded:?}");
    let last = "SELECT count(*) AS n, sum(value) AS s FROM pings WHERE time > now() - INTERVAL '30 minutes'";
    assert_eq!((count(&db, last), read_from_store(&db, last)), (1_000, 0));
    assert!(rows(&db, ALL) == rows(&writer, ALL));
}

#[test]
fn preload_is_declared_shown_and_changed() {
    let db = atsdb::open("memory:").unwrap();
    create(&db);
    let shown = || {
        let table = rows(&db, "SELECT sql FROM atsdb.tables");
        table.column(0).as_string::<i32>().value(0).to_owned()
    };
    assert!(shown().contains("preload = '8 hours'"), "{}", shown());
    db.sql("ALTER TABLE pings SET (preload = '2 days')").unwrap();
    assert!(shown().contains("preload = '2 days'"), "{}", shown());
    db.sql("ALTER TABLE pings RESET (preload)").unwrap();
    assert!(!shown().contains("preload"), "{}", shown());
    for refused in [
        "CREATE TABLE t (a INT) WITH (preload = '8 hours')",
        "CREATE TABLE t (time TIMESTAMP) WITH (preload = 'long')",
        "CREATE TABLE t (time TIMESTAMP) WITH (engine = 'memory', preload = '8 hours')",
    ] {
        assert!(db.sql(refused).is_err(), "{refused}");
    }
    assert_eq!(count(&db, "SELECT count(*) AS n FROM atsdb.caches WHERE name = 'preload' AND bytes_max > 0"), 1);
}
