//! A backup in an earlier format is read by every later version. Its files are written once and never again.

use crate::backups::restore;
use crate::support::{hashes, memory};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_engine::ContentHash;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/archive2")
}

#[test]
fn a_backup_of_format_2_is_restored() {
    let archive = Archive::open(folder().to_str().unwrap()).unwrap();
    assert!(archive.verify().unwrap().findings.is_empty());
    let target = memory();
    let (backup, _) = restore(&archive, &BackupSelector::Latest, &target).unwrap();
    let all = hashes(&target);
    let expected = std::fs::read_to_string(folder().join("expected.txt")).unwrap();
    let mut found = format!("{} {}\n", backup.id, backup.rows);
    for table in &all {
        found.push_str(&format!("{} {} {:016x}\n", table.table, table.rows, table.hash));
    }
    found.push_str(&format!("{:016x}\n", ContentHash::of_all(&all)));
    assert_eq!(found, expected);
}

/// Writes the files if `ATSDB_WRITE_GOLDEN=1` is set. A new format gets a new folder.
#[test]
fn golden_files_are_written_on_request() {
    if std::env::var_os("ATSDB_WRITE_GOLDEN").is_none() {
        return;
    }
    let source = memory();
    crate::support::fill(&source);
    let archive = Archive::open(folder().to_str().unwrap()).unwrap();
    let report = crate::backups::back_up(&source, &archive, None).unwrap();
    let all = hashes(&source);
    let mut text = format!("{} {}\n", report.id, report.rows);
    for table in &all {
        text.push_str(&format!("{} {} {:016x}\n", table.table, table.rows, table.hash));
    }
    text.push_str(&format!("{:016x}\n", ContentHash::of_all(&all)));
    std::fs::write(folder().join("expected.txt"), text).unwrap();
    std::fs::remove_file(folder().join("lock")).unwrap();
}
