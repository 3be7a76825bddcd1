//! Power cuts and kills. Histories are recorded call by call; then the disk is rebuilt as a power cut at any sync, or
//! the end of the process at any call, would leave it. Acknowledged changes must exist exactly once, no change may be
//! there in part, and the store must work without any repair.
//!
//! `ATSDB_TEST_IMAGES` sets how many images are checked, of all layouts together.

use crate::history::{Action, LAYOUTS, Subject, TableStates, apply, empty, history, is_at, resend};
use crate::support::{NOW_MS, as_other_process, other_process};
use atsdb_core::{Change, Durability, Store, TimeRange};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::lying_disk::{Disk, Event, Loss, Recorder, read_log};
use atsdb_testkit::sample::{Plan, Random};
use std::fs;
use std::io::Write;
use std::path::Path;

const STEPS: usize = 60;
const IMAGES: u64 = 2_250;
/// The number of images made of one history.
const IMAGES_OF_ONE: u64 = 250;
/// The losses of each round. With `Loss::Nothing`, only the process was killed.
const LOSSES: [Loss; 5] = [Loss::Some, Loss::Everything, Loss::Some, Loss::Later, Loss::Nothing];

/// A folder in memory, if the system has one.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

#[test]
fn a_power_cut_at_any_moment_leaves_a_store_in_one_file_whole() {
    cut_power_of_many(0);
}

#[test]
fn a_power_cut_at_any_moment_leaves_a_store_split_by_slice_whole() {
    cut_power_of_many(1);
}

#[test]
fn a_power_cut_at_any_moment_leaves_a_store_of_shards_whole() {
    cut_power_of_many(2);
}

#[test]
fn a_power_cut_takes_only_the_last_changes_where_commits_do_not_wait_for_the_disk() {
    for layout in 0..LAYOUTS.len() {
        cut_power_of_some(layout, Durability::Normal);
    }
}

fn cut_power_of_many(layout: usize) {
    cut_power_of_some(layout, Durability::Full);
}

fn cut_power_of_some(layout: usize, durability: Durability) {
    let images = std::env::var("ATSDB_TEST_IMAGES").map_or(IMAGES, |images| images.parse().unwrap());
    let images = if durability == Durability::Full { images } else { images / 3 };
    let scratch = scratch();
    let Some(recorder) = Recorder::build(scratch.path()) else { return };
    let histories = (images / LAYOUTS.len() as u64).div_ceil(IMAGES_OF_ONE);
    for seed in 1..=histories {
        let root = scratch.path().join("root");
        let log = scratch.path().join("log");
        fs::create_dir(&root).unwrap();
        let test = match durability {
            Durability::Full => "replay::a_writer_of_a_history",
            _ => "replay::a_writer_of_a_history_that_does_not_wait",
        };
        let mut writer = other_process(test, &root.join("a"), (seed * 10) as u32 + layout as u32);
        recorder.watch(&mut writer, &root, &log, None);
        assert!(writer.status().unwrap().success());
        let events = read_log(&log);
        let recorded = Recorded { events: &events, root: &root, layout, seed, steps: STEPS, durability };
        recorded.cut_power(IMAGES_OF_ONE, &scratch.path().join("image"), "");
        fs::remove_dir_all(root).unwrap();
        fs::remove_file(log).unwrap();
    }
}

#[test]
fn a_writer_of_a_history() {
    write_history(Durability::Full);
}

#[test]
fn a_writer_of_a_history_that_does_not_wait() {
    write_history(Durability::Normal);
}

fn write_history(durability: Durability) {
    let Some((path, number)) = as_other_process() else { return };
    let mut subject = Subject::new(&path, LAYOUTS[(number % 10) as usize]).with_durability(durability);
    let mut acknowledged = fs::File::create(path.with_extension("ack")).unwrap();
    for (position, action) in history(number / 10, STEPS).iter().enumerate() {
        subject.perform(action).unwrap();
        acknowledged.write_all((position + 1).to_string().as_bytes()).unwrap();
    }
}

/// Returns the state after each number of steps.
pub(crate) fn states(actions: &[Action]) -> Vec<TableStates> {
    let mut states = vec![empty()];
    for action in actions {
        let mut state = states[states.len() - 1].clone();
        apply(&mut state, action);
        states.push(state);
    }
    states
}

/// The calls that a history made.
pub(crate) struct Recorded<'a> {
    pub(crate) events: &'a [Event],
    pub(crate) root: &'a Path,
    pub(crate) layout: usize,
    pub(crate) seed: u64,
    pub(crate) steps: usize,
    pub(crate) durability: Durability,
}

