//! Creating a store: a process that is killed while it creates one leaves no file, or a whole store.

use crate::replay::scratch;
use crate::support::{LAYOUTS, as_other_process, open, other_process, reopen};
use atsdb_core::{Durability, ErrorKind, Store};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::lying_disk::{Event, Fault, Recorder, read_log};
use rusqlite::Connection;
use std::fs;
use std::path::Path;

/// The calls that change files, and reads, because SQLite begins and ends its work with reads. Errno 0 kills the
/// process.
const KINDS: &str = "owtsumnr";

fn read_only(path: &Path) -> atsdb_core::Result<SqliteStore> {
    SqliteStore::open(path, &SqliteOptions { read_only: true, ..SqliteOptions::default() })
}

/// Kills a process that creates a store before its first call, then before its second, and so on, and checks what each
/// leaves.
fn kill_at_each_call(layout: usize, prepare: impl Fn(&Path), check: impl Fn(&Path, &str)) {
    let scratch = scratch();
    let Some(recorder) = Recorder::build(scratch.path()) else { return };
    let (root, log) = (scratch.path().join("root"), scratch.path().join("log"));
    for first in 1.. {
        assert!(first < 1_000, "a new store takes thousands of calls");
        fs::create_dir(&root).unwrap();
        let path = root.join("a");
        prepare(&path);
        let fault = Fault { kinds: KINDS, first, count: 1, error: 0 };
        let mut maker = other_process("creation::a_process_that_makes_a_store", &path, layout as u32);
        recorder.watch(&mut maker, &root, &log, Some(fault));
        let status = maker.status().unwrap();
        let is_met = read_log(&log).iter().any(|event| matches!(event, Event::Failed { .. }));
        assert_eq!(status.success(), !is_met);
        check(&path, &format!("layout {layout}, killed at call {first}"));
        let store = open(&path, LAYOUTS[layout], Durability::Full);
        assert_eq!(store.verify().unwrap(), [], "killed at call {first}");
        drop(store);
        assert_eq!(reopen(&path).verify().unwrap(), [], "killed at call {first}");
        fs::remove_dir_all(&root).unwrap();
        fs::remove_file(&log).unwrap();
        if !is_met {
            assert!(first > 5, "{first} calls");
            return;
        }
    }
}

#[test]
fn a_process_that_makes_a_store() {
    let Some((path, number)) = as_other_process() else { return };
    drop(open(&path, LAYOUTS[number as usize], Durability::Full));
}

#[test]
fn a_store_appears_whole_or_not_at_all() {
    for layout in 0..2 {
        let check = |path: &Path, case: &str| match read_only(path) {
            Ok(store) => assert_eq!(store.verify().unwrap(), [], "{case}"),
            // A folder without a catalogue counts as empty: the next attempt to create the store continues in it.
            Err(error) if layout == 1 && path.exists() => assert_eq!(error.kind(), ErrorKind::NotAStore, "{case}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{case}: {error}");
                assert!(!path.exists(), "{case}");
            }
        };
        kill_at_each_call(layout, |_| (), check);
    }
}

#[test]
fn an_empty_file_becomes_a_store_or_stays_empty() {
    let prepare = |path: &Path| fs::write(path, "").unwrap();
    let check = |path: &Path, case: &str| match read_only(path) {
        Ok(store) => assert_eq!(store.verify().unwrap(), [], "{case}"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::NotAStore, "{case}: {error}"),
    };
    kill_at_each_call(0, prepare, check);
}

#[test]
fn two_processes_that_make_one_store_find_the_same() {
    let scratch = scratch();
    for number in 0..20 {
        let path = scratch.path().join(format!("{number}"));
        let uids = std::thread::scope(|scope| {
            let makers = [0; 4].map(|_| scope.spawn(|| open(&path, None, Durability::Off).uid()));
            makers.map(|maker| maker.join().unwrap())
        });
        assert_eq!(uids, [uids[0]; 4]);
        // If several processes close a store at the same moment, it may be that none of them is the last one, which
        // removes the log.
        assert_eq!(open(&path, None, Durability::Off).uid(), uids[0]);
    }
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 20, "nothing stays beside the stores");
}

#[test]
fn a_new_store_has_a_write_ahead_log_from_its_first_byte_on() {
    let scratch = scratch();
    let path = scratch.path().join("a");
    drop(open(&path, None, Durability::Full));
    let sqlite = Connection::open(&path).unwrap();
    let mode: String = sqlite.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let check: String = sqlite.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
