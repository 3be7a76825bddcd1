//! Split stores: existing files at the path, slices that are removed with their files, and readers that are not
//! disturbed.

use crate::support::{
    LAYOUTS, NOW_MS, Scratch, append, as_other_process, create, file_bytes, open, other_process, reclaim_all, reopen,
    visible,
};
use atsdb_core::{Change, ColumnId, Durability, ErrorKind, Snapshot, Store, TableId, TimeRange};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, amended, amendment};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const COLUMNS: [ColumnId; 3] = [ColumnId(0), ColumnId(1), ColumnId(2)];

/// A chunk of 60,000 bytes in its own slice.
pub(crate) fn plan(seed: u64) -> Plan {
    Plan::new(seed).in_slice(seed as i64 * 86_400).with_pages(3, 20_000)
}

pub(crate) fn page_files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(path.join("pages")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn by_slice(scratch: &Scratch) -> SqliteStore {
    open(&scratch.path("a"), LAYOUTS[1], Durability::Full)
}

pub(crate) fn remove(store: &dyn Store, table: TableId, wanted: impl Fn(i64) -> bool) {
    let entries = visible(store, table);
    let remove = entries.iter().filter(|entry| wanted(entry.slice_start)).map(|entry| (table, entry.id)).collect();
    store.commit(&[Change { remove, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
}

fn reads(snapshot: &dyn Snapshot, table: TableId, seeds: std::ops::Range<u64>) {
    let entries = snapshot.chunks(table, TimeRange::ALL).unwrap();
    assert_eq!(entries.len() as u64, seeds.end - seeds.start);
    for (entry, seed) in entries.iter().zip(seeds) {
        assert!(snapshot.read_pages(entry.id, &COLUMNS).unwrap() == plan(seed).chunk(table).pages, "{seed}");
    }
}

#[test]
fn a_directory_is_recognised_and_another_layout_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("a");
    let options = SqliteOptions::default();
    let slices = SplitLayout::new(SplitBy::Slice);
    let store = SqliteStore::open_split(&path, &options, slices).unwrap();
    let table = create(&store, "t");
    append(&store, table, &plan(1));
    assert_eq!(store.url(), format!("sqlite:{}?split=slice", path.display()));
    assert_eq!(reopen(&path).uid(), store.uid());
    assert_eq!(reopen(&path).url(), store.url());
    assert_eq!(visible(&reopen(&path), table).len(), 1);
    let refusal = |path: &Path, layout: Option<SplitLayout>, options: &SqliteOptions| {
        let opened = match layout {
            Some(layout) => SqliteStore::open_split(path, options, layout),
            None => SqliteStore::open(path, options),
        };
        let error = opened.expect_err("it is refused");
        (error.kind(), error.to_string())
    };
    let shards = |count| Some(SplitLayout::new(SplitBy::Shards(count)));
    let (kind, message) = refusal(&path, shards(4), &options);
    assert_eq!(kind, ErrorKind::Usage);
    assert!(message.contains("split=slice") && message.contains("shards=4"), "{message}");
    // A catalogue alone is not a store, a file is not a directory, and a directory of other files is left alone.
    let (kind, message) = refusal(&path.join("atsdb.db"), None, &options);
    assert_eq!(kind, ErrorKind::NotAStore);
    assert!(message.contains("catalogue"), "{message}");
    create(&scratch.open("single.db"), "t");
    assert_eq!(refusal(&scratch.path("single.db"), Some(slices), &options).0, ErrorKind::NotAStore);
    std::fs::create_dir(scratch.path("mine")).unwrap();
    std::fs::write(scratch.path("mine/letter.txt"), "x").unwrap();
    assert_eq!(refusal(&scratch.path("mine"), Some(slices), &options).0, ErrorKind::NotAStore);
    assert_eq!(refusal(&scratch.path("mine"), None, &options).0, ErrorKind::NotAStore);
    assert_eq!(std::fs::read_dir(scratch.path("mine")).unwrap().count(), 1);
    std::fs::create_dir(scratch.path("mixed")).unwrap();
    create(&scratch.open("mixed/atsdb.db"), "t");
    assert_eq!(refusal(&scratch.path("mixed"), Some(slices), &options).0, ErrorKind::NotAStore);
    let careful = SqliteOptions { create: false, ..SqliteOptions::default() };
    assert_eq!(refusal(&scratch.path("none"), Some(slices), &careful).0, ErrorKind::NotFound);
    assert_eq!(refusal(&scratch.path("no/none"), Some(slices), &options).0, ErrorKind::NotFound);
    assert!(!scratch.path("none").exists());
    // An empty directory becomes a store.
    std::fs::create_dir(scratch.path("empty")).unwrap();
    create(&SqliteStore::open_split(&scratch.path("empty"), &options, slices).unwrap(), "t");
    assert_eq!(reopen(&scratch.path("empty")).snapshot().unwrap().tables().unwrap().len(), 1);
}

#[test]
fn only_the_owner_can_access_files() {
    let scratch = Scratch::new();
    let store = by_slice(&scratch);
    let table = create(&store, "t");
    append(&store, table, &plan(1));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = scratch.path("a");
    assert_eq!((mode(&path), mode(&path.join("pages")), mode(&path.join("atsdb.db"))), (0o700, 0o700, 0o600));
    assert_eq!(page_files(&path).iter().map(|file| mode(file)).collect::<Vec<_>>(), [0o600]);
}

#[test]
fn dropping_a_slice_removes_its_file() {
    let scratch = Scratch::new();
    let store = by_slice(&scratch);
    let table = create(&store, "t");
    (0..6).for_each(|seed| append(&store, table, &plan(seed)));
    let files = page_files(&scratch.path("a"));
    assert_eq!(files.len(), 6);
    let before = store.size().unwrap().total;
    remove(&store, table, |slice_start| slice_start < 2 * 86_400);
    assert!(store.size().unwrap().total < before - 2 * 60_000);
    let reclaimed = store.reclaim(1 << 20, NOW_MS).unwrap();
    assert_eq!((reclaimed.byte_count > 120_000, reclaimed.more), (true, false));
    assert_eq!(page_files(&scratch.path("a")), files[2..]);
    reads(&*store.snapshot().unwrap(), table, 2..6);
    store.drop_table(table).unwrap();
    reclaim_all(&store);
    assert_eq!(page_files(&scratch.path("a")), Vec::<PathBuf>::new());
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn a_refused_change_leaves_no_pages() {
    let scratch = Scratch::new();
    let store = by_slice(&scratch);
    let table = create(&store, "t");
    append(&store, table, &plan(1));
    let bytes = || page_files(&scratch.path("a")).iter().map(|file| file_bytes(file)).sum::<u64>();
    let before = bytes();
    let chunk = plan(1).chunk(table);
    let missing = vec![(table, visible(&store, table)[0].id), (table, atsdb_core::ChunkId(99))];
    let change = Change { add: vec![chunk.clone()], remove: missing, ..Change::default() };
    assert_eq!(store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(bytes(), before);
    // A batch that is sent twice, and a stage that does not exist.
    let batch = Some(atsdb_core::BatchId::new("b").unwrap());
    for _ in 0..2 {
        let change = Change { batch: batch.clone(), add: vec![chunk.clone()], ..Change::default() };
        store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
    }
    assert!(store.stage(atsdb_core::StageId(99), vec![chunk], NOW_MS).is_err());
    assert!(bytes() < before * 2, "{} {before}", bytes());
    assert_eq!(visible(&store, table).len(), 2);
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn the_rest_of_a_file_of_garbage_is_moved_and_the_file_removed() {
    let scratch = Scratch::new();
    let path = scratch.path("a");
    let store = open(&path, LAYOUTS[2], Durability::Full);
    let table = create(&store, "t");
    (0..10).for_each(|seed| append(&store, table, &plan(seed)));
    let bytes = || page_files(&path).iter().map(|file| file_bytes(file)).sum::<u64>();
    let (files, full) = (page_files(&path), bytes());
    let held = store.snapshot().unwrap();
    remove(&store, table, |slice_start| slice_start < 9 * 86_400);
    reclaim_all(&store);
    // The snapshot needs the old files; the remaining chunk has already been moved.
    assert!(files.iter().all(|file| file.exists()));
    reads(&*held, table, 0..10);
    reads(&*store.snapshot().unwrap(), table, 9..10);
    drop(held);
    reclaim_all(&store);
    assert!(bytes() < full / 3, "{} of {full} bytes are left", bytes());
    reads(&*store.snapshot().unwrap(), table, 9..10);
    assert_eq!(store.verify().unwrap(), []);
    // A moved chunk can be amended.
    let chunk = plan(9).chunk(table);
    let amend = vec![amendment(visible(&store, table)[0].id, &chunk, &amended(&chunk, 1, 500))];
    store.commit(&[Change { amend, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
    assert_eq!(store.verify().unwrap(), []);
}

/// Chunks of open stages stay where they are, and their files with them.
#[test]
fn chunks_are_not_moved_to_and_fro_between_files_that_stages_keep() {
    let scratch = Scratch::new();
    let store = by_slice(&scratch);
    let table = create(&store, "t");
    let add = |seed: u64| {
        let mut chunk = Plan::new(seed).with_pages(3, 20_000).chunk(table);
        chunk.descriptor.sealed = false;
        chunk
    };
    let fill = |first: u64| {
        for seed in first..first + 6 {
            store.commit(&[Change { add: vec![add(seed)], ..Change::default() }], NOW_MS).unwrap();
        }
        let stage = store.open_stage(NOW_MS).unwrap();
        store.stage(stage, vec![add(first + 6)], NOW_MS).unwrap();
    };
    fill(10);
    // Meanwhile another writer has locked the first file.
    let held = std::fs::File::open(scratch.path("a/pages/1.pages")).unwrap();
    held.lock().unwrap();
    fill(20);
    held.unlock().unwrap();
    assert_eq!(page_files(&scratch.path("a")).len(), 2);
    let kept: Vec<_> = visible(&store, table).iter().map(|entry| entry.id).step_by(6).collect();
    let gone = visible(&store, table).into_iter().filter(|entry| !kept.contains(&entry.id));
    store
        .commit(&[Change { remove: gone.map(|entry| (table, entry.id)).collect(), ..Change::default() }], NOW_MS)
        .unwrap()
        .remove(0)
        .unwrap();
    let steps = (0..20).take_while(|_| store.reclaim(1 << 16, NOW_MS).unwrap().more).count();
    assert!(steps < 10, "{steps} steps were not enough");
    assert_eq!(visible(&store, table).len(), 2);
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn a_reader_in_another_process_keeps_what_it_sees() {
    let scratch = Scratch::new();
    let path = scratch.path("a");
    let store = by_slice(&scratch);
    let table = create(&store, "t");
    (0..8).for_each(|seed| append(&store, table, &plan(seed)));
    let mut reader = other_process("split::a_reader_of_a_snapshot", &path, 0).spawn().unwrap();
    wait_for(&scratch.path("a.holds"));
    remove(&store, table, |_| true);
    for seed in 10..20 {
        reclaim_all(&store);
        append(&store, table, &plan(seed));
    }
    // The reader has not read any page yet: it opens the files only now.
    std::fs::write(scratch.path("a.read"), "").unwrap();
    assert!(reader.wait().unwrap().success());
    reclaim_all(&store);
    assert_eq!(page_files(&path).len(), 10);
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn a_reader_of_a_snapshot() {
    let Some((path, _)) = as_other_process() else { return };
    let store = reopen(&path);
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    let snapshot = store.snapshot().unwrap();
    std::fs::write(path.with_extension("holds"), "").unwrap();
    wait_for(&path.with_extension("read"));
    reads(&*snapshot, table, 0..8);
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(300), "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn readers_that_overlap_do_not_keep_files_for_ever() {
    let scratch = Scratch::new();
    let store = by_slice(&scratch);
    let table = create(&store, "t");
    append(&store, table, &plan(0));
    let mut held = store.snapshot().unwrap();
    remove(&store, table, |_| true);
    // At any time there is a reader, but none reads from before the removal until the end.
    for seed in 1..6 {
        append(&store, table, &plan(seed));
        let next = store.snapshot().unwrap();
        drop(std::mem::replace(&mut held, next));
        append(&store, table, &plan(100 + seed));
        reclaim_all(&store);
        let entries = held.chunks(table, TimeRange::ALL).unwrap();
        assert_eq!(entries.len() as u64, 2 * seed - 1);
        assert!(entries.iter().all(|entry| held.read_pages(entry.id, &COLUMNS).is_ok()));
    }
    assert!(!scratch.path("a/pages/1.pages").exists());
}

#[test]
fn a_copy_of_the_directory_is_the_store() {
    let scratch = Scratch::new();
    let store = by_slice(&scratch);
    let table = create(&store, "t");
    (0..5).for_each(|seed| append(&store, table, &plan(seed)));
    drop(store);
    let copied = std::process::Command::new("cp").arg("-r").arg(scratch.path("a")).arg(scratch.path("b")).status();
    assert!(copied.unwrap().success());
    let copy = reopen(&scratch.path("b"));
    reads(&*copy.snapshot().unwrap(), table, 0..5);
    append(&copy, table, &plan(5));
    assert_eq!(copy.verify().unwrap(), []);
    assert_eq!(visible(&reopen(&scratch.path("a")), table).len(), 5);
}

#[test]
fn five_thousand_slices_keep_few_files_open() {
    let scratch = Scratch::new();
    let store = open(&scratch.path("a"), LAYOUTS[1], Durability::Off);
    let table = create(&store, "t");
    drop(store);
    let mut writer = other_process("split::a_writer_of_many_slices", &scratch.path("a"), 5_000).spawn().unwrap();
    assert!(writer.wait().unwrap().success());
    let store = reopen(&scratch.path("a"));
    assert_eq!(visible(&store, table).len(), 5_000);
    assert!(page_files(&scratch.path("a")).len() > 4_000);
}

#[test]
fn a_writer_of_many_slices() {
    let Some((path, count)) = as_other_process() else { return };
    let store = open(&path, LAYOUTS[1], Durability::Off);
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let small = |seed: u64| Plan::new(seed).in_slice(seed as i64 * 86_400).with_pages(3, 500);
    for first in (0..count).step_by(20) {
        let add = (first..first + 20).map(|seed| small(seed).chunk(table)).collect();
        store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
        assert!(open_files() < 150, "{} files are open", open_files());
    }
    let snapshot = store.snapshot().unwrap();
    for (entry, seed) in snapshot.chunks(table, TimeRange::ALL).unwrap().iter().zip(0..) {
        assert!(snapshot.read_pages(entry.id, &COLUMNS).unwrap() == small(seed).chunk(table).pages);
        assert!(open_files() < 150, "{} files are open", open_files());
    }
    // One batch over more slices than files that may be held at once.
    let add = (0..500).map(|seed| small(10_000 + seed).chunk(table)).collect();
    store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
    assert!(open_files() < 150, "{} files are open", open_files());
    remove(&store, table, |slice_start| slice_start >= 10_000 * 86_400);
}
