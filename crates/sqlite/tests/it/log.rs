//! The write-ahead log.

use crate::support::{NOW_MS, Scratch, create, file_bytes};
use atsdb_core::{Change, Durability, Store};
use atsdb_testkit::sample::Plan;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The maximum number of megabytes that are written before the log must restart. On a fast disk it takes 300 MB.
const WRITTEN_MB_MAX: u64 = 4_000;

#[test]
fn the_log_starts_over_under_readers_that_overlap() {
    let scratch = Scratch::new();
    let store = scratch.open_as("a.db", Durability::Off);
    let table = create(&store, "t");
    let done = AtomicBool::new(false);
    let started_over = thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = store.snapshot().unwrap();
            while !done.load(Ordering::Acquire) {
                // The next snapshot is taken before the last one is dropped.
                let next = store.snapshot().unwrap();
                thread::sleep(Duration::from_millis(10));
                drop(std::mem::replace(&mut held, next));
            }
        });
        let mut longest = 0;
        let started_over = (0..WRITTEN_MB_MAX).any(|seed| {
            let add = vec![Plan::new(seed).with_pages(10, 100_000).chunk(table)];
            store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap();
            let length = file_bytes(&scratch.path("a.db-wal"));
            longest = longest.max(length);
            length < longest
        });
        done.store(true, Ordering::Release);
        started_over
    });
    assert!(started_over);
}

#[test]
fn the_log_is_removed_with_its_last_user() {
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    create(&store, "t");
    let snapshot = store.snapshot().unwrap();
    drop(store);
    drop(snapshot);
    assert!(file_bytes(&scratch.path("a.db")) > 0);
    assert!(!scratch.path("a.db-wal").exists() && !scratch.path("a.db-shm").exists());
}
