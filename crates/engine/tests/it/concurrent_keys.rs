//! Keys of batches that other writers add to while they are open. Different keys do not conflict, and an equal one is
//! found whenever it is added.

use crate::support::{self, Row, append, batch_of, engines, read_all, row, sorted};
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use atsdb_core::{
    ColumnType, CommitOutcome, ConflictPolicy, Error, ErrorKind, Result, Store, Table, TableDefinition, Unique,
};
use atsdb_engine::{Batch, Engine, ScanRequest, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use atsdb_testkit::sample::Random;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn keyed() -> TableDefinition {
    let mut definition = support::readings();
    let columns = ["sensor", "time"].map(|name| definition.column(name).unwrap().id).to_vec();
    definition.unique.push(Unique::new(columns));
    definition
}

/// A batch that has checked the keys of its rows, and is not committed.
fn begun(engine: &Engine, table: &Table, rows: &[Row], policy: ConflictPolicy) -> Batch {
    let mut batch = engine.batch(None);
    batch.append_with(table, &batch_of(rows), policy).unwrap();
    batch.settle_keys().unwrap();
    batch
}

fn kind(done: Result<CommitOutcome>) -> Option<ErrorKind> {
    done.as_ref().err().map(Error::kind)
}

#[test]
fn batches_of_two_processes_add_different_keys() {
    let (_folder, engines) = engines();
    for engine in engines {
        let other = support::engine(Arc::clone(engine.store()), SystemEnvironment);
        let table = engine.create_table(&keyed()).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1)]);
        let own = begun(&engine, &table, &[row(3, "a", "ok", 3)], ConflictPolicy::Error);
        let others = begun(&other, &table, &[row(2, "a", "ok", 2), row(4, "a", "ok", 4)], ConflictPolicy::Error);
        others.commit_unrepeated().unwrap();
        own.commit_unrepeated().unwrap();
        let expected = [1, 2, 3, 4].map(|time| row(time, "a", "ok", time as i32));
        assert_eq!(read_all(&engine, &table).unwrap(), sorted(&expected));
        assert_eq!(engine.verify(None).unwrap().findings, []);
    }
}

/// Each process remembers the greatest key that it has seen. The rows of the other process count all the same.
#[test]
fn a_key_is_new_to_two_processes_exactly_if_no_row_has_it() {
    let (_folder, engines) = engines();
    for engine in engines {
        let other = support::engine(Arc::clone(engine.store()), SystemEnvironment);
        let mut definition = TableDefinition::new("t").with_column("i", ColumnType::Int64, None);
        definition.unique.push(Unique::new(vec![definition.columns[0].id]));
        let table = engine.create_table(&definition).unwrap();
        let (mut stored, mut random) = (BTreeSet::new(), Random::new(1));
        for step in 0..120 {
            let greatest: u64 = stored.last().copied().unwrap_or(0);
            let key = match random.below(3) {
                0 => random.below(greatest + 1),
                1 => greatest,
                _ => greatest + 1 + random.below(3),
            };
            let column: ArrayRef = Arc::new(Int64Array::from(vec![key as i64]));
            let rows = RecordBatch::try_from_iter([("i", column)]).unwrap();
            let mut batch = if random.below(2) == 0 { engine.batch(None) } else { other.batch(None) };
            let done = batch.append_with(&table, &rows, ConflictPolicy::Error).and_then(|()| batch.commit());
            if stored.insert(key) {
                assert_eq!(done.unwrap(), CommitOutcome::Committed, "step {step}, key {key}");
            } else {
                assert_eq!(kind(done), Some(ErrorKind::DuplicateKey), "step {step}, key {key}");
            }
            if step % 40 == 39 {
                engine.recompress(Some(&table)).unwrap();
            }
        }
    }
}

