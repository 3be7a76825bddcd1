//! Calls of the system that fail, each in its turn: the error is told, what is visible stays what was acknowledged, the same
//! call then succeeds, and a power cut after it all finds a whole store.
//!
//! `ATSDB_TEST_FAULTS` says how many calls of each kind are let fail at most. Reads and removals are left out.

use crate::history::{LAYOUTS, Subject, history, is_at};
use crate::replay::{Recorded, scratch, states};
use crate::support::{as_other_process, other_process};
use atsdb_core::{ErrorKind, Store};
use atsdb_testkit::lying_disk::{Event, Fault, Recorder, read_log};
use std::fs;
use std::io::Write;

pub(crate) const STEPS: usize = 30;
const FAULTS: u64 = 6;
const TRIES_MAX: usize = 4;

/// The system's numbers of errors.
const EIO: i32 = 5;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;

/// What fails, and about how many such calls a history has.
const KINDS: [(&str, i32, u64); 6] =
    [("s", EIO, 120), ("w", EIO, 600), ("w", ENOSPC, 600), ("o", EMFILE, 60), ("t", EIO, 20), ("m", ENOSPC, 2)];

#[test]
fn a_call_that_fails_is_told_and_nothing_is_lost() {
    let faults = std::env::var("ATSDB_TEST_FAULTS").map_or(FAULTS, |faults| faults.parse().unwrap());
    let scratch = scratch();
    let Some(recorder) = Recorder::build(scratch.path()) else { return };
    let mut met = 0;
    for (layout, (kinds, error, calls)) in (0..LAYOUTS.len()).flat_map(|layout| KINDS.map(|kind| (layout, kind))) {
        let step = calls.div_ceil(faults) as usize;
        for first in (1 + layout as u64..).step_by(step).take(faults as usize) {
            let (root, log) = (scratch.path().join("root"), scratch.path().join("log"));
            fs::create_dir(&root).unwrap();
            let fault = Fault { kinds, first, count: 1, error };
            let case = format!("layout {layout}, {fault:?}");
            let mut writer = other_process("faults::a_writer_that_meets_faults", &root.join("a"), 10 + layout as u32);
            recorder.watch(&mut writer, &root, &log, Some(fault));
            assert!(writer.status().unwrap().success(), "{case}");
            let events = read_log(&log);
            let is_met = events.iter().any(|event| matches!(event, Event::Failed { .. }));
            let recorded = Recorded { events: &events, root: &root, layout, seed: 1, steps: STEPS };
            recorded.cut_power(2, &scratch.path().join("image"), &case);
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

#[test]
fn a_writer_that_meets_faults() {
    let Some((path, number)) = as_other_process() else { return };
    let actions = history(number / 10, STEPS);
    let states = states(&actions);
    // A file that cannot be opened for writing at that moment SQLite opens for reading.
    let opens_fail = std::env::var("ATSDB_DISK_FAIL").is_ok_and(|fault| fault.starts_with('o'));
    let also = opens_fail.then_some(ErrorKind::ReadOnly);
    let mut subject = Subject::new(&path, LAYOUTS[(number % 10) as usize]);
    let mut acknowledged = fs::File::create(path.with_extension("ack")).unwrap();
    for (position, action) in actions.iter().enumerate() {
        let mut tries = 0;
        while let Err(error) = subject.perform(action) {
            tries += 1;
            assert!(tries < TRIES_MAX, "{action:?}: {error:?}");
            let is_told = error.kind() == ErrorKind::Unavailable || Some(error.kind()) == also;
            assert!(is_told, "{action:?}: {error:?}");
            if subject.store.is_some() {
                assert!(is_at(subject.store().unwrap(), &states[position]), "{action:?}: {error:?}");
            }
            if error.kind() == ErrorKind::ReadOnly {
                subject.store = None;
            }
        }
        acknowledged.write_all((position + 1).to_string().as_bytes()).unwrap();
    }
    let store = subject.store().unwrap();
    assert!(is_at(store, &states[actions.len()]));
    assert_eq!(store.verify().unwrap(), []);
}
