//! Many threads on one store.

use super::helpers::*;
use crate::sample::{Plan, amended, amendment};
use atsdb_core::{BatchId, Change, ChunkId, CommitOutcome, Error, ErrorKind, Result, Store, TimeRange};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Runs a function with a number on each of four threads, and returns the results.
fn four<T: Send>(work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                scope.spawn({
                    let work = &work;
                    move || work(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

pub(super) fn commits_of_many_threads_all_count(store: &dyn Store) {
    let table = create(store, "t");
    four(|number| {
        for step in 0..15 {
            let seed = number * 1_000 + step;
            if step % 3 == 0 {
                let stage = store.open_stage(NOW_MS).unwrap();
                store.stage(stage, vec![Plan::new(seed).chunk(table)], NOW_MS).unwrap();
                commit(store, publishing(stage)).unwrap();
            } else {
                commit(store, adding(vec![Plan::new(seed).chunk(table)])).unwrap();
            }
        }
    });
    let chunks: Vec<_> =
        (0..4).flat_map(|number| (0..15).map(move |step| Plan::new(number * 1_000 + step).chunk(table))).collect();
    assert_holds(store, table, &chunks);
}

pub(super) fn of_swaps_of_one_chunk_one_wins(store: &dyn Store) {
    let table = create(store, "t");
    for round in 0..5 {
        let old = match round {
            0 => fill(store, table, 0..1),
            _ => visible(store, table),
        };
        let outcomes = four(|number| {
            let seed = 100 * (round + 1) + number;
            commit(store, Change { add: vec![Plan::new(seed).chunk(table)], ..removing(&old) })
        });
        assert_one_won(outcomes);
        assert_eq!(visible(store, table).len(), 1);
    }
}

/// Checks that one of the four threads succeeded and that the others got a conflict.
#[track_caller]
fn assert_one_won(outcomes: Vec<Result<CommitOutcome>>) {
    let kinds: Vec<_> = outcomes.iter().map(|outcome| outcome.as_ref().map_err(Error::kind)).collect();
    assert_eq!(kinds.iter().filter(|kind| kind.is_ok()).count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == Err(ErrorKind::Conflict)).count(), 3, "{kinds:?}");
}

pub(super) fn of_guarded_appends_one_wins(store: &dyn Store) {
    let table = create(store, "t");
    let mut newest = ChunkId(0);
    for round in 0..10 {
        let append = |number| guarded(table, newest, adding(vec![Plan::new(round * 10 + number).chunk(table)]));
        assert_one_won(four(|number| commit(store, append(number))));
        let entries = visible(store, table);
        assert_eq!(entries.len() as u64, round + 1);
        newest = entries.iter().map(|entry| entry.id).max().unwrap();
    }
}

pub(super) fn of_redefinitions_of_one_table_one_wins(store: &dyn Store) {
    let table = create(store, "t");
    for round in 0..5 {
        let from = table_names(store).remove(0);
        let rename = |number| redefining(vec![renaming(table, &from, &format!("t {round} {number}"))]);
        assert_one_won(four(|number| commit(store, rename(number))));
        assert_ne!(table_names(store), [from]);
    }
}

pub(super) fn of_amendments_of_one_chunk_one_wins(store: &dyn Store) {
    let table = create(store, "t");
    let chunk = Plan::new(1).chunk(table);
    let id = append(store, &chunk);
    let amend = |number| amending(vec![amendment(id, &chunk, &amended(&chunk, number as u16, 900))]);
    assert_one_won(four(|number| commit(store, amend(number))));
    assert_eq!(visible(store, table)[0].byte_count, chunk.descriptor.byte_count() + 900);
}

pub(super) fn a_reader_never_sees_half_a_change(store: &dyn Store) {
    let (first, second) = (create(store, "a"), create(store, "b"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0_u32;
            while !done.load(Ordering::Acquire) || looks == 0 {
                let snapshot = store.snapshot().unwrap();
                let chunks = snapshot.chunks(first, TimeRange::ALL).unwrap();
                assert_eq!(chunks.len(), snapshot.chunks(second, TimeRange::ALL).unwrap().len());
                for entry in &chunks {
                    assert_eq!(snapshot.read_pages(entry.id, &columns(3)).unwrap().len(), 3);
                }
                looks += 1;
            }
        });
        for seed in 0..40 {
            let change = if seed % 8 == 7 {
                removing(&[visible(store, first), visible(store, second)].concat())
            } else {
                adding(vec![Plan::new(seed).chunk(first), Plan::new(seed).chunk(second)])
            };
            commit(store, change).unwrap();
            store.reclaim(1 << 20, NOW_MS).unwrap();
        }
        done.store(true, Ordering::Release);
        reader.join().unwrap();
    });
}

pub(super) fn a_batch_sent_by_many_counts_once(store: &dyn Store) {
    let table = create(store, "t");
    let outcomes = four(|number| {
        let batch = Some(BatchId::new("batch").unwrap());
        commit(store, Change { batch, ..adding(vec![Plan::new(number).chunk(table)]) }).unwrap()
    });
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == CommitOutcome::Committed).count(), 1);
    assert_eq!(visible(store, table).len(), 1);
}

pub(super) fn one_thread_gets_a_lease(store: &dyn Store) {
    let held = four(|number| store.acquire_lease("seal", &format!("thread {number}"), NOW_MS, 1_000).unwrap());
    assert_eq!(held.iter().filter(|held| **held).count(), 1);
}
