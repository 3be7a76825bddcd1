//! Copies, backups and restores that are killed while they run: nothing incomplete becomes visible, and finished work
//! is used.

use crate::backups::restore;
use crate::support::{
    append, as_other_process, assert_same, copy, engine, everything, memory, other_process, readings, rows, split,
    sqlite,
};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_engine::{CopyOptions, Engine, ProgressCallback};
use atsdb_testkit::clock::wait_until;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A store of several megabytes, with many chunks.
fn source(folder: &Path) -> Engine {
    let source = sqlite(&folder.join("source.db"));
    if source.tables().unwrap().is_empty() {
        let table = source.create_table(&readings("readings")).unwrap();
        for day in 0..24 {
            append(&source, &table, &rows(day, 80_000));
        }
    }
    source
}

/// Creates a file once some of the work is done, then waits until it is killed.
fn slow(folder: &Path) -> ProgressCallback {
    let folder = folder.to_owned();
    Arc::new(move |progress| {
        if progress.bytes > 8 << 20 {
            std::fs::write(folder.join("begun"), "").unwrap();
            std::thread::sleep(Duration::from_secs(600));
        }
        Ok(())
    })
}

fn kill_in_the_middle(test: &str, folder: &Path) {
    let mut child = other_process(test, folder).spawn().unwrap();
    wait_until("the work has begun", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        folder.join("begun").exists()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(folder.join("begun")).unwrap();
}

#[test]
fn a_killed_copy_shows_nothing_and_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    kill_in_the_middle("kills::a_copy_until_killed", folder.path());
    let target = sqlite(&folder.path().join("target.db"));
    assert!(target.tables().unwrap().is_empty());
    // The source changes meanwhile, so some of the transferred chunks are no longer needed.
    source.recompress(None).unwrap();
    append(&source, &source.table("readings").unwrap(), &rows(3, 10));
    copy(&source, &target).unwrap();
    assert_same(&source, &target);
    assert!(target.store().stages().unwrap().is_empty());

    // If the source does not change, all of them are used.
    let folder = tempfile::tempdir().unwrap();
    let source = self::source(folder.path());
    kill_in_the_middle("kills::a_copy_until_killed", folder.path());
    let target = sqlite(&folder.path().join("target.db"));
    let report = copy(&source, &target).unwrap();
    assert!(report.chunks_resumed >= 4 && report.chunks >= 4, "{report:?}");
    assert_eq!(report.chunks_resumed + report.chunks, source.stats(None).unwrap()[0].chunks);
    assert_same(&source, &target);
}

#[test]
fn a_copy_until_killed() {
    let Some(folder) = as_other_process() else { return };
    let target = sqlite(&folder.join("target.db"));
    let options = CopyOptions { on_progress: Some(slow(&folder)), ..CopyOptions::default() };
    target.copy_from(&source(&folder).cut(&everything()).unwrap(), &options).unwrap();
}

#[test]
fn a_killed_update_of_a_copy_leaves_the_cut_before() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    let target = sqlite(&folder.path().join("target.db"));
    copy(&source, &target).unwrap();
    let before = crate::support::hashes(&target);
    source.recompress(None).unwrap();
    append(&source, &source.table("readings").unwrap(), &rows(3, 10));
    kill_in_the_middle("kills::a_copy_until_killed", folder.path());
    assert_eq!(crate::support::hashes(&target), before);
    assert!(target.verify(None).unwrap().findings.is_empty());
    let report = copy(&source, &target).unwrap();
    assert!(report.chunks_resumed >= 4, "{report:?}");
    assert_same(&source, &target);
}

#[test]
fn a_killed_backup_is_not_listed_and_its_objects_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    kill_in_the_middle("kills::a_backup_until_killed", folder.path());
    let archive = Archive::open(folder.path().join("backups").to_str().unwrap()).unwrap();
    assert!(archive.backups().unwrap().whole.is_empty());
    let report = archive.write(&source.cut(&everything()).unwrap(), true, Some(1), None).unwrap();
    assert!(report.chunks_written + 4 <= report.chunks, "{report:?}");
    let target = memory();
    restore(&archive, &BackupSelector::Latest, &target).unwrap();
    assert_same(&source, &target);
}

