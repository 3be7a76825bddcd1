//! Backups in a directory.

use crate::support::{append, assert_same, everything, fill, hashes, memory, readings, rows};
use atsdb_archive::{Archive, BackupReport, BackupSelector, Manifest};
use atsdb_core::{ErrorKind, Result};
use atsdb_engine::{CopyOptions, CopyReport, Engine};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) fn back_up(source: &Engine, archive: &Archive, keep: Option<usize>) -> Result<BackupReport> {
    archive.write(&source.cut(&everything())?, true, keep, None)
}

pub(crate) fn restore(archive: &Archive, which: &BackupSelector, target: &Engine) -> Result<(Manifest, CopyReport)> {
    let backup = archive.backup(which)?;
    let report = target.copy_from(&archive.cut(&backup, &everything())?, &CopyOptions::default())?;
    Ok((backup, report))
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn archive_in(folder: &Path) -> Archive {
    Archive::open(folder.to_str().unwrap()).unwrap()
}

#[test]
fn backups_share_what_they_have_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backups");
    let (source, archive) = (memory(), archive_in(&path));
    let table = fill(&source);
    let first = back_up(&source, &archive, None).unwrap();
    assert_eq!(first.chunks_written, first.chunks);
    let before = hashes(&source);
    std::thread::sleep(std::time::Duration::from_millis(2));
    append(&source, &table, &rows(9, 60));
    let second = back_up(&source, &archive, None).unwrap();
    assert_eq!((second.chunks_written, second.chunks), (1, first.chunks + 1));
    assert!(second.bytes_written * 3 < second.bytes, "{second:?}");
    assert!(archive.verify().unwrap().findings.is_empty());
    // Other users may not read them.
    for file in files(&path) {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        assert_eq!(file.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    let listed = archive.backups().unwrap().whole;
    assert_eq!(
        listed.iter().map(|backup| backup.id.clone()).collect::<Vec<_>>(),
        [first.id.clone(), second.id.clone()]
    );
    let target = memory();
    assert_eq!(restore(&archive, &BackupSelector::Latest, &target).unwrap().0.id, second.id);
    assert_same(&source, &target);
    let target = memory();
    restore(&archive, &BackupSelector::Id(first.id.clone()), &target).unwrap();
    assert_eq!(hashes(&target), before);
    let target = memory();
    let (backup, _) = restore(&archive, &BackupSelector::At(listed[1].taken_ms - 1), &target).unwrap();
    assert_eq!(backup.id, first.id);
    // Restoring from one backup to the next transfers only the difference.
    let report = restore(&archive, &BackupSelector::Latest, &target).unwrap().1;
    assert_eq!((report.chunks, report.chunks_kept), (1, first.chunks));
    assert_same(&source, &target);
    let error = restore(&archive, &BackupSelector::At(listed[0].taken_ms - 1), &memory()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(restore(&archive, &BackupSelector::Id("x".to_owned()), &memory()).is_err());
}

/// If rows have equal times, the later ones come last, because chunks are ordered.
#[test]
fn many_chunks_come_back_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let (source, archive) = (memory(), archive_in(&folder.path().join("backups")));
    let table = source.create_table(&readings("readings")).unwrap();
    for batch in 0..300 {
        append(&source, &table, &rows(batch % 3, 1 + batch as usize % 7));
    }
    back_up(&source, &archive, None).unwrap();
    let target = memory();
    restore(&archive, &BackupSelector::Latest, &target).unwrap();
    let in_order = |engine: &Engine| -> Vec<Vec<u8>> {
        let mut chunks = engine.snapshot().unwrap().chunks(&engine.table("readings").unwrap()).unwrap();
        chunks.sort_by_key(|chunk| chunk.id);
        chunks.into_iter().map(|chunk| chunk.descriptor_bytes).collect()
    };
    assert_eq!(in_order(&source).len(), 300);
    assert_eq!(in_order(&source), in_order(&target));
}

#[test]
fn only_the_given_number_of_backups_and_their_objects_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backups");
    let (source, other, archive) = (memory(), memory(), archive_in(&path));
    let table = fill(&source);
    fill(&other);
    back_up(&other, &archive, None).unwrap();
    let mut states = Vec::new();
    for day in 10..16 {
        append(&source, &table, &rows(day, 50));
        source.recompress(None).unwrap();
        let report = back_up(&source, &archive, Some(2)).unwrap();
        states.push((report.id, hashes(&source)));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    // Two backups of this source, and one of the other.
    assert_eq!(archive.backups().unwrap().whole.len(), 3);
    for (id, state) in &states[4..] {
        let target = memory();
        restore(&archive, &BackupSelector::Id(id.clone()), &target).unwrap();
        assert_eq!(hashes(&target), *state);
    }
    let all: u64 = archive.backups().unwrap().whole.iter().map(|backup| backup.rows).sum();
    let most = AtomicU64::new(0);
    let on_rows = |done: u64, total: u64| {
        assert_eq!(total, all);
        most.fetch_max(done, Ordering::Relaxed);
    };
    let checked = archive.verify_watched(&on_rows).unwrap();
    assert!(checked.findings.is_empty());
    assert_eq!(most.into_inner(), all, "rows that backups share count in each");
    // Apart from the marker file and the lock, every file belongs to a backup.
    assert_eq!(files(&path).len() as u64, checked.objects + 2);
    let report = back_up(&source, &archive, Some(1)).unwrap();
    assert!(report.backups_deleted == 2 && report.objects_deleted > 0, "{report:?}");
    assert!(archive.verify().unwrap().findings.is_empty());
}

#[test]
fn damaged_and_missing_files_are_named_and_missing_ones_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backups");
    let (source, archive) = (memory(), archive_in(&path));
    fill(&source);
    back_up(&source, &archive, None).unwrap();
    for file in files(&path) {
        let name = file.strip_prefix(&path).unwrap().to_str().unwrap().to_owned();
        if ["lock", "atsdb-archive"].contains(&name.as_str()) {
            continue;
        }
        let bytes = std::fs::read(&file).unwrap();
        let mut flipped = bytes.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x10;
        for damaged in [Some(&flipped[..]), Some(&bytes[..bytes.len() - 1]), None] {
            match damaged {
                Some(bytes) => std::fs::write(&file, bytes).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            let is_manifest = name.starts_with("backups");
            if !(is_manifest && damaged.is_none()) {
                let target = memory();
                let error = restore(&archive, &BackupSelector::Latest, &target).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
                assert!(error.to_string().contains(&name), "{name}: {error}");
                assert!(target.tables().unwrap().is_empty());
                let findings = archive.verify().unwrap().findings;
                assert!(findings.iter().any(|finding| finding.location == name), "{name}: {findings:?}");
            }
            // A file that is missing or too short is written again.
            if !is_manifest && damaged.is_none_or(|damaged| damaged.len() < bytes.len()) {
                back_up(&source, &archive, None).unwrap();
                assert!(archive.verify().unwrap().findings.is_empty());
            }
            std::fs::write(&file, &bytes).unwrap();
        }
    }
    restore(&archive, &BackupSelector::Latest, &memory()).unwrap();
}

#[test]
fn one_backup_at_a_time_is_written_and_readers_are_not_blocked() {
    let folder = tempfile::tempdir().unwrap();
    let (source, archive) = (memory(), archive_in(folder.path()));
    fill(&source);
    back_up(&source, &archive, None).unwrap();
    let held = std::fs::File::options().write(true).open(folder.path().join("lock")).unwrap();
    held.lock().unwrap();
    assert_eq!(back_up(&source, &archive, None).unwrap_err().kind(), ErrorKind::Busy);
    restore(&archive, &BackupSelector::Latest, &memory()).unwrap();
    held.unlock().unwrap();
    back_up(&source, &archive, None).unwrap();
}

#[test]
fn a_folder_of_other_files_does_not_become_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter.txt"), "dear").unwrap();
    let (source, archive) = (memory(), archive_in(folder.path()));
    fill(&source);
    assert_eq!(back_up(&source, &archive, None).unwrap_err().kind(), ErrorKind::NotAStore);
    assert_eq!(archive.backup(&BackupSelector::Latest).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(Archive::open(folder.path().join("letter.txt").to_str().unwrap()).is_err());
}

#[test]
fn a_backup_is_restored_into_its_own_store_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let (source, archive) = (memory(), archive_in(folder.path()));
    let table = fill(&source);
    let before = hashes(&source);
    back_up(&source, &archive, None).unwrap();
    append(&source, &table, &rows(2, 30));
    assert_eq!(restore(&archive, &BackupSelector::Latest, &source).unwrap_err().kind(), ErrorKind::Exists);
    let backup = archive.backup(&BackupSelector::Latest).unwrap();
    let options = CopyOptions { overwrite: true, ..CopyOptions::default() };
    source.copy_from(&archive.cut(&backup, &everything()).unwrap(), &options).unwrap();
    assert_eq!(hashes(&source), before);
}
