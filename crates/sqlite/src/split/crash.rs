//! Tests: processes that end at each point between two steps, and power cuts, which also lose data that was not on
//! disk.
//!
//! A power cut is a crash after which each page file ends at the length that was last made durable. The catalogue's log
//! is then complete or, if commits do not wait for the disk, lost.

use crate::options::SqliteOptions;
use crate::split::layout::{SplitBy, SplitLayout};
use crate::store::SqliteStore;
use atsdb_core::{BatchId, Change, ChunkEntry, Durability, NewChunk, Snapshot, Store, TableId, TimeRange};
use atsdb_testkit::sample::{Plan, amended, amendment, series_table};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const NOW_MS: i64 = 1_709_294_400_000;
const STEPS: u64 = 40;
/// The number of batches that are kept.
const KEPT: u64 = 6;
const POINTS: [&str; 6] = [
    "pages are staged",
    "pages are durable",
    "catalogue is committed",
    "chunks are copied",
    "a file is retired",
    "a file is removed",
];
const COUNTS: [u32; 4] = [1, 2, 6, 17];
const LAYOUTS: [SplitBy; 2] = [SplitBy::Slice, SplitBy::Shards(2)];

fn open(path: &Path, split: SplitBy, durability: Durability) -> SqliteStore {
    let options = SqliteOptions { durability, ..SqliteOptions::default() };
    SqliteStore::open_split(path, &options, SplitLayout { split, small_chunk_bytes: 20_000 }).unwrap()
}

/// Returns the chunks of a batch, in three slices; one is small and stored in the catalogue.
fn chunks(table: TableId, batch: u64) -> Vec<NewChunk> {
    let chunk = |part: u64| {
        let page_bytes = if part == 2 { 1_000 } else { 40_000 };
        let slice = (batch + part) % 5 * 86_400;
        Plan::new(batch * 10 + part).in_slice(slice as i64).with_pages(3, page_bytes).chunk(table)
    };
    (0..4).map(chunk).collect()
}

/// The visible chunks after a step: the last batches. All but the newest have an index on their first two chunks.
fn expected(table: TableId, step: u64) -> Vec<NewChunk> {
    let batch = |batch: u64| {
        let mut chunks = chunks(table, batch);
        if batch < step {
            chunks[..2].iter_mut().for_each(|chunk| *chunk = amended(chunk, 1, 9_000));
        }
        chunks
    };
    (step.saturating_sub(KEPT - 1)..=step).flat_map(batch).collect()
}

fn find<'e>(entries: &'e [ChunkEntry], chunk: &NewChunk) -> &'e ChunkEntry {
    entries.iter().find(|entry| entry.descriptor_bytes == chunk.descriptor_bytes).expect("the chunk is there")
}

/// One change that adds a batch, in part staged, removes the oldest and amends the previous one.
fn step(store: &SqliteStore, table: TableId, step: u64) {
    let entries = store.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap();
    let mut change = Change { batch: Some(BatchId::new(step.to_string()).unwrap()), ..Change::default() };
    let mut new = chunks(table, step);
    change.add = new.split_off(1);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, new, NOW_MS).unwrap();
    change.stage = Some(stage);
    if step > 0 {
        let before = expected(table, step - 1);
        let old = before.iter().filter(|_| step >= KEPT).take(4);
        change.remove = old.map(|chunk| (table, find(&entries, chunk).id)).collect();
        for from in &before[before.len() - 4..before.len() - 2] {
            change.amend.push(amendment(find(&entries, from).id, from, &amended(from, 1, 9_000)));
        }
    }
    store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
}

/// Returns whether exactly the chunks of a step exist, bit for bit.
fn is_at(snapshot: &dyn Snapshot, table: TableId, step: u64) -> bool {
    let (entries, chunks) = (snapshot.chunks(table, TimeRange::ALL).unwrap(), expected(table, step));
    let there = |chunk: &NewChunk| {
        let entry = entries.iter().find(|entry| entry.descriptor_bytes == chunk.descriptor_bytes);
        entry.is_some_and(|entry| {
            let columns: Vec<_> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
            snapshot.read_pages(entry.id, &columns).unwrap() == chunk.pages
        })
    };
    entries.len() == chunks.len() && chunks.iter().all(there)
}

#[test]
fn a_writer_until_a_fault() {
    let Some(path) = std::env::var_os("ATSDB_TEST_STORE") else { return };
    let durability = Durability::parse(&std::env::var("ATSDB_TEST_DURABILITY").unwrap()).unwrap();
    let store = SqliteStore::open(Path::new(&path), &SqliteOptions { durability, ..SqliteOptions::default() }).unwrap();
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    for number in 0..STEPS {
        step(&store, table, number);
        fs::write(std::env::var_os("ATSDB_TEST_ACKNOWLEDGED").unwrap(), number.to_string()).unwrap();
        if number % 2 == 1 {
            while store.reclaim(1 << 20, NOW_MS).unwrap().more {}
        }
    }
}

