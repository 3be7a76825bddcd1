//! Several processes on one store: writers, one that seals, one that counts.

use crate::content::{
    EVENTS_PER_BATCH, READINGS_PER_BATCH, Shape, assert_batches, assert_sound, create_tables, read, send, send_as,
};
use crate::support::{as_other_process, assert_no_complaints, beside, open, open_quiet, other_process};
use atsdb::{ReadSnapshot, ScanRequest};
use std::path::Path;

/// The number of batches that each writer sends.
const BATCHES: u64 = 120;
/// At every tenth batch, all writers also send one common batch.
const SHARED_EVERY: u64 = 10;
const SHARED_FIRST: u64 = 50_000_000;

fn first_of(writer: u64) -> u64 {
    (writer + 1) * 1_000_000
}

fn write_together(writer_count: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    create_tables(&open(&path));
    let spawn = |test: &str, task: String| other_process(test, &path, &task).spawn().unwrap();
    let mut others =
        vec![spawn("processes::one_that_seals", String::new()), spawn("processes::one_that_counts", String::new())];
    let writers: Vec<_> = (0..writer_count).map(|writer| spawn("processes::one_writer", writer.to_string())).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    std::fs::write(beside(&path, ".stop"), "").unwrap();
    for other in &mut others {
        assert!(other.wait().unwrap().success());
    }
    assert_no_complaints(&path);
    let own = (0..writer_count).flat_map(|writer| (0..BATCHES).map(move |step| first_of(writer) + step));
    let all = own.chain((0..BATCHES / SHARED_EVERY).map(|step| SHARED_FIRST + step));
    let db = open_quiet(&path).unwrap();
    assert_batches(&read(&db.snapshot().unwrap()).unwrap(), Shape::Small, all);
    assert_sound(&db);
    let sealed = db.engine().stats(None).unwrap().iter().map(|table| table.chunks - table.fresh_chunks).sum::<u64>();
    assert!(sealed > 0, "the one that seals did nothing");
}

#[test]
fn two_writers_and_one_that_seals_lose_and_double_nothing() {
    write_together(2);
}

#[test]
fn four_writers_and_one_that_seals_lose_and_double_nothing() {
    write_together(4);
}

#[test]
fn one_writer() {
    let Some((path, writer)) = as_other_process() else { return };
    let db = open(&path);
    for step in 0..BATCHES {
        send(&db, Shape::Small, first_of(writer.parse().unwrap()) + step).unwrap();
        if step % SHARED_EVERY == 0 {
            let number = SHARED_FIRST + step / SHARED_EVERY;
            send_as(&db, Shape::Small, number, &format!("shared {number}")).unwrap();
        }
    }
}

#[test]
fn one_that_seals() {
    let Some((path, _)) = as_other_process() else { return };
    let db = open_quiet(&path).unwrap();
    // At least once, even if the writers end before this process begins.
    loop {
        db.engine().recompress(None).unwrap();
        if is_over(&path) {
            break;
        }
    }
}

/// Counts rows by the statistics and by reading. Both counts only grow, and by whole batches.
#[test]
fn one_that_counts() {
    let Some((path, _)) = as_other_process() else { return };
    let db = open_quiet(&path).unwrap();
    let mut before = 0;
    while !is_over(&path) {
        let snapshot = db.snapshot().unwrap();
        let (readings, events) = (count(&snapshot, "readings"), count(&snapshot, "events"));
        assert_eq!(readings % READINGS_PER_BATCH, 0, "half a batch shows");
        let batches = readings / READINGS_PER_BATCH;
        assert_eq!(events, batches * EVENTS_PER_BATCH, "a batch shows in one table and not in the other");
        assert!(batches >= before, "{batches} batches after {before}");
        before = batches;
    }
}

fn count(snapshot: &ReadSnapshot, name: &str) -> u64 {
    let table = snapshot.table(name).unwrap();
    let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
    let counted = scan.row_count_exact().unwrap();
    let read: usize = scan.batches().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(counted, read as u64, "the statistics do not tell what is there");
    counted
}

fn is_over(path: &Path) -> bool {
    beside(path, ".stop").exists()
}
