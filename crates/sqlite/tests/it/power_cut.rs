//! Files as a power cut leaves them, made by hand: page files that are too short, missing, without a head, or not
//! listed in the catalogue. The effects of power cuts on the store's own calls are tested in `replay`.

use crate::split::{page_files, plan, remove};
use crate::support::{LAYOUTS, NOW_MS, Scratch, append, create, file_bytes, open, reclaim_all, reopen, visible};
use atsdb_core::{BatchId, Change, CommitOutcome, Durability, NewChunk, Store, TableId};
use atsdb_sqlite::SqliteStore;
use atsdb_testkit::sample::Plan;
use std::fs::{self, File};
use std::path::Path;

/// Fresh chunks share a file.
fn fresh(seed: u64, table: TableId) -> NewChunk {
    let mut chunk = Plan::new(seed).with_pages(3, 20_000).chunk(table);
    chunk.descriptor.sealed = false;
    chunk
}

fn add(store: &SqliteStore, chunk: NewChunk) {
    store.commit(&[Change { add: vec![chunk], ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
}

fn in_catalogue(path: &Path, sql: &str) {
    rusqlite::Connection::open(path.join("atsdb.db")).unwrap().execute_batch(sql).unwrap();
}

/// A list of garbage may outlive its bytes: those of an abandoned stage are never synced, but the row that lists them
/// is, with the next commit.
#[test]
fn a_place_that_garbage_names_is_given_to_no_other_chunk() {
    type Loss = fn(&Path, u64);
    let cut: Loss = |file, synced| File::options().write(true).open(file).unwrap().set_len(synced).unwrap();
    let lose: Loss = |file, _| fs::remove_file(file).unwrap();
    for (staged_alone, lose) in [(false, cut), (true, cut), (true, lose)] {
        let scratch = Scratch::new();
        let path = scratch.path("a");
        let store = open(&path, LAYOUTS[1], Durability::Full);
        let table = create(&store, "t");
        if !staged_alone {
            add(&store, fresh(1, table));
        }
        let synced = page_files(&path).first().map_or(0, |file| file_bytes(file));
        let stage = store.open_stage(NOW_MS).unwrap();
        store.stage(stage, vec![fresh(2, table)], NOW_MS).unwrap();
        store.abandon_stage(stage).unwrap();
        create(&store, "other");
        assert_eq!(page_files(&path).len(), 1);
        drop(store);
        lose(&page_files(&path)[0], synced);
        let store = reopen(&path);
        assert_eq!(store.verify().unwrap(), []);
        add(&store, fresh(3, table));
        assert_eq!(store.verify().unwrap(), []);
        let newest = visible(&store, table).into_iter().max_by_key(|entry| entry.id).unwrap();
        let change = Change { remove: vec![(table, newest.id)], ..Change::default() };
        store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
        add(&store, fresh(4, table));
        store.drop_table(table).unwrap();
        reclaim_all(&store);
        assert_eq!(page_files(&path), Vec::<std::path::PathBuf>::new());
        assert_eq!(store.verify().unwrap(), []);
    }
}

/// A closed store of one chunk. The catalogue does not list its page file, whose number will be assigned again.
fn with_a_stray(path: &Path) -> TableId {
    let store = open(path, LAYOUTS[1], Durability::Full);
    let table = create(&store, "t");
    append(&store, table, &plan(1));
    drop(store);
    in_catalogue(
        path,
        "DELETE FROM atsdb_chunk; DELETE FROM atsdb_list WHERE table_id <> 0; DELETE FROM atsdb_page_file;
         DELETE FROM sqlite_sequence WHERE name = 'atsdb_page_file'",
    );
    table
}

#[test]
fn a_stray_that_another_process_holds_is_not_removed() {
    let scratch = Scratch::new();
    let path = scratch.path("a");
    let table = with_a_stray(&path);
    let stray = path.join("pages/1.pages");
    // A writer was given this number, holds the file, and is about to write to it.
    let holder = File::open(&stray).unwrap();
    holder.lock().unwrap();
    reclaim_all(&reopen(&path));
    assert!(stray.exists());
    holder.unlock().unwrap();
    reclaim_all(&reopen(&path));
    assert!(!stray.exists());
    let store = reopen(&path);
    append(&store, table, &plan(2));
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn nothing_is_written_to_a_file_that_was_removed() {
    let scratch = Scratch::new();
    let path = scratch.path("a");
    let store = open(&path, LAYOUTS[1], Durability::Full);
    let table = create(&store, "t");
    append(&store, table, &plan(1));
    // A stray file is removed while a writer that was given its number still has the file open.
    in_catalogue(&path, "DELETE FROM atsdb_chunk; DELETE FROM atsdb_list WHERE table_id <> 0");
    fs::remove_file(path.join("pages/1.pages")).unwrap();
    append(&store, table, &plan(1));
    let other = reopen(&path);
    assert_eq!(other.verify().unwrap(), []);
    let entries = visible(&other, table);
    let chunk = plan(1).chunk(table);
    let columns: Vec<_> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
    assert!(other.snapshot().unwrap().read_pages(entries[0].id, &columns).unwrap() == chunk.pages);
}

#[test]
fn a_file_of_the_right_length_without_a_head_is_removed() {
    let scratch = Scratch::new();
    let path = scratch.path("a");
    let table = with_a_stray(&path);
    fs::write(path.join("pages/1.pages"), vec![0; 70_000]).unwrap();
    fs::write(path.join("pages/2.pages"), [0; 48]).unwrap();
    let store = reopen(&path);
    assert_eq!(store.verify().unwrap(), []);
    reclaim_all(&store);
    assert_eq!(page_files(&path), Vec::<std::path::PathBuf>::new());
    append(&store, table, &plan(1));
    remove(&store, table, |_| true);
    assert_eq!(store.verify().unwrap(), []);
}

/// The first sender may have been killed before the batch was on disk.
#[test]
fn a_batch_that_is_sent_again_waits_for_the_disk() {
    for layout in LAYOUTS {
        let scratch = Scratch::new();
        let path = scratch.path("a");
        let log = if layout.is_some() { path.join("atsdb.db-wal") } else { scratch.path("a-wal") };
        let store = open(&path, layout, Durability::Full);
        let table = create(&store, "t");
        let send = || {
            let (batch, add) = (BatchId::new("b").unwrap(), vec![fresh(1, table)]);
            let change = Change { batch: Some(batch), add, ..Change::default() };
            store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap()
        };
        assert_eq!(send(), CommitOutcome::Committed);
        let before = file_bytes(&log);
        assert_eq!(send(), CommitOutcome::Duplicate);
        let after = file_bytes(&log);
        // A transaction that writes nothing would not wait for the disk.
        assert!(after > before, "{after} {before}");
        assert_eq!(visible(&store, table).len(), 1);
    }
}
