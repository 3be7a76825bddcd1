//! Tests of background maintenance, run by run, without its thread.

use super::*;
use crate::engine::{Engine, EngineOptions};
use crate::shared::environment::{Environment, SystemEnvironment};
use arrow::array::{ArrayRef, RecordBatch, TimestampSecondArray};
use atsdb_core::{ColumnType, Store, TableDefinition, TimeUnit};
use atsdb_memory::MemoryStore;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use std::sync::atomic::{AtomicI64, Ordering};

const DAY: i64 = 86_400;

/// A clock that shows the time it is set to.
struct FixedClock(AtomicI64);

impl Environment for FixedClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn random(&self) -> Result<[u8; 16]> {
        SystemEnvironment.random()
    }
}

struct Case {
    engine: Engine,
    faults: Arc<Faults>,
    clock: Arc<FixedClock>,
    maintenance: Maintenance,
    table: Table,
}

impl Case {
    /// A table with one fresh chunk in each of the first days, all of them past.
    fn new(days: i64) -> Self {
        let faults = Faults::new(Fails::Before);
        let store: Arc<dyn Store> = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new([7; 16])), &faults));
        let clock = Arc::new(FixedClock(AtomicI64::new(100 * DAY * 1_000)));
        let options = EngineOptions {
            maintenance: false,
            environment: Arc::clone(&clock) as Arc<dyn Environment>,
            ..EngineOptions::default()
        };
        let engine = Engine::new(store, options).unwrap();
        let definition = TableDefinition::new("t")
            .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
            .with_time("time", TimeUnit::Second)
            .unwrap();
        let table = engine.create_table(&definition).unwrap();
        let maintenance = Maintenance::new(engine.shared(), Box::new(|_, _| Ok(false)));
        let case = Self { engine, faults, clock, maintenance, table };
        (0..days).for_each(|day| case.append(day * DAY));
        case
    }

    fn append(&self, time: i64) {
        let times = TimestampSecondArray::from(vec![time]).with_timezone("UTC");
        let mut batch = self.engine.batch(None);
        batch
            .append(&self.table, &RecordBatch::try_from_iter([("time", Arc::new(times) as ArrayRef)]).unwrap())
            .unwrap();
        batch.commit().unwrap();
    }

    fn run(&mut self) {
        // A step that fails is retried by the next run.
        let _ = self.maintenance.run_all(self.engine.shared(), &Wakeups::default(), false);
    }

    fn chunks(&self) -> Vec<ChunkEntry> {
        self.engine.store().snapshot().unwrap().chunks(self.table.id, TimeRange::ALL).unwrap()
    }

    fn sealed(&self) -> Vec<bool> {
        self.chunks().iter().map(|entry| entry.sealed).collect()
    }
}

#[test]
fn a_slice_that_cannot_be_sealed_stops_no_other_and_is_not_read_at_each_look() {
    let mut case = Case::new(4);
    case.faults.make_unreadable(case.chunks()[1].id);
    case.run();
    assert_eq!(case.sealed(), [false; 4], "they are seen for the first time");
    case.run();
    assert_eq!(case.sealed(), [true, false, true, true]);
    assert_eq!(case.faults.unreadable_reads(), 1);
    let reclaimed = case.faults.calls("reclaim");
    for _ in 0..10 {
        case.run();
    }
    assert_eq!(case.faults.unreadable_reads(), 1, "the clock stands still");
    assert_eq!(case.faults.calls("reclaim"), reclaimed + 10);
    case.clock.0.fetch_add(30_000, Ordering::SeqCst);
    for _ in 0..10 {
        case.run();
    }
    assert_eq!(case.faults.unreadable_reads(), 2);
}

#[test]
fn what_a_look_meets_with_does_not_keep_space_from_being_given_back() {
    // Every slice that is due fails.
    let mut case = Case::new(1);
    case.faults.make_unreadable(case.chunks()[0].id);
    case.run();
    let reclaimed = case.faults.calls("reclaim");
    case.run();
    assert_eq!((case.faults.unreadable_reads(), case.faults.calls("reclaim")), (1, reclaimed + 1));
}

#[test]
fn space_is_given_back_while_transactions_overlap_and_nothing_is_sealed_under_them() {
    let mut case = Case::new(2);
    let mut hold = case.engine.hold();
    for _ in 0..5 {
        let reclaimed = case.faults.calls("reclaim");
        case.run();
        assert_eq!(case.faults.calls("reclaim"), reclaimed + 1);
        // The next transaction begins before this one ends.
        let next = case.engine.hold();
        hold = next;
    }
    assert_eq!(case.sealed(), [false; 2]);
    drop(hold);
    case.run();
    assert_eq!(case.sealed(), [true; 2]);
}

/// Listing the chunks of a table for each of its slices would take as long as slices times chunks.
#[test]
fn slices_of_few_rows_are_sealed_by_one_list_of_the_chunks() {
    let mut case = Case::new(60);
    case.run();
    let listed = case.faults.calls("Snapshot::chunks");
    case.run();
    assert_eq!(case.sealed(), [true; 60]);
    assert!(case.faults.calls("Snapshot::chunks") < listed + 20);
    (0..60).for_each(|day| case.append(day * DAY + 1));
    let listed = case.faults.calls("Snapshot::chunks");
    case.engine.recompress(None).unwrap();
    assert_eq!(case.sealed(), [true; 60]);
    assert!(case.faults.calls("Snapshot::chunks") < listed + 20);
}