#[test]
fn a_backup_until_killed() {
    let Some(folder) = as_other_process() else { return };
    let archive = Archive::open(folder.join("backups").to_str().unwrap()).unwrap();
    archive.write(&source(&folder).cut(&everything()).unwrap(), false, None, Some(&slow(&folder))).unwrap();
}

#[test]
fn a_killed_restore_shows_nothing_and_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    let archive = Archive::open(folder.path().join("backups").to_str().unwrap()).unwrap();
    archive.write(&source.cut(&everything()).unwrap(), false, None, None).unwrap();
    kill_in_the_middle("kills::a_restore_until_killed", folder.path());
    let target = sqlite(&folder.path().join("target.db"));
    assert!(target.tables().unwrap().is_empty());
    let (_, report) = restore(&archive, &BackupSelector::Latest, &target).unwrap();
    assert!(report.chunks_resumed >= 4, "{report:?}");
    assert_same(&source, &target);
}

#[test]
fn a_restore_until_killed() {
    let Some(folder) = as_other_process() else { return };
    let archive = Archive::open(folder.join("backups").to_str().unwrap()).unwrap();
    let target = sqlite(&folder.join("target.db"));
    let options = CopyOptions { on_progress: Some(slow(&folder)), ..CopyOptions::default() };
    let backup = archive.backup(&BackupSelector::Latest).unwrap();
    target.copy_from(&archive.cut(&backup, &everything()).unwrap(), &options).unwrap();
}

#[test]
fn a_copy_that_ended_with_an_error_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    let target = engine(sqlite(&folder.path().join("target.db")).store().clone());
    let stop: ProgressCallback = Arc::new(|progress| match progress.bytes > 8 << 20 {
        true => Err(atsdb_core::Error::new(atsdb_core::ErrorKind::Interrupted, "interrupted")),
        false => Ok(()),
    });
    let options = CopyOptions { on_progress: Some(stop), ..CopyOptions::default() };
    let error = target.copy_from(&source.cut(&everything()).unwrap(), &options).unwrap_err();
    assert_eq!(error.kind(), atsdb_core::ErrorKind::Interrupted);
    assert!(target.tables().unwrap().is_empty());
    assert!(copy(&source, &target).unwrap().chunks_resumed >= 4);
    assert_same(&source, &target);
}

/// The data of a stage is not made durable before its commit: a power cut may lose pages that the catalogue lists.
#[test]
fn staged_pages_that_are_lost_are_moved_again() {
    for verify in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path());
        let path = folder.path().join("target");
        let stop: ProgressCallback = Arc::new(|progress| match progress.bytes > 8 << 20 {
            true => Err(atsdb_core::Error::new(atsdb_core::ErrorKind::Interrupted, "interrupted")),
            false => Ok(()),
        });
        let options = CopyOptions { on_progress: Some(stop), ..CopyOptions::default() };
        split(&path).copy_from(&source.cut(&everything()).unwrap(), &options).unwrap_err();
        let pages = crate::backups::files(&path.join("pages"));
        assert!(pages.len() >= 4, "{pages:?}");
        // Of some files, the length was written and the bytes were not.
        for file in &pages[..2] {
            let length = std::fs::metadata(file).unwrap().len() as usize;
            std::fs::write(file, vec![0; length]).unwrap();
        }
        let target = split(&path);
        let options = CopyOptions { verify, ..CopyOptions::default() };
        let report = target.copy_from(&source.cut(&everything()).unwrap(), &options).unwrap();
        assert!(report.chunks_resumed >= 2, "{report:?}");
        assert_same(&source, &target);
    }
}
