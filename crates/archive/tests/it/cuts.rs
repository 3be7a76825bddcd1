//! Copies and backups that are made while others write show a single moment.

use crate::backups::{back_up, restore};
use crate::support::{copy, memory, sqlite};
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::{ColumnType, Table, TableDefinition, TimeUnit};
use atsdb_engine::{Engine, ScanRequest};
use atsdb_testkit::clock::wait_until;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: i64 = 4;
const CUTS: u64 = 200;

fn ledger(name: &str) -> TableDefinition {
    let columns = TableDefinition::new(name)
        .with_column("time", ColumnType::Int64, None)
        .with_column("writer", ColumnType::Int64, None)
        .with_column("amount", ColumnType::Int64, None);
    columns.with_time("time", TimeUnit::Second).unwrap()
}

fn rows(columns: [Vec<i64>; 3]) -> RecordBatch {
    let names = ["time", "writer", "amount"];
    let array = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    RecordBatch::try_from_iter(names.into_iter().zip(columns.map(array))).unwrap()
}

/// Sends one batch of a writer, which takes from the second table the sum that it books to the first.
fn send(engine: &Engine, tables: &(Table, Table), writer: i64, number: i64) {
    let amounts = vec![number, number * 7 + 1, -3];
    let times: Vec<i64> = (0..3).map(|row| number * 1_000 + row).collect();
    let total: i64 = amounts.iter().sum();
    let mut batch = engine.batch(None);
    batch.append(&tables.0, &rows([times, vec![writer; 3], amounts])).unwrap();
    batch.append(&tables.1, &rows([vec![number * 1_000], vec![writer], vec![-total]])).unwrap();
    batch.commit().unwrap();
}

fn amounts(engine: &Engine, table: &str) -> Vec<(i64, i64)> {
    let snapshot = engine.snapshot().unwrap();
    let table = snapshot.table(table).unwrap();
    let mut found = Vec::new();
    for rows in snapshot.scan(table, &ScanRequest::all(table)).unwrap().batches() {
        let rows = rows.unwrap();
        let values = |column: usize| rows.column(column).as_primitive::<Int64Type>().values().to_vec();
        found.extend(values(1).into_iter().zip(values(2)));
    }
    found
}

/// Checks that the books balance for every writer, and that no batch is missing between others.
#[track_caller]
fn assert_is_a_cut(engine: &Engine) -> usize {
    let (first, second) = (amounts(engine, "first"), amounts(engine, "second"));
    for writer in 0..WRITERS {
        let of = |rows: &[(i64, i64)]| -> (usize, i64) {
            let own = rows.iter().filter(|row| row.0 == writer);
            (own.clone().count(), own.map(|row| row.1).sum())
        };
        let ((rows, booked), (batches, taken)) = (of(&first), of(&second));
        assert_eq!((rows, booked), (batches * 3, -taken), "writer {writer}");
        let all: i64 = (0..batches as i64).map(|number| number * 8 - 2).sum();
        assert_eq!(booked, all, "writer {writer} of {batches} batches");
    }
    second.len()
}

#[test]
fn two_hundred_copies_and_backups_beside_four_writers_are_each_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let source = sqlite(&folder.path().join("source.db"));
    let tables = (source.create_table(&ledger("first")).unwrap(), source.create_table(&ledger("second")).unwrap());
    let archive = Archive::open(folder.path().join("backups").to_str().unwrap()).unwrap();
    let mirror = sqlite(&folder.path().join("mirror.db"));
    let (cuts, sent, is_over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let (mut smallest, mut largest) = (usize::MAX, 0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (source, tables, cuts, sent, is_over) = (&source, &tables, &cuts, &sent, &is_over);
            scope.spawn(move || {
                let mut number = 0;
                while !is_over.load(Ordering::SeqCst) {
                    // Slow enough that the store stays small.
                    if number < (cuts.load(Ordering::SeqCst) as i64 + 1) * 4 {
                        send(source, tables, writer, number);
                        sent.fetch_add(1, Ordering::SeqCst);
                        number += 1;
                    } else {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let (sealer, is_done) = (&source, &is_over);
        scope.spawn(move || {
            while !is_done.load(Ordering::SeqCst) {
                sealer.recompress(None).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        // Ends the writers also when an assertion fails.
        struct End<'a>(&'a AtomicBool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _end = End(&is_over);
        for cut in 0..CUTS {
            cuts.store(cut, Ordering::SeqCst);
            wait_until("each cut has more batches than the one before", || sent.load(Ordering::SeqCst) >= cut);
            let batches = if cut % 2 == 0 {
                back_up(&source, &archive, Some(3)).unwrap();
                let target = memory();
                restore(&archive, &BackupSelector::Latest, &target).unwrap();
                assert_is_a_cut(&target)
            } else {
                copy(&source, &mirror).unwrap();
                assert_is_a_cut(&mirror)
            };
            (smallest, largest) = (smallest.min(batches), largest.max(batches));
        }
    });
    assert!(largest > smallest + 100, "the writers did nothing: {smallest} to {largest} batches");
    assert!(archive.verify().unwrap().findings.is_empty());
}
