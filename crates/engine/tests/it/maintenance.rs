//! Background maintenance: sealing, retention and reclaiming space.

use crate::support::{FixedClock, append, engine, read_all, readings, row, sqlite};
use atsdb_core::{Retention, Store, TableDefinition};
use atsdb_engine::{Engine, EngineOptions, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

const DAY: i64 = 86_400;

#[test]
fn a_program_that_only_appends_gets_its_old_slices_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let options = EngineOptions { maintenance: true, ..Default::default() };
    let engine = Engine::new(sqlite(&folder.path().join("t.db")), options).unwrap();
    let table = engine.create_table(&readings()).unwrap();
    for round in 0..5 {
        let rows: Vec<_> = (0..100_i64).map(|second| row(second * 7 % 100 + round, "a", "ok", 1)).collect();
        append(&engine, &table, &rows);
    }
    let deadline = Instant::now() + Duration::from_secs(300);
    while engine.stats(None).unwrap()[0].fresh_chunks > 0 {
        assert!(Instant::now() < deadline, "nothing was sealed at all");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(read_all(&engine, &table).unwrap().len(), 500);
    append(&engine, &table, &[row(3, "late", "ok", 2)]);
    assert_eq!(read_all(&engine, &table).unwrap().len(), 501, "late rows into a sealed slice just work");
}

/// Returns whether everything is sealed before this many seconds have passed.
fn is_sealed_within(engine: &Engine, seconds: u64) -> bool {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < deadline {
        if engine.stats(None).unwrap()[0].fresh_chunks == 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn chunks_that_an_open_transaction_may_replace_are_not_sealed_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let options = EngineOptions { maintenance: true, ..Default::default() };
    let engine = Engine::new(sqlite(&folder.path().join("t.db")), options).unwrap();
    let table = engine.create_table(&readings()).unwrap();
    let hold = engine.hold();
    append(&engine, &table, &[row(1, "a", "ok", 1)]);
    assert!(!is_sealed_within(&engine, 5), "sealed under an open transaction");
    engine.recompress(None).unwrap();
    assert!(is_sealed_within(&engine, 300), "who asks for it gets it");
    append(&engine, &table, &[row(2, "a", "ok", 1)]);
    drop(hold);
    append(&engine, &table, &[row(3, "a", "ok", 1)]);
    assert!(is_sealed_within(&engine, 300), "never sealed after the transaction");
}

#[test]
fn another_process_does_not_seal_what_a_transaction_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let open = |maintenance| Engine::new(sqlite(&path), EngineOptions { maintenance, ..Default::default() }).unwrap();
    let (one, other) = (open(false), open(true));
    let table = one.create_table(&readings()).unwrap();
    let (hold, second) = (one.hold(), one.hold());
    hold.lease().unwrap();
    second.lease().unwrap();
    append(&other, &table, &[row(1, "a", "ok", 1)]);
    assert!(!is_sealed_within(&other, 4), "sealed under another process' transaction");
    drop(hold);
    append(&other, &table, &[row(2, "a", "ok", 1)]);
    assert!(!is_sealed_within(&other, 4), "sealed under another process' second transaction");
    drop(second);
    append(&other, &table, &[row(3, "a", "ok", 1)]);
    assert!(is_sealed_within(&other, 300), "never sealed after the transactions");
}

#[test]
fn slices_that_have_expired_are_dropped_whole_and_the_file_shrinks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let clock = Arc::new(FixedClock(AtomicI64::new(100 * DAY * 1_000)));
    let environment = Arc::clone(&clock) as Arc<_>;
    let options = EngineOptions { maintenance: false, cache_bytes: 0, environment, ..EngineOptions::default() };
    let engine = Engine::new(sqlite(&path), options).unwrap();
    let mut definition = readings();
    definition.retention = Some(Retention::parse("10 days").unwrap());
    let table = engine.create_table(&definition).unwrap();
    for day in 80..100_i64 {
        let noise = |second: i64| (second.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 40) as i32;
        let rows: Vec<_> =
            (0..20_000).map(|second| row(day * DAY + second * 4, "a", "ok", noise(second + day * 7_919))).collect();
        append(&engine, &table, &rows);
    }
    let size = || engine.store().size().unwrap().total;
    let before = size();
    let report = engine.retain(None).unwrap();
    assert_eq!((report.chunks, report.rows), (10, 200_000), "days 80 to 89 are wholly older than ten days");
    assert!(size() < before * 6 / 10, "{} of {before}", size());
    assert!(std::fs::metadata(&path).unwrap().len() < before * 6 / 10, "the file itself is smaller");
    assert_eq!(read_all(&engine, &table).unwrap().len(), 200_000);
    assert_eq!(engine.retain(None).unwrap().chunks, 0);
    clock.0.store(101 * DAY * 1_000, Ordering::SeqCst);
    assert_eq!(engine.retain(None).unwrap().chunks, 1);
}

