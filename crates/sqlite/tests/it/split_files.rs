//! Page files that are damaged, missing, of another store, or of an earlier version.

use crate::split::{page_files, plan};
use crate::support::{LAYOUTS, NOW_MS, Scratch, append, create, open, reclaim_all, reopen, visible};
use atsdb_core::{Change, ColumnId, Durability, ErrorKind, Store, TableId};
use atsdb_sqlite::{SplitBy, SplitLayout};
use atsdb_testkit::sample::{Plan, Random, amended, amendment};
use std::fs;
use std::path::{Path, PathBuf};

const COLUMNS: [ColumnId; 3] = [ColumnId(0), ColumnId(1), ColumnId(2)];

/// A closed store with a chunk in each of four page files.
fn sample(scratch: &Scratch, name: &str) -> (PathBuf, TableId) {
    let path = scratch.path(name);
    let store = open(&path, LAYOUTS[1], Durability::Full);
    let table = create(&store, "t");
    (0..4).for_each(|seed| append(&store, table, &plan(seed)));
    (path, table)
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
}

fn change(path: &Path, work: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    work(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Checks that the second chunk cannot be read, that verify reports why, and that the other chunks are readable.
fn assert_reported(path: &Path, table: TableId, why: &str) {
    let store = reopen(path);
    let snapshot = store.snapshot().unwrap();
    let entries = visible(&store, table);
    let error = snapshot.read_pages(entries[1].id, &COLUMNS).unwrap_err();
    assert!(error.to_string().contains(why) && error.to_string().contains("2.pages"), "{why}: {error}");
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NewerFormat), "{error}");
    for position in [0, 2, 3] {
        let pages = snapshot.read_pages(entries[position].id, &COLUMNS).unwrap();
        assert!(pages == plan(position as u64).chunk(table).pages);
    }
    let findings = store.verify().unwrap();
    assert_eq!(findings.len(), 1, "{why}: {findings:?}");
    assert!(findings[0].location == "chunk 2" && findings[0].problem.contains(why), "{findings:?}");
    // Writing continues and causes no further damage.
    append(&store, table, &plan(1));
    drop(snapshot);
    reclaim_all(&store);
    assert_eq!(visible(&store, table).len(), 5);
    assert_eq!(store.verify().unwrap(), findings);
}

#[test]
fn damage_is_reported_with_its_place_and_stays_local() {
    let scratch = Scratch::new();
    let (other, _) = sample(&scratch, "other");
    type Damage<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>);
    let damages: Vec<Damage<'_>> = vec![
        ("is missing", Box::new(|file| fs::remove_file(file).unwrap())),
        ("belongs to another store", Box::new(|file| copy(&other.join("pages/2.pages"), file))),
        ("has another number", Box::new(|file| copy(&file.with_file_name("3.pages"), file))),
        ("has a damaged head", Box::new(|file| change(file, |bytes| bytes[20] ^= 1))),
        ("is newer", Box::new(|file| change(file, |bytes| bytes[8] = 9))),
        ("has no block", Box::new(|file| change(file, |bytes| bytes[48] ^= 1))),
        ("has a damaged block", Box::new(|file| change(file, |bytes| bytes[70] ^= 1))),
        ("ends too early", Box::new(|file| change(file, |bytes| bytes.truncate(10)))),
        ("ends too early", Box::new(|file| change(file, |bytes| bytes.truncate(60)))),
        ("ends too early", Box::new(|file| change(file, |bytes| bytes.truncate(30_000)))),
    ];
    for (position, (why, damage)) in damages.iter().enumerate() {
        let (path, table) = sample(&scratch, &format!("store {position}"));
        damage(&path.join("pages/2.pages"));
        assert_reported(&path, table, why);
    }
}

#[test]
fn bytes_overwritten_anywhere_in_a_head_never_panic() {
    let scratch = Scratch::new();
    let (path, table) = sample(&scratch, "a");
    let file = path.join("pages/2.pages");
    let good = fs::read(&file).unwrap();
    let mut random = Random::new(8);
    for _ in 0..300 {
        let mut bytes = good.clone();
        let start = random.below(88) as usize;
        let damage = random.bytes(1 + random.clone().below(12) as usize);
        bytes[start..start + damage.len()].copy_from_slice(&damage);
        let same = bytes[..88] == good[..88];
        fs::write(&file, &bytes).unwrap();
        let store = reopen(&path);
        let snapshot = store.snapshot().unwrap();
        let read = snapshot.read_pages(visible(&store, table)[1].id, &COLUMNS);
        assert!(same || read.is_err());
        assert_eq!(store.verify().unwrap().is_empty(), same);
    }
}