#[test]
fn an_equal_key_is_a_duplicate_or_a_conflict() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed()).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1)]);
        let begin = |policy| begun(&engine, &table, &[row(3, "a", "new", 3)], policy);
        let unrepeated = [ConflictPolicy::Error, ConflictPolicy::Keep, ConflictPolicy::Replace].map(begin);
        let repeated = begin(ConflictPolicy::Error);
        append(&engine, &table, &[row(2, "b", "ok", 1), row(3, "a", "ok", 1)]);
        engine.recompress(Some(&table)).unwrap();
        let error = repeated.commit().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        let [refused, kept, replacing] = unrepeated;
        let error = refused.commit_unrepeated().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
        assert_eq!(error.message(), "table readings, key (sensor, time): (a, 1970-01-01T00:00:03Z) already exists");
        assert_eq!(kind(kept.commit_unrepeated()), Some(ErrorKind::Conflict));
        assert_eq!(kind(replacing.commit_unrepeated()), Some(ErrorKind::Conflict));
        assert_eq!(read_all(&engine, &table).unwrap().len(), 3);
    }
}

#[test]
fn rows_of_a_chunk_that_both_rewrite_are_no_duplicates() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed()).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1), row(2, "a", "ok", 2)]);
        let replacing = begun(&engine, &table, &[row(1, "a", "new", 3)], ConflictPolicy::Replace);
        // This batch removes a row and adds one of the same key, without a policy.
        let mut again = engine.batch(None);
        let chunks = again.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
        let old = chunks.chunks()[0].entry.id;
        again.replace(&table, old, None).unwrap();
        again.append(&table, &batch_of(&[row(1, "a", "again", 4)])).unwrap();
        again.settle_keys().unwrap();
        replacing.commit().unwrap();
        assert_eq!(kind(again.commit_unrepeated()), Some(ErrorKind::Conflict));
        let expected = [row(1, "a", "new", 3), row(2, "a", "ok", 2)];
        assert_eq!(read_all(&engine, &table).unwrap(), sorted(&expected));
    }
}

/// Commits a batch while another engine appends before the given call. Returns false if there were fewer calls.
fn intervene(call: i64, repeats: bool, is_staged: bool) -> bool {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let other = support::engine(Arc::clone(&inner), SystemEnvironment);
    let faults = Faults::new(Fails::Before);
    let own = support::engine(Arc::new(FaultyStore::new(inner, &faults)), SystemEnvironment);
    let table = other.create_table(&keyed()).unwrap();
    append(&other, &table, &[row(1, "a", "ok", 1)]);
    let mut batch = begun(&own, &table, &[row(5, "a", "ok", 5)], ConflictPolicy::Error);
    if is_staged {
        // A new table is in the batch's stage.
        batch.create_table(&TableDefinition { name: "second".into(), ..support::readings() }).unwrap();
    }
    let (acting, acting_on, has_acted) = (other.clone(), table.clone(), Arc::new(AtomicBool::new(false)));
    let (noted, accepted) = (Arc::clone(&has_acted), Arc::new(AtomicBool::new(false)));
    let noted_accepted = Arc::clone(&accepted);
    faults.intervene(call, move || {
        let mut meanwhile = acting.batch(None);
        let added = meanwhile.append(&acting_on, &batch_of(&[row(if repeats { 5 } else { 3 }, "a", "new", 3)]));
        let done = added.and_then(|()| meanwhile.commit());
        noted_accepted.store(done.is_ok(), Ordering::SeqCst);
        noted.store(true, Ordering::SeqCst);
    });
    let committed = kind(batch.commit_unrepeated());
    let _pause = faults.pause();
    let (has_acted, accepted) = (has_acted.load(Ordering::SeqCst), accepted.load(Ordering::SeqCst));
    let place = format!("before call {call}");
    let refused = (accepted && repeats).then_some(ErrorKind::DuplicateKey);
    assert_eq!(committed, refused, "{place}");
    let row_count = 1 + usize::from(committed.is_none()) + usize::from(accepted);
    assert_eq!(read_all(&other, &table).unwrap().len(), row_count, "{place}");
    assert_eq!(other.table("second").is_ok(), is_staged && committed.is_none(), "{place}");
    has_acted
}

#[test]
fn a_row_may_come_between_any_two_calls_of_a_commit() {
    for (repeats, is_staged) in [(false, false), (true, false), (false, true), (true, true)] {
        let calls = (0..).take_while(|call| intervene(*call, repeats, is_staged)).count();
        assert!((2..100).contains(&calls), "{calls} calls");
    }
}
