//! A full disk gives a clear error and leaves nothing incomplete. Once there is room, the work is resumed.

use crate::backups::{back_up, restore};
use crate::support::{append, assert_same, copy, hashes, memory, readings, rows, sqlite};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::ErrorKind;
use atsdb_engine::Engine;
use atsdb_testkit::disk::{SmallDisk, alone};

fn source() -> Engine {
    let source = memory();
    let table = source.create_table(&readings("readings")).unwrap();
    for day in 0..12 {
        append(&source, &table, &rows(day, 60_000));
    }
    source
}

#[test]
fn a_backup_to_a_full_disk_fails_and_succeeds_later() {
    alone("full_disk::a_backup_to_a_full_disk_fails_and_succeeds_later", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 4 << 20) else { return };
        let (source, archive) = (source(), Archive::open(disk.path().join("backups").to_str().unwrap()).unwrap());
        let error = back_up(&source, &archive, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
        assert!(archive.backups().unwrap().whole.is_empty());
        disk.resize(64 << 20);
        let report = back_up(&source, &archive, None).unwrap();
        assert!(report.chunks_written < report.chunks, "{report:?}");
        let target = memory();
        restore(&archive, &BackupSelector::Latest, &target).unwrap();
        assert_same(&source, &target);
    });
}

#[test]
fn a_copy_to_a_full_disk_fails_and_succeeds_later() {
    alone("full_disk::a_copy_to_a_full_disk_fails_and_succeeds_later", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 4 << 20) else { return };
        let (source, target) = (source(), sqlite(&disk.path().join("target.db")));
        let error = copy(&source, &target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(target.tables().unwrap().is_empty());
        disk.resize(128 << 20);
        copy(&source, &target).unwrap();
        assert_eq!(hashes(&source), hashes(&target));
        assert_same(&source, &target);
    });
}