#[test]
fn a_file_that_is_not_the_stores_is_reported_and_left_alone() {
    let scratch = Scratch::new();
    let (other, _) = sample(&scratch, "other");
    let (path, _) = sample(&scratch, "a");
    fs::copy(other.join("pages/3.pages"), path.join("pages/77.pages")).unwrap();
    fs::write(path.join("pages/notes.txt"), "mine").unwrap();
    fs::write(path.join("pages/078.pages"), "mine").unwrap();
    // A file of the store that the catalogue does not list, as after a power cut, is removed.
    let own = fs::read(path.join("pages/1.pages")).unwrap();
    let store = reopen(&path);
    let raw = rusqlite::Connection::open(path.join("atsdb.db")).unwrap();
    raw.execute("DELETE FROM atsdb_chunk WHERE id = 1", []).unwrap();
    raw.execute("DELETE FROM atsdb_page_file WHERE id = 1", []).unwrap();
    fs::write(path.join("pages/1.pages"), own).unwrap();
    let (lists, files): (Vec<_>, Vec<_>) =
        store.verify().unwrap().into_iter().partition(|finding| finding.location.starts_with("the list"));
    assert_eq!(lists.len(), 1, "the chunk that was forgotten: {lists:?}");
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].location.ends_with("77.pages"), "{files:?}");
    while store.reclaim(1 << 20, NOW_MS).unwrap().more {}
    let mut names: Vec<_> =
        page_files(&path).iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["078.pages", "2.pages", "3.pages", "4.pages", "77.pages", "notes.txt"]);
}

/// The chunks of the golden store: a small one, one in a page file, and one that was amended there.
fn golden_plans() -> [Plan; 3] {
    [Plan::new(1), Plan::new(2).with_pages(4, 700), Plan::new(3).in_slice(86_400).with_pages(3, 900)]
}

/// The split store of format 2 as its first version wrote it, which every later version must read.
/// `ATSDB_WRITE_GOLDEN=1` writes it if it is missing and never overwrites it.
#[test]
fn the_golden_split_store_is_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/format2/split");
    if std::env::var_os("ATSDB_WRITE_GOLDEN").is_some() && !golden.exists() {
        fs::create_dir_all(golden.parent().unwrap()).unwrap();
        let layout = SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 1_000 };
        let store = open(&golden, Some(layout), Durability::Full);
        let table = create(&store, "golden");
        golden_plans().iter().for_each(|plan| append(&store, table, plan));
        let from = golden_plans()[2].chunk(table);
        let amend = vec![amendment(visible(&store, table)[2].id, &from, &amended(&from, 1, 300))];
        store.commit(&[Change { amend, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
    }
    let scratch = Scratch::new();
    let path = scratch.path("copy");
    fs::create_dir_all(path.join("pages")).unwrap();
    fs::copy(golden.join("atsdb.db"), path.join("atsdb.db")).unwrap();
    for file in page_files(&golden) {
        fs::copy(&file, path.join("pages").join(file.file_name().unwrap())).unwrap();
    }
    let store = reopen(&path);
    let snapshot = store.snapshot().unwrap();
    let table = snapshot.tables().unwrap()[0].id;
    let mut chunks = golden_plans().map(|plan| plan.chunk(table));
    chunks[2] = amended(&chunks[2], 1, 300);
    let entries = visible(&store, table);
    assert_eq!(entries.len(), 3);
    for (entry, chunk) in entries.iter().zip(&chunks) {
        let columns: Vec<_> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
        assert_eq!(entry.descriptor_bytes, chunk.descriptor_bytes);
        assert!(snapshot.read_pages(entry.id, &columns).unwrap() == chunk.pages);
    }
    assert_eq!(store.verify().unwrap(), []);
    append(&store, table, &plan(5));
    drop(snapshot);
    reclaim_all(&store);
    assert_eq!(store.verify().unwrap(), []);
    assert_eq!(visible(&store, table).len(), 4);
}
