//! Disks without a free byte: the store can be read, and room can be made. They are small file systems in memory;
//! without permission to mount them, these tests print a message and pass.

use crate::support::{LAYOUTS, NOW_MS, Scratch, create, file_bytes, open, reopen, visible};
use atsdb_core::{Change, ColumnId, Durability, ErrorKind, Store, TableId};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::disk::{SmallDisk, alone};
use atsdb_testkit::sample::Plan;
use std::io::Write;
use std::path::{Path, PathBuf};

const CHUNKS: u64 = 40;

fn plan(seed: u64) -> Plan {
    Plan::new(seed).in_slice(seed as i64 % 4 * 86_400).with_pages(3, 60_000)
}

/// A closed store of 7 MB, whose table `kept` has one chunk, on a disk that another file has filled up.
struct FullDisk {
    _disk: SmallDisk,
    _scratch: Scratch,
    path: PathBuf,
    dropped: TableId,
    kept: TableId,
}

impl FullDisk {
    fn new(layout: usize) -> Option<Self> {
        let scratch = Scratch::new();
        let disk = SmallDisk::mount(&scratch.path("disk"), 16 << 20)?;
        let path = disk.path().join("a.db");
        let store = open(&path, LAYOUTS[layout], Durability::Full);
        let (dropped, kept) = (create(&store, "dropped"), create(&store, "kept"));
        let mut add: Vec<_> = (0..CHUNKS).map(|seed| plan(seed).chunk(dropped)).collect();
        add.push(plan(CHUNKS).chunk(kept));
        for chunk in add {
            store.commit(&[Change { add: vec![chunk], ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
        }
        drop(store);
        fill(disk.path());
        Some(Self { _disk: disk, _scratch: scratch, path, dropped, kept })
    }
}

/// Fills a disk to the last byte.
fn fill(disk: &Path) {
    let mut file = std::fs::File::options().append(true).create(true).open(disk.join("something else")).unwrap();
    let mut piece = vec![1; 1 << 20];
    while !piece.is_empty() {
        if file.write_all(&piece).is_err() {
            piece.truncate(piece.len() / 2);
        }
    }
}

fn used(path: &Path) -> u64 {
    if !path.is_dir() {
        return file_bytes(path);
    }
    std::fs::read_dir(path).unwrap().map(|entry| used(&entry.unwrap().path())).sum()
}

fn holds(store: &SqliteStore, table: TableId, seeds: std::ops::Range<u64>) {
    let snapshot = store.snapshot().unwrap();
    let entries = visible(store, table);
    assert_eq!(entries.len() as u64, seeds.end - seeds.start);
    for seed in seeds {
        let chunk = plan(seed).chunk(table);
        let entry = entries.iter().find(|entry| entry.descriptor_bytes == chunk.descriptor_bytes).unwrap();
        assert!(snapshot.read_pages(entry.id, &[ColumnId(0), ColumnId(1), ColumnId(2)]).unwrap() == chunk.pages);
    }
}

#[test]
fn a_closed_store_on_a_full_disk_is_read() {
    alone("full_disk::a_closed_store_on_a_full_disk_is_read", || {
        for layout in 0..3 {
            let Some(disk) = FullDisk::new(layout) else { return };
            for read_only in [false, true] {
                let store =
                    SqliteStore::open(&disk.path, &SqliteOptions { read_only, ..SqliteOptions::default() }).unwrap();
                assert_eq!(store.is_read_only(), read_only);
                holds(&store, disk.dropped, 0..CHUNKS);
                holds(&store, disk.kept, CHUNKS..CHUNKS + 1);
                assert_eq!(store.verify().unwrap(), []);
                let add = vec![plan(99).chunk(disk.kept)];
                let error = store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap_err();
                let expected = if read_only { ErrorKind::ReadOnly } else { ErrorKind::Unavailable };
                assert_eq!(error.kind(), expected, "{error}");
            }
        }
    });
}

#[test]
fn of_two_processes_that_read_on_a_full_disk_one_waits() {
    alone("full_disk::of_two_processes_that_read_on_a_full_disk_one_waits", || {
        let Some(disk) = FullDisk::new(0) else { return };
        let store = reopen(&disk.path);
        let hasty = SqliteOptions { busy_timeout: std::time::Duration::ZERO, ..SqliteOptions::default() };
        // The same process reuses its connection.
        holds(&SqliteStore::open(&disk.path, &hasty).unwrap(), disk.kept, CHUNKS..CHUNKS + 1);
        let mut other = crate::support::other_process("full_disk::a_hasty_reader", &disk.path, 0);
        other.stderr(std::process::Stdio::null());
        assert_eq!(other.status().unwrap().code(), Some(101), "the store was not held");
        drop(store);
        assert!(other.status().unwrap().success());
    });
}

#[test]
fn a_hasty_reader() {
    let Some((path, _)) = crate::support::as_other_process() else { return };
    let hasty = SqliteOptions { busy_timeout: std::time::Duration::ZERO, ..SqliteOptions::default() };
    SqliteStore::open(&path, &hasty).unwrap();
}

#[test]
fn on_a_full_disk_a_table_is_dropped_or_emptied_and_its_room_comes_back() {
    alone("full_disk::on_a_full_disk_a_table_is_dropped_or_emptied_and_its_room_comes_back", || {
        type MakeRoom = fn(&SqliteStore, TableId);
        let drop_table: MakeRoom = |store, table| store.drop_table(table).unwrap();
        let truncate: MakeRoom = |store, table| {
            let remove = visible(store, table).iter().map(|entry| (table, entry.id)).collect();
            store.commit(&[Change { remove, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
        };
        // Retention removes chunks one by one, after taking the lease.
        let retain: MakeRoom = |store, table| {
            for entry in visible(store, table) {
                assert!(store.acquire_lease("maintenance", "me", NOW_MS, 1_000).unwrap());
                let remove = vec![(table, entry.id)];
                store.commit(&[Change { remove, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
            }
            store.release_lease("maintenance", "me").unwrap();
        };
        for make_room in [drop_table, truncate, retain] {
            for layout in 0..4 {
                let Some(disk) = FullDisk::new(layout) else { return };
                let full = used(&disk.path);
                let store = reopen(&disk.path);
                make_room(&store, disk.dropped);
                while store.reclaim(8 << 20, NOW_MS).unwrap().more {}
                assert!(used(&disk.path) < full / 5, "layout {layout}: {} of {full} bytes are left", used(&disk.path));
                holds(&store, disk.kept, CHUNKS..CHUNKS + 1);
                let add = vec![plan(99).chunk(disk.kept)];
                store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
                drop(store);
                assert_eq!(reopen(&disk.path).verify().unwrap(), []);
            }
        }
    });
}

#[test]
fn failed_changes_on_a_full_disk_leave_no_log_behind() {
    alone("full_disk::failed_changes_on_a_full_disk_leave_no_log_behind", || {
        for layout in &LAYOUTS[..3] {
            let scratch = Scratch::new();
            let Some(disk) = SmallDisk::mount(&scratch.path("disk"), 16 << 20) else { return };
            let path = disk.path().join("a.db");
            let store = open(&path, *layout, Durability::Full);
            let table = create(&store, "t");
            let before = used(disk.path());
            let stage = store.open_stage(NOW_MS).unwrap();
            let failed = (0..200).find_map(|seed| store.stage(stage, vec![plan(seed).chunk(table)], NOW_MS).err());
            assert_eq!(failed.unwrap().kind(), ErrorKind::Unavailable);
            store.abandon_stage(stage).unwrap();
            while store.reclaim(8 << 20, NOW_MS).unwrap().more {}
            assert!(used(disk.path()) < before + (1 << 20), "{layout:?}: {} bytes are left", used(disk.path()));
        }
    });
}
