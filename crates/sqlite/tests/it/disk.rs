//! Disks that are full or cannot be written. They are small file systems in memory; without permission to mount them,
//! these tests print a message and pass.

use crate::files::refuses_writes;
use crate::rolling;
use crate::support::{LAYOUTS, NOW_MS, Scratch, append, create, open, reclaim_all, reopen, visible};
use atsdb_core::{Change, ColumnId, Durability, ErrorKind, Store};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::disk::{SmallDisk, alone};
use atsdb_testkit::sample::Plan;
use atsdb_testkit::skipped;

#[test]
fn a_full_disk_is_an_error_and_what_was_acknowledged_stays() {
    alone("disk::a_full_disk_is_an_error_and_what_was_acknowledged_stays", || {
        (0..3).for_each(fill_the_disk);
    });
}

fn fill_the_disk(layout: usize) {
    let scratch = Scratch::new();
    let Some(disk) = SmallDisk::mount(&scratch.path("disk"), 6 << 20) else { return };
    let path = disk.path().join("a.db");
    let store = open(&path, LAYOUTS[layout], Durability::Full);
    let table = create(&store, "t");
    let mut acknowledged = Vec::new();
    let mut failures = 0;
    for seed in 0..60 {
        let chunk = Plan::new(seed).with_pages(3, 60_000).chunk(table);
        let done = if seed % 2 == 0 {
            store.commit(&[Change { add: vec![chunk], ..Change::default() }], NOW_MS).map(|_| ())
        } else {
            store.open_stage(NOW_MS).and_then(|stage| {
                store.stage(stage, vec![chunk], NOW_MS)?;
                store.commit(&[Change { stage: Some(stage), ..Change::default() }], NOW_MS).map(|_| ())
            })
        };
        match done {
            Ok(()) => acknowledged.push(seed),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert!(error.to_string().contains("a.db"), "{error}");
                failures += 1;
            }
        }
    }
    assert!(failures > 10 && acknowledged.len() > 5, "{failures} {}", acknowledged.len());
    assert!(store.map_values(table, ColumnId(1), 100, &[&[b'x'; 3_000_000]]).is_err());
    let check = |store: &SqliteStore| {
        let snapshot = store.snapshot().unwrap();
        let entries = snapshot.chunks(table, atsdb_core::TimeRange::ALL).unwrap();
        assert_eq!(entries.len(), acknowledged.len());
        for (entry, seed) in entries.iter().zip(&acknowledged) {
            let chunk = Plan::new(*seed).with_pages(3, 60_000).chunk(table);
            let columns = [ColumnId(0), ColumnId(1), ColumnId(2)];
            assert!(snapshot.read_pages(entry.id, &columns).unwrap() == chunk.pages);
        }
    };
    check(&store);
    drop(store);
    let store = reopen(&path);
    check(&store);
    // With more space, writing succeeds again without any repair.
    disk.resize(100 << 20);
    append(&store, table, &Plan::new(999));
    assert_eq!(visible(&store, table).len(), acknowledged.len() + 1);
    // A stage is abandoned after it was found idle twice, some time apart.
    for earlier_ms in [atsdb_core::limits::EXPIRY_CONFIRM_MS, 0] {
        while store.reclaim(1 << 20, i64::MAX - earlier_ms).unwrap().more {}
    }
    reclaim_all(&store);
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn a_full_disk_leaves_every_change_whole() {
    alone("disk::a_full_disk_leaves_every_change_whole", || {
        (0..3).for_each(fill_the_disk_with_changes);
    });
}

fn fill_the_disk_with_changes(layout: usize) {
    let scratch = Scratch::new();
    let Some(disk) = SmallDisk::mount(&scratch.path("disk"), 6 << 20) else { return };
    let path = disk.path().join("a.db");
    let store = open(&path, LAYOUTS[layout], Durability::Full);
    rolling::begin(&store);
    let (mut last, mut failures) = (1, 0);
    for _ in 0..60 {
        match rolling::step(&store) {
            Ok(step) => last = step,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                failures += 1;
            }
        }
        assert_eq!(rolling::check(&store), last);
    }
    assert!(failures > 10 && last > 5, "{failures} {last}");
    drop(store);
    let store = reopen(&path);
    assert_eq!(rolling::check(&store), last);
    disk.resize(100 << 20);
    assert_eq!(rolling::step(&store).unwrap(), last + 1);
    // A stage is abandoned after it was found idle twice, some time apart.
    for earlier_ms in [atsdb_core::limits::EXPIRY_CONFIRM_MS, 0] {
        while store.reclaim(1 << 20, i64::MAX - earlier_ms).unwrap().more {}
    }
    assert_eq!(rolling::check(&store), last + 1);
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn a_store_on_a_read_only_disk_is_read_without_lock_files() {
    (0..2).for_each(read_a_read_only_disk);
}

fn read_a_read_only_disk(layout: usize) {
    let scratch = Scratch::new();
    let Some(disk) = SmallDisk::mount(&scratch.path("disk"), 6 << 20) else { return };
    let path = disk.path().join("a b%41.db");
    let store = open(&path, LAYOUTS[layout], Durability::Full);
    let table = create(&store, "t");
    append(&store, table, &Plan::new(1));
    drop(store);
    assert!(disk.make_read_only());
    for read_only in [false, true] {
        let options = SqliteOptions { read_only, ..SqliteOptions::default() };
        let store = SqliteStore::open(&path, &options).unwrap();
        assert!(store.is_read_only());
        refuses_writes(&store, table);
        // The hint names the option only to callers that use it.
        let error = store.drop_table(table).unwrap_err();
        let expected = if read_only { "without --read-only" } else { "the disk is mounted read-only" };
        assert!(error.hint().is_some_and(|hint| hint.contains(expected)), "{error:?}");
        assert_eq!(visible(&store, table).len(), 1);
        assert_eq!(store.verify().unwrap(), []);
    }
    let error = SqliteStore::open(&disk.path().join("new.db"), &SqliteOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::ReadOnly), "{error}");
}

#[test]
fn a_file_without_permission_is_read_or_refused() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let path = scratch.path("a.db");
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    append(&store, table, &Plan::new(1));
    drop(store);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::set_permissions(scratch.path("."), PermissionsExt::from_mode(0o555)).unwrap();
    let root = std::fs::write(scratch.path("probe"), b"").is_ok();
    if root {
        return skipped("permissions mean nothing to this user");
    }
    let store = SqliteStore::open(&path, &SqliteOptions::default()).unwrap();
    assert!(store.is_read_only());
    refuses_writes(&store, table);
    assert_eq!(visible(&store, table).len(), 1);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    let error = SqliteStore::open(&path, &SqliteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    std::fs::set_permissions(scratch.path("."), PermissionsExt::from_mode(0o755)).unwrap();
}
