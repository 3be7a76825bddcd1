//! A disk that is full: a clear error, nothing half there, and going on once there is room.

use crate::backups::{back_up, restore};
use crate::support::{append, assert_same, copy, hashes, memory, readings, rows, sqlite};
use atsdb_archive::{Archive, Which};
use atsdb_core::ErrorKind;
use atsdb_engine::Engine;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file system in memory, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    /// `None` where mounting is not permitted.
    #[allow(clippy::print_stderr, reason = "a test that is skipped has to say so")]
    fn new(path: &Path, bytes: u64) -> Option<Self> {
        std::fs::create_dir(path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(path);
        match mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            true => Some(Self(path.to_owned())),
            false => {
                eprintln!("skipped: mounting a tmpfs is not permitted");
                None
            }
        }
    }

    fn resize(&self, bytes: u64) {
        let options = format!("remount,size={bytes}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn source() -> Engine {
    let source = memory();
    let table = source.create_table(&readings("readings")).unwrap();
    for day in 0..12 {
        append(&source, &table, &rows(day, 60_000));
    }
    source
}

#[test]
fn a_backup_to_a_full_disk_fails_and_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Mount::new(&folder.path().join("disk"), 4 << 20) else { return };
    let (source, archive) = (source(), Archive::open(disk.0.join("backups").to_str().unwrap()).unwrap());
    let error = back_up(&source, &archive, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("make room"), "{error}");
    assert!(archive.backups().unwrap().is_empty());
    disk.resize(64 << 20);
    let report = back_up(&source, &archive, None).unwrap();
    assert!(report.chunks_written < report.chunks, "{report:?}");
    let target = memory();
    restore(&archive, &Which::Latest, &target).unwrap();
    assert_same(&source, &target);
}

#[test]
fn a_copy_to_a_full_disk_fails_and_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Mount::new(&folder.path().join("disk"), 4 << 20) else { return };
    let (source, target) = (source(), sqlite(&disk.0.join("target.db")));
    let error = copy(&source, &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(target.tables().unwrap().is_empty());
    disk.resize(128 << 20);
    copy(&source, &target).unwrap();
    assert_eq!(hashes(&source), hashes(&target));
    assert_same(&source, &target);
}
