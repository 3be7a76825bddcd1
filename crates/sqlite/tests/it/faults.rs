//! Fails system calls one after another: each failure is reported, the visible rows stay those that were acknowledged,
//! a retry succeeds, and after a power cut at any moment the store is whole.
//!
//! `ATSDB_TEST_FAULTS` sets how many calls of each kind fail at most, `ATSDB_TEST_HISTORIES` in how many histories.

use crate::history::{LAYOUTS, Subject, TableStates, history, try_is_at};
use crate::replay::{Recorded, scratch, states};
use crate::support::{NOW_MS, as_other_process, other_process, reopen, visible};
use atsdb_core::{Change, Durability, Error, ErrorKind, Result, Store};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::lying_disk::{Disk, Event, Fault, Loss, Recorder, read_log};
use atsdb_testkit::sample::{Plan, Random, series_table};
use std::fs;
use std::io::Write;

pub(crate) const STEPS: usize = 30;
const FAULTS: u64 = 6;
const TRIES_MAX: usize = 4;

/// Error numbers of the system.
const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOMEM: i32 = 12;
const ENODEV: i32 = 19;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;
const ENOLCK: i32 = 37;
/// No error: the call does only half of its work.
const HALF: i32 = -1;

/// Added to the number of a layout if commits do not wait for the disk.
const UNSYNCED: u64 = 5;

/// Which calls fail with which error, and about how many such calls a history makes.
const KINDS: [(&str, i32, u64); 15] = [
    ("s", EIO, 60),
    ("w", EIO, 600),
    ("w", ENOSPC, 600),
    ("o", EMFILE, 60),
    ("t", EIO, 20),
    ("m", ENOSPC, 2),
    ("u", EIO, 6),
    ("r", EIO, 450),
    ("r", ENODEV, 450),
    ("l", ENOLCK, 350),
    ("p", ENOMEM, 6),
    ("i", EIO, 80),
    ("w", EINTR, 600),
    ("w", HALF, 600),
    ("r", HALF, 450),
];

#[test]
fn a_failing_call_is_reported_and_nothing_is_lost() {
    let faults = std::env::var("ATSDB_TEST_FAULTS").map_or(FAULTS, |faults| faults.parse().unwrap());
    let scratch = scratch();
    let Some(recorder) = Recorder::build(scratch.path()) else { return };
    let histories = std::env::var("ATSDB_TEST_HISTORIES").map_or(1, |histories| histories.parse().unwrap());
    let mut met = 0;
    let cases = (1..=histories).flat_map(|seed| (0..LAYOUTS.len()).map(move |layout| (seed, layout)));
    let cases = cases.flat_map(|case| KINDS.map(|kind| (case, kind, Durability::Full)));
    let unsynced = (0..LAYOUTS.len()).map(|layout| ((1, layout), KINDS[0], Durability::Normal));
    for ((seed, layout), (kinds, error, calls), durability) in cases.chain(unsynced) {
        let step = calls.div_ceil(faults) as usize;
        for first in (1 + layout as u64..).step_by(step).take(faults as usize) {
            let (root, log) = (scratch.path().join("root"), scratch.path().join("log"));
            fs::create_dir(&root).unwrap();
            let fault = Fault { kinds, first, count: 1, error };
            let case = format!("seed {seed}, layout {layout}, {durability:?}, {fault:?}");
            let number = layout as u32 + if durability == Durability::Full { 0 } else { UNSYNCED as u32 };
            let mut writer = other_process("faults::a_writer_that_meets_faults", &root.join("a"), seed * 10 + number);
            recorder.watch(&mut writer, &root, &log, Some(fault));
            assert!(writer.status().unwrap().success(), "{case}");
            let events = read_log(&log);
            let is_met = events.iter().any(|event| matches!(event, Event::Failed { .. }));
            let seed = u64::from(seed);
            let recorded = Recorded { events: &events, root: &root, layout, seed, steps: STEPS, durability };
            // Data that a failed sync did not write is not written by a later sync either, so more images are checked.
            let images = if kinds == "s" { 8 } else { 2 };
            recorded.cut_power(images, &scratch.path().join("image"), &case);
            fs::remove_dir_all(root).unwrap();
            fs::remove_file(log).unwrap();
            met += u64::from(is_met);
            if !is_met {
                break;
            }
        }
    }
    assert!(met > 40, "{met} calls failed");
}

