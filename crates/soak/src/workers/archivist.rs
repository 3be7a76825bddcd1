//! The archivist: backups with rotation, copies to another file, and restores.

use super::worker::Worker;
use crate::store;
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::{Error, Result};
use atsdb_engine::{CopyOptions, Selection};
use std::path::Path;

const PAUSE_MS: u64 = 15_000;
/// The number of backups that are kept.
const BACKUPS: usize = 3;

pub(super) fn work(worker: &mut Worker) -> Result<()> {
    for round in 0_u64.. {
        if worker.is_over() {
            return Ok(());
        }
        worker.timed("backup", back_up)?;
        match round % 4 {
            1 => worker.timed("copy", |worker| copy(worker, "copy.db"))?,
            2 => worker.timed("verify", verify)?,
            3 => worker.timed("restore", restore)?,
            _ => {}
        }
        worker.rest(PAUSE_MS);
    }
    Ok(())
}

fn archive(worker: &Worker) -> Result<Archive> {
    Archive::open(&worker.folder.join("archive").display().to_string())
}

fn back_up(worker: &mut Worker) -> Result<()> {
    let cut = worker.engine.cut(&Selection::default())?;
    let report = archive(worker)?.write(&cut, false, Some(BACKUPS), None)?;
    refuse_findings(&report.findings)
}

fn copy(worker: &mut Worker, name: &str) -> Result<()> {
    let target = store::open(&worker.folder.join(name), worker.clock, false)?;
    target.copy_from(&worker.engine.cut(&Selection::default())?, &CopyOptions::default()).map(drop)
}

fn verify(worker: &mut Worker) -> Result<()> {
    refuse_findings(&archive(worker)?.verify()?.findings)
}

fn restore(worker: &mut Worker) -> Result<()> {
    let path = worker.folder.join("restored.db");
    remove(&path);
    let archive = archive(worker)?;
    let target = store::open(&path, worker.clock, false)?;
    let backup = archive.backup(&BackupSelector::Latest)?;
    target.copy_from(&archive.cut(&backup, &Selection::default())?, &CopyOptions::default())?;
    refuse_findings(&target.verify(None)?.findings)?;
    drop(target);
    remove(&path);
    Ok(())
}

/// Removes a file that a killed process may have left incomplete.
fn remove(path: &Path) {
    for ending in ["", "-wal", "-shm", "-reserve"] {
        let mut path = path.as_os_str().to_owned();
        path.push(ending);
        let _ = std::fs::remove_file(path);
    }
}

fn refuse_findings(findings: &[atsdb_core::store::Finding]) -> Result<()> {
    match findings {
        [] => Ok(()),
        findings => Err(Error::internal(format!("damage: {findings:?}"))),
    }
}
