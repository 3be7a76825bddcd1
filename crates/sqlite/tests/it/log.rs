//! The write-ahead log.

use crate::support::{NOW_MS, Scratch, append, create, file_bytes, reopen, visible};
use atsdb_core::{Change, Durability, Store};
use atsdb_sqlite::SqliteStore;
use atsdb_testkit::sample::Plan;
use std::process::Command;
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

/// A commit that makes the log longer waits for the disk twice. What a killed writer leaves is complete all the same.
#[test]
fn few_of_many_small_commits_make_the_log_longer() {
    const COMMITS: u64 = 80;
    let scratch = Scratch::new();
    let (link, log) = (scratch.path("link.db"), scratch.path("a.db-wal"));
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    std::os::unix::fs::symlink(scratch.path("a.db"), &link).unwrap();
    let other = reopen(&link);
    let (mut length, mut longer) = (file_bytes(&log), 0);
    for seed in 0..COMMITS {
        append(if seed % 2 == 0 { &store } else { &other }, table, &Plan::new(seed));
        let now = file_bytes(&log);
        longer += u64::from(now > length);
        length = now;
    }
    assert!(longer < COMMITS / 2, "{longer} commits");
    let copy = as_killed(&scratch);
    assert_eq!(visible(&copy, table).len() as u64, COMMITS);
    assert_eq!(copy.verify().unwrap(), []);
    drop((store, other));
    assert_eq!(visible(&scratch.open("a.db"), table).len() as u64, COMMITS);
}

/// The log then ends elsewhere than the store's last commit has left it.
#[test]
fn another_program_writes_to_the_log_and_empties_it_between_small_commits() {
    const COMMITS: u64 = 90;
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    let other = rusqlite::Connection::open(scratch.path("a.db")).unwrap();
    for seed in 0..COMMITS {
        append(&store, table, &Plan::new(seed));
        if seed % 10 == 9 {
            let mode = ["PASSIVE", "RESTART", "TRUNCATE"][(seed / 10 % 3) as usize];
            other.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
        }
        if seed % 4 == 3 {
            other.execute_batch("UPDATE atsdb_table SET name = name").unwrap();
        }
        if seed % 30 == 28 {
            let copy = as_killed(&scratch);
            assert_eq!(visible(&copy, table).len() as u64, seed + 1);
            assert_eq!(copy.verify().unwrap(), []);
        }
    }
    assert_eq!(visible(&store, table).len() as u64, COMMITS);
    assert_eq!(store.verify().unwrap(), []);
}

/// The store as its writers would leave it if they were killed now. The index of the log is not copied, so that the log
/// is read from its beginning. Another process copies, since closing a plain file drops SQLite's locks.
fn as_killed(scratch: &Scratch) -> SqliteStore {
    for ending in ["", "-wal"] {
        let (from, to) = (scratch.path(&format!("a.db{ending}")), scratch.path(&format!("copy.db{ending}")));
        assert!(Command::new("cp").args([from, to]).status().unwrap().success());
    }
    reopen(&scratch.path("copy.db"))
}