/// Without the log, a commit would be durable only once its journal's name is removed from the folder, for which no
/// commit waits.
#[test]
fn a_store_that_opens_has_a_log_whatever_failed_before() {
    let scratch = scratch();
    let Some(recorder) = Recorder::build(scratch.path()) else { return };
    for (kinds, first) in
        ["u", "w", "s", "r", "t"].into_iter().flat_map(|kinds| (1..12).map(move |first| (kinds, first)))
    {
        let (root, log) = (scratch.path().join("root"), scratch.path().join("log"));
        fs::create_dir(&root).unwrap();
        let fault = Fault { kinds, first, count: 1, error: EIO };
        let mut opener = other_process("faults::a_store_is_opened_until_it_opens", &root.join("a"), 0);
        recorder.watch(&mut opener, &root, &log, Some(fault));
        assert!(opener.status().unwrap().success(), "{fault:?}");
        fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn a_store_is_opened_until_it_opens() {
    let Some((path, _)) = as_other_process() else { return };
    let mut tries = 0;
    let store = loop {
        match SqliteStore::open(&path, &SqliteOptions::default()) {
            Ok(store) => break store,
            Err(error) => require_reported(&error, &mut tries),
        }
    };
    let mode =
        || rusqlite::Connection::open(&path)?.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
    assert_eq!(mode().or_else(|_| mode()).unwrap(), "wal");
    drop(store);
}

/// The next process that opens the store does not know of the failed sync, and appends to the same files.
#[test]
fn data_of_a_failed_sync_is_made_durable_before_anything_is_acknowledged() {
    let scratch = scratch();
    let Some(recorder) = Recorder::build(scratch.path()) else { return };
    for (layout, first) in (0..LAYOUTS.len()).flat_map(|layout| (1..20).map(move |first| (layout, first))) {
        let (root, log) = (scratch.path().join("root"), scratch.path().join("log"));
        let image = scratch.path().join("image");
        fs::create_dir(&root).unwrap();
        fs::create_dir(&image).unwrap();
        let fault = Fault { kinds: "s", first, count: 1, error: EIO };
        let mut writer = other_process(
            "faults::chunks_are_added_and_after_an_error_the_store_is_reopened",
            &root.join("a"),
            layout as u32,
        );
        recorder.watch(&mut writer, &root, &log, Some(fault));
        assert!(writer.status().unwrap().success(), "{fault:?}");
        let mut disk = Disk::new(&root);
        let events = read_log(&log);
        let end = events.iter().rposition(|event| matches!(event, Event::Mark(_))).unwrap();
        events[..end].iter().for_each(|event| disk.apply(event));
        disk.cut_power(Loss::Everything, &mut Random::new(1), &image);
        let store = reopen(&image.join("a"));
        assert_eq!(store.verify().unwrap(), [], "layout {layout}, {fault:?}");
        let table = store.snapshot().unwrap().tables().unwrap()[0].id;
        assert_eq!(visible(&store, table).len(), 4, "layout {layout}, {fault:?}");
        drop(store);
        for folder in [root, image] {
            fs::remove_dir_all(folder).unwrap();
        }
        fs::remove_file(log).unwrap();
    }
}

#[test]
fn chunks_are_added_and_after_an_error_the_store_is_reopened() {
    let Some((path, layout)) = as_other_process() else { return };
    let mut subject = Subject::new(&path, LAYOUTS[layout as usize]);
    let mut tries = 0;
    let mut until_done = |work: &mut dyn FnMut(&mut Subject) -> Result<()>| {
        while let Err(error) = work(&mut subject) {
            require_reported(&error, &mut tries);
            subject.store = None;
        }
    };
    until_done(&mut |subject| subject.store()?.create_table(&series_table("t"), None).map(|_| ()));
    for seed in 0..4 {
        until_done(&mut |subject| {
            let store = subject.store()?;
            let mut chunk = Plan::new(seed).with_pages(3, 9_000).chunk(store.snapshot()?.tables()?[0].id);
            chunk.descriptor.sealed = false;
            // The chunks of an abandoned stage are not synced before a later commit.
            let stage = store.open_stage(NOW_MS)?;
            store.stage(stage, vec![chunk.clone()], NOW_MS)?;
            store.abandon_stage(stage)?;
            store.commit(&[Change { add: vec![chunk], ..Change::default() }], NOW_MS)?.remove(0).map(|_| ())
        });
    }
    fs::write(path.with_extension("ack"), "1").unwrap();
}

#[test]
fn a_writer_that_meets_faults() {
    let Some((path, number)) = as_other_process() else { return };
    let actions = history(number / 10, STEPS);
    let states = states(&actions);
    let durability = if number % 10 < UNSYNCED { Durability::Full } else { Durability::Normal };
    let layout = LAYOUTS[(number % 10 % UNSYNCED) as usize];
    let mut subject = Subject::new(&path, layout).with_durability(durability);
    let mut acknowledged = fs::File::create(path.with_extension("ack")).unwrap();
    for (position, action) in actions.iter().enumerate() {
        let mut tries = 0;
        while let Err(error) = subject.perform(action) {
            require_reported(&error, &mut tries);
            if subject.store.is_some() {
                assert!(finds(&subject, &states[position]), "{action:?}: {error:?}");
            }
            if error.kind() == ErrorKind::ReadOnly {
                subject.store = None;
            }
        }
        acknowledged.write_all((position + 1).to_string().as_bytes()).unwrap();
    }
    assert!(finds(&subject, &states[actions.len()]));
    // A call that fails during verify gives a finding. A further run of verify has none.
    let verify = |_| subject.store.as_ref().unwrap().verify().unwrap();
    assert!((0..TRIES_MAX).map(verify).any(|findings| findings.is_empty()));
}

/// Returns whether exactly this state is visible, retrying reads that fail.
fn finds(subject: &Subject, state: &TableStates) -> bool {
    let store = subject.store.as_ref().expect("it is open");
    let mut tries = 0;
    loop {
        match try_is_at(store, state) {
            Ok(is_at) => return is_at,
            Err(error) => require_reported(&error, &mut tries),
        }
    }
}

/// Panics unless the error reports that a system call failed, or if this happened too often.
fn require_reported(error: &Error, tries: &mut usize) {
    let fault = std::env::var("ATSDB_DISK_FAIL").unwrap_or_default();
    // If a file cannot be opened for writing, SQLite opens it for reading. If reading fails with EIO, SQLite reports
    // damage.
    let also = match fault.chars().next() {
        Some('o') => Some(ErrorKind::ReadOnly),
        Some('r') => Some(ErrorKind::Corrupt),
        _ => None,
    };
    assert!(error.kind() == ErrorKind::Unavailable || Some(error.kind()) == also, "{error:?}");
    *tries += 1;
    assert!(*tries < TRIES_MAX, "{error:?}");
}
