//! Sealing many small slices: several in one commit, each applied separately.

use crate::support::{append, read_all, readings, row};
use atsdb_core::Store;
use atsdb_engine::{Engine, EngineOptions};
use atsdb_memory::MemoryStore;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DAY: i64 = 86_400;

fn quiet(store: Arc<dyn Store>) -> Engine {
    let options = EngineOptions { maintenance: false, preload_bytes: 0, ..EngineOptions::default() };
    Engine::new(store, options).unwrap()
}

#[test]
fn small_slices_share_commits() {
    const SLICES: i64 = 600;
    let faults = Faults::new(Fails::Before);
    let engine = quiet(Arc::new(FaultyStore::new(Arc::new(MemoryStore::new([7; 16])), &faults)));
    let table = engine.create_table(&readings()).unwrap();
    for round in 0..2 {
        let rows: Vec<_> = (0..SLICES).map(|day| row(day * DAY + round, "a", "ok", 1)).collect();
        append(&engine, &table, &rows);
    }
    // Calls are counted from now on; none of them fails.
    faults.arm(i64::MAX);
    let before = faults.calls("commit");
    let report = engine.recompress(None).unwrap();
    let commits = faults.calls("commit") - before;
    assert!((1..=45).contains(&commits), "{commits} commits");
    assert_eq!((report.slices, report.chunks_before, report.rows), (600, 1_200, 1_200), "{report:?}");
    assert_eq!(engine.stats(None).unwrap()[0].fresh_chunks, 0);
    assert_eq!(read_all(&engine, &table).unwrap().len(), 1_200);
    assert_eq!(engine.recompress(None).unwrap().slices, 0);
}

/// Another engine seals or appends before each of the calls in turn.
#[test]
fn a_slice_that_another_writer_changes_does_not_hold_up_the_others() {
    let mut was_beaten = false;
    for call in 0.. {
        let inner: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
        let other = quiet(Arc::clone(&inner));
        let faults = Faults::new(Fails::Before);
        let own = quiet(Arc::new(FaultyStore::new(inner, &faults)));
        let table = other.create_table(&readings()).unwrap();
        append(&other, &table, &(0..4).map(|day| row(day * DAY, "a", "ok", 1)).collect::<Vec<_>>());
        append(&other, &table, &(0..4).map(|day| row(day * DAY + 1, "b", "ok", 1)).collect::<Vec<_>>());
        let (acting, at, has_acted) = (other.clone(), table.clone(), Arc::new(AtomicBool::new(false)));
        let noted = Arc::clone(&has_acted);
        faults.intervene(call, move || {
            acting.recompress(None).unwrap();
            append(&acting, &at, &[row(2 * DAY + 2, "c", "ok", 1)]);
            noted.store(true, Ordering::SeqCst);
        });
        let report = own.recompress(None).unwrap();
        let _pause = faults.pause();
        let was_late = !has_acted.load(Ordering::SeqCst);
        let rows = read_all(&other, &table).unwrap();
        assert_eq!(rows.len(), if was_late { 8 } else { 9 }, "before call {call}: {report:?}");
        // At most the row that was added after the last listing is still fresh.
        let fresh = other.stats(None).unwrap()[0].fresh_chunks;
        assert!(fresh <= 1, "before call {call}: {fresh} fresh chunks");
        was_beaten |= report.rows < 8 && !was_late;
        if was_late {
            assert!(call > 3 && was_beaten, "{call} calls");
            return;
        }
    }
}