#[test]
fn no_slice_is_dropped_once_another_process_has_removed_the_retention() {
    for call in 0.. {
        assert!(call < 1_000, "retention has no end");
        let inner: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
        let clock = || FixedClock(AtomicI64::new(100 * DAY * 1_000));
        let other = engine(Arc::clone(&inner), clock());
        let faults = Faults::new(Fails::Before);
        let own = engine(Arc::new(FaultyStore::new(inner, &faults)), clock());
        let definition = TableDefinition { retention: Some(Retention::parse("10 days").unwrap()), ..readings() };
        let table = other.create_table(&definition).unwrap();
        (80..95).for_each(|day| append(&other, &table, &[row(day * DAY, "a", "ok", 1)]));
        let (acting, then) = (other.clone(), Arc::new(Mutex::new(None)));
        let noted = Arc::clone(&then);
        faults.intervene(call, move || {
            let table = acting.table("readings").unwrap();
            let mut batch = acting.batch(None);
            let to = TableDefinition { retention: None, ..table.definition.clone() };
            let table = batch.redefine(&table, to).unwrap();
            batch.commit().unwrap();
            *noted.lock() = Some(read_all(&acting, &table).unwrap());
        });
        own.retain(None).unwrap();
        let _pause = faults.pause();
        let left = read_all(&other, &other.table("readings").unwrap()).unwrap();
        let then = then.lock().take();
        let Some(then) = then else {
            assert!(call > 5 && left.len() == 5, "{call} calls, {} rows", left.len());
            return;
        };
        assert_eq!(left, then, "before call {call}");
    }
}

#[test]
fn many_small_chunks_are_merged_and_their_space_reclaimed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(sqlite(&folder.path().join("t.db")), SystemEnvironment);
    let table = engine.create_table(&readings()).unwrap();
    for number in 0..300_i64 {
        append(&engine, &table, &[row(number * 60 % DAY, &format!("s{}", number % 10), "ok", number as i32)]);
    }
    let before = engine.store().size().unwrap().total;
    let report = engine.recompress(Some(&table)).unwrap();
    assert_eq!((report.chunks_before, report.chunks_after, report.rows), (300, 1, 300));
    assert!(engine.store().size().unwrap().total < before / 2);
    assert_eq!(engine.recompress(Some(&table)).unwrap().chunks_before, 0, "what is sealed is left alone");
}

#[test]
fn one_late_row_does_not_rewrite_a_large_slice() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(sqlite(&folder.path().join("t.db")), SystemEnvironment);
    let table = engine.create_table(&readings()).unwrap();
    for part in 0..12_i64 {
        let rows: Vec<_> =
            (0..100_000).map(|number| row(part * 7_000 + number / 15, "a", "ok", number as i32)).collect();
        append(&engine, &table, &rows);
    }
    engine.recompress(None).unwrap();
    append(&engine, &table, &[row(1, "late", "ok", 1)]);
    let report = engine.recompress(None).unwrap();
    assert_eq!((report.chunks_before, report.chunks_after), (1, 1));
    assert_eq!(engine.stats(None).unwrap()[0].rows, 1_200_001);
}

#[test]
fn a_dropped_table_and_an_abandoned_batch_leave_the_file_as_small_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let engine = engine(sqlite(&path), SystemEnvironment);
    let noise = |second: i64| (second.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 33) as i32;
    let rows: Vec<_> = (0..100_000_i64).map(|second| row(noise(second).into(), "a", "ok", noise(second))).collect();
    let before = engine.store().size().unwrap().total;
    let table = engine.create_table(&readings()).unwrap();
    append(&engine, &table, &rows);
    assert!(engine.store().size().unwrap().total > before + 400_000);
    engine.drop_table(&table).unwrap();
    let mut batch = engine.batch(None);
    let staged = batch.create_table(&readings()).unwrap();
    batch.append(&staged, &crate::support::batch_of(&rows)).unwrap();
    drop(batch);
    assert!(engine.store().size().unwrap().total <= before + 32_768);
    assert!(std::fs::metadata(&path).unwrap().len() <= before + 32_768, "the file itself is as small");
}
