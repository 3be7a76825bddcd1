//! Page files that are damaged, missing or somebody else's.

use crate::split::{page_files, plan};
use crate::support::{LAYOUTS, NOW_MS, Scratch, append, create, open, reclaim_all, reopen, visible};
use atsdb_core::{ColumnId, Durability, ErrorKind, Store, TableId};
use atsdb_testkit::sample::Random;
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

/// The second chunk cannot be read, verify says so and why, and the others are well.
fn is_told(path: &Path, table: TableId, why: &str) {
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
    assert!(findings[0].place == "chunk 2" && findings[0].problem.contains(why), "{findings:?}");
    // Writing goes on, and nothing is made worse.
    append(&store, table, &plan(1));
    drop(snapshot);
    reclaim_all(&store);
    assert_eq!(visible(&store, table).len(), 5);
    assert_eq!(store.verify().unwrap(), findings);
}

#[test]
fn damage_is_told_by_its_place_and_stays_local() {
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
        is_told(&path, table, why);
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
fn a_file_that_is_not_the_stores_is_told_and_left_alone() {
    let scratch = Scratch::new();
    let (other, _) = sample(&scratch, "other");
    let (path, _) = sample(&scratch, "a");
    fs::copy(other.join("pages/3.pages"), path.join("pages/77.pages")).unwrap();
    fs::write(path.join("pages/notes.txt"), "mine").unwrap();
    fs::write(path.join("pages/078.pages"), "mine").unwrap();
    // One of its own that the catalogue forgot, as a power cut may leave it, goes by itself.
    let own = fs::read(path.join("pages/1.pages")).unwrap();
    let store = reopen(&path);
    let raw = rusqlite::Connection::open(path.join("atsdb.db")).unwrap();
    raw.execute("DELETE FROM atsdb_chunk WHERE id = 1", []).unwrap();
    raw.execute("DELETE FROM atsdb_page_file WHERE id = 1", []).unwrap();
    fs::write(path.join("pages/1.pages"), own).unwrap();
    let findings = store.verify().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].place.ends_with("77.pages"), "{findings:?}");
    while store.reclaim(1 << 20, NOW_MS).unwrap().more {}
    let mut names: Vec<_> =
        page_files(&path).iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["078.pages", "2.pages", "3.pages", "4.pages", "77.pages", "notes.txt"]);
}