/// Runs a writer until it has passed the point a given number of times, or to its end. Returns what it acknowledged.
fn crash(path: &Path, durability: Durability, point: &str, count: u32) -> Option<u64> {
    let beside = |ending: &str| path.with_extension(ending);
    let mut writer = Command::new(std::env::current_exe().unwrap());
    writer.args(["split::crash::a_writer_until_a_fault", "--exact", "--nocapture", "--test-threads=1"]);
    writer.env("ATSDB_TEST_STORE", path).env("ATSDB_TEST_DURABILITY", durability.name());
    writer.env("ATSDB_TEST_FAULT", format!("{point}:{count}")).env("ATSDB_TEST_SYNCED", beside("synced"));
    writer.env("ATSDB_TEST_ACKNOWLEDGED", beside("acknowledged"));
    let status = writer.stdout(std::process::Stdio::null()).status().unwrap();
    assert!(!status.success() || count > 2, "{point} was not passed {count} times");
    fs::read_to_string(beside("acknowledged")).ok().map(|step| step.parse().unwrap())
}

/// Copies a store as a power cut leaves it.
fn cut_power(path: &Path, to: &Path) {
    let synced = fs::read_to_string(path.with_extension("synced")).unwrap_or_default();
    let synced: HashMap<&str, u64> = synced
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(file, length)| (file, length.parse().unwrap()))
        .collect();
    fs::create_dir_all(to.join("pages")).unwrap();
    for name in ["atsdb.db", "atsdb.db-wal"] {
        let _ = fs::copy(path.join(name), to.join(name));
    }
    for entry in fs::read_dir(path.join("pages")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(length) = synced.get(name.strip_suffix(".pages").unwrap()) else { continue };
        let mut bytes = fs::read(path.join("pages").join(&name)).unwrap();
        bytes.truncate(*length as usize);
        fs::write(to.join("pages").join(&name), bytes).unwrap();
    }
}

/// Checks that the store is intact, and stays so when it is used again. Returns the step that it has reached.
fn check(path: &Path, case: &str) -> Option<u64> {
    let store = SqliteStore::open(path, &SqliteOptions { create: false, ..SqliteOptions::default() }).unwrap();
    assert_eq!(store.verify().unwrap(), [], "{case}");
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    let snapshot = store.snapshot().unwrap();
    let at = (0..STEPS).rev().find(|step| is_at(&*snapshot, table, *step));
    assert!(at.is_some() || snapshot.chunks(table, TimeRange::ALL).unwrap().is_empty(), "{case}: half a step");
    drop(snapshot);
    // Only leftovers are removed. Idle stages are abandoned after they have been observed as idle for a while.
    for earlier_ms in [atsdb_core::limits::EXPIRY_CONFIRM_MS, 0] {
        while store.reclaim(1 << 20, i64::MAX - earlier_ms).unwrap().more {}
    }
    assert_eq!(store.verify().unwrap(), [], "{case}");
    let pages = fs::read_dir(path.join("pages")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let (files, live) = (pages.sum::<u64>(), store.size().unwrap().total);
    assert!(files <= live * 2, "{case}: {files} bytes of page files are left of {live}");
    let next = at.map_or(0, |at| at + 1);
    step(&store, table, next);
    assert!(is_at(&*store.snapshot().unwrap(), table, next), "{case}");
    at
}

#[test]
fn a_crash_at_any_point_leaves_whole_changes() {
    let scratch = tempfile::tempdir().unwrap();
    for (split, point, count) in cases() {
        let case = format!("{split}, {point}, {count}");
        let path = scratch.path().join(case.replace([' ', ',', '='], "_"));
        let store = open(&path, split, Durability::Full);
        store.create_table(&series_table("t"), None).unwrap();
        drop(store);
        let acknowledged = crash(&path, Durability::Full, point, count);
        let cut = path.with_extension("cut");
        cut_power(&path, &cut);
        for (path, how) in [(&path, "crash"), (&cut, "power cut")] {
            let at = check(path, &format!("{case}, {how}"));
            let next = acknowledged.map_or(0, |step| step + 1);
            assert!(
                at == acknowledged || at == Some(next),
                "{case}, {how}: {acknowledged:?} was acknowledged, {at:?} is there"
            );
        }
    }
}

#[test]
fn a_power_cut_leaves_whole_changes_where_commits_do_not_wait_for_the_disk() {
    let scratch = tempfile::tempdir().unwrap();
    for (split, point, count) in cases() {
        let case = format!("{split}, {point}, {count}, no log");
        let path = scratch.path().join(case.replace([' ', ',', '='], "_"));
        let store = open(&path, split, Durability::Normal);
        store.create_table(&series_table("t"), None).unwrap();
        drop(store);
        crash(&path, Durability::Normal, point, count);
        let cut = path.with_extension("cut");
        cut_power(&path, &cut);
        // A writer that ran to its end has no log.
        let _ = fs::remove_file(cut.join("atsdb.db-wal"));
        check(&cut, &case);
    }
}

fn cases() -> impl Iterator<Item = (SplitBy, &'static str, u32)> {
    LAYOUTS
        .into_iter()
        .flat_map(|split| POINTS.into_iter().flat_map(move |point| COUNTS.map(|count| (split, point, count))))
}