impl Recorded<'_> {
    /// Makes this many images, at moments chosen by the seed, and checks each.
    pub(crate) fn cut_power(&self, images: u64, image: &Path, case: &str) {
        let actions = history(self.seed, self.steps);
        let states = states(&actions);
        let mut random = Random::new(self.seed);
        let is_moment = |event: &Event| {
            matches!(event, Event::Synced { .. } | Event::SyncFailed { .. } | Event::Mark(_) | Event::Removed { .. })
        };
        let moments: Vec<usize> = (0..self.events.len()).filter(|at| is_moment(&self.events[*at])).collect();
        // A process may be killed at any call.
        let calls: Vec<usize> = (0..self.events.len()).collect();
        let mut chosen: Vec<(usize, Loss)> = (0..images as usize)
            .map(|number| {
                let loss = LOSSES[number % LOSSES.len()];
                let among = if loss == Loss::Nothing { &calls } else { &moments };
                (among[random.below(among.len() as u64) as usize], loss)
            })
            .collect();
        chosen.sort_unstable_by_key(|(at, _)| *at);
        let (mut disk, mut acknowledged, mut done) = (Disk::new(self.root), 0, 0);
        for (at, loss) in chosen {
            // Just before a sync, or just after any other event.
            let end = if matches!(self.events[at], Event::Synced { .. }) { at } else { at + 1 };
            for event in &self.events[done..end.max(done)] {
                disk.apply(event);
                if let Event::Mark(step) = event {
                    acknowledged = step.parse().unwrap();
                }
            }
            done = done.max(end);
            fs::create_dir(image).unwrap();
            disk.cut_power(loss, &mut random, image);
            let checked = || self.check(&image.join("a"), loss, &actions, &states, acknowledged);
            let is_whole = std::panic::catch_unwind(checked).is_ok();
            let (layout, seed) = (self.layout, self.seed);
            assert!(
                is_whole,
                "{case} layout {layout}, seed {seed}, event {at}, {loss:?}, after step {acknowledged}, before {:?}",
                actions.get(acknowledged)
            );
            fs::remove_dir_all(image).unwrap();
        }
    }

    /// Opens an image as a store and checks all promises.
    fn check(&self, path: &Path, loss: Loss, actions: &[Action], states: &[TableStates], acknowledged: usize) {
        let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
        let store = match LAYOUTS[self.layout] {
            // Before the first acknowledgement there may be no store.
            None => SqliteStore::open(path, &SqliteOptions { create: acknowledged == 0, ..options }),
            Some(layout) if acknowledged == 0 => SqliteStore::open_split(path, &options, layout),
            Some(_) => SqliteStore::open(path, &options),
        };
        let store = store.unwrap();
        assert_eq!(store.verify().unwrap(), []);
        let next = (acknowledged + 1).min(actions.len());
        let is_kept = self.durability == Durability::Full || loss == Loss::Nothing;
        let oldest = if is_kept { acknowledged } else { 0 };
        let at = (oldest..=next).rev().find(|step| is_at(&store, &states[*step]));
        let at = at.expect("what is visible is neither what was acknowledged nor the step after it");
        actions[..oldest].iter().rev().take(5).for_each(|action| resend(&store, action));
        // Unfinished work is reclaimed, nothing else is, and the store can be written to and emptied.
        while store.reclaim(1 << 20, NOW_MS).unwrap().more {}
        for table in store.snapshot().unwrap().tables().unwrap() {
            let add = vec![Plan::new(1).with_pages(3, 3_000).chunk(table.id), Plan::new(2).chunk(table.id)];
            store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
            let entries = store.snapshot().unwrap().chunks(table.id, TimeRange::ALL).unwrap();
            let mut numbers: Vec<_> = entries.iter().map(|entry| entry.id).collect();
            numbers.sort_unstable();
            let remove = numbers[numbers.len() - 2..].iter().map(|number| (table.id, *number)).collect();
            store.commit(&[Change { remove, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
        }
        reclaim_all(&store);
        assert!(is_at(&store, &states[at]));
        assert_eq!(store.verify().unwrap(), []);
        for table in store.snapshot().unwrap().tables().unwrap() {
            store.drop_table(table.id).unwrap();
        }
        reclaim_all(&store);
        assert_eq!(store.verify().unwrap(), []);
        if let Ok(mut pages) = fs::read_dir(path.join("pages")) {
            assert!(pages.next().is_none(), "page files are left");
        }
    }
}

/// Reclaims everything. An idle stage is reclaimed in the second call, hours after the first.
fn reclaim_all(store: &SqliteStore) {
    for now_ms in [i64::MAX / 2, i64::MAX / 2 + 10 * 3_600_000] {
        while store.reclaim(1 << 20, now_ms).unwrap().more {}
    }
}
