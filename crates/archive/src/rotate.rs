//! Rotation: deletes old backups, then the objects that no backup needs any more.
//!
//! It is not known which objects a damaged manifest or list needs, so nothing that it may need is deleted. A damaged
//! backup is deleted like others once there are as many newer backups of its store as are kept.

use crate::archive::Archive;
use crate::listing::{self, Backups, DamagedBackup};
use crate::manifest::Manifest;
use crate::object::chunk_name;
use crate::objects::Lock;
use crate::read::list;
use crate::write::BackupReport;
use atsdb_codec::decode_descriptor;
use atsdb_core::store::Finding;
use atsdb_core::{ErrorKind, Result};
use std::collections::HashSet;

/// The number of objects that are deleted before the lock is checked again.
const DELETED_TOGETHER: usize = 64;
/// The maximum number of attempts to delete an object.
const TRIES: usize = 3;

impl Archive {
    /// Keeps the newest backups of a source, including the one just made, and deletes the others. Manifests are deleted
    /// first: objects left by an interrupted deletion are unused, and the next rotation deletes them.
    pub(crate) fn rotate(
        &self,
        made: &Manifest,
        keep: usize,
        lock: &dyn Lock,
        report: &mut BackupReport,
    ) -> Result<()> {
        let objects = self.objects.as_ref();
        let mut backups = listing::read(objects)?;
        let manifests = take_old(&mut backups, made, keep);
        report.backups_deleted = manifests.len() as u64;
        self.delete(&manifests, lock)?;
        report.findings = backups.damaged.iter().map(DamagedBackup::finding).collect();
        if !backups.damaged.is_empty() {
            return Ok(());
        }
        let needed = self.needed(&backups.whole, report)?;
        let mut unneeded = Vec::new();
        for folder in ["chunks", "lists", "dictionaries"] {
            // The chunks of a damaged list are not known.
            if folder == "chunks" && !report.findings.is_empty() {
                continue;
            }
            let there = objects.list(folder)?.into_iter().map(|(name, _)| name);
            unneeded.extend(there.filter(|name| !needed.contains(name)));
        }
        report.objects_deleted = unneeded.len() as u64;
        self.delete(&unneeded, lock)
    }

    /// Deletes objects as long as the lock is held.
    fn delete(&self, names: &[String], lock: &dyn Lock) -> Result<()> {
        for together in names.chunks(DELETED_TOGETHER) {
            lock.confirm()?;
            for name in together {
                let mut tries = 1;
                loop {
                    lock.require()?;
                    match self.objects.delete(name) {
                        Err(error) if error.kind() == ErrorKind::Unavailable && tries < TRIES => tries += 1,
                        done => break done?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The objects that some backups need. Damaged lists are noted.
    fn needed(&self, backups: &[Manifest], report: &mut BackupReport) -> Result<HashSet<String>> {
        let (mut needed, mut lists) = (HashSet::new(), HashSet::new());
        for backup in backups {
            needed.extend(backup.named_objects().map(|object| object.name.clone()));
            for table in &backup.tables {
                let Some(object) = &table.list else { continue };
                if !lists.insert(object.name.clone()) {
                    continue;
                }
                let entries = match list(self.objects.as_ref(), table) {
                    Err(error) if [ErrorKind::Corrupt, ErrorKind::NewerFormat].contains(&error.kind()) => {
                        report.findings.push(self.finding(&object.name, &error));
                        continue;
                    }
                    entries => entries?,
                };
                for entry in entries {
                    let uid = decode_descriptor(&entry.descriptor_bytes)?.uid;
                    needed.insert(chunk_name(uid, &entry.descriptor_bytes));
                }
            }
        }
        Ok(needed)
    }
}

impl DamagedBackup {
    fn finding(&self) -> Finding {
        Finding::damage(self.name.clone(), self.problem.clone())
    }
}

/// Removes the backups to delete from a list, and returns the names of their manifests, oldest first.
fn take_old(backups: &mut Backups, made: &Manifest, keep: usize) -> Vec<String> {
    let is_of = |backup: &&Manifest| backup.source == made.source && backup.id != made.id;
    let older = backups.whole.iter().filter(is_of);
    // The oldest backup that is kept. If all are kept, no backup is older.
    let oldest = match keep {
        0 | 1 => Some(made.number),
        _ => older.rev().nth(keep - 2).map(|backup| backup.number),
    };
    let Some(oldest) = oldest else { return Vec::new() };
    let mut manifests = Vec::new();
    backups.whole.retain(|backup| {
        let is_old = is_of(&backup) && backup.number < oldest;
        manifests.extend(is_old.then(|| backup.object.clone()));
        !is_old
    });
    backups.damaged.retain(|damaged| {
        let parts = damaged.parts.as_ref().filter(|_| damaged.kind == ErrorKind::Corrupt);
        let is_old = parts.is_some_and(|parts| parts.may_be_of(&made.source) && parts.number < oldest);
        manifests.extend(is_old.then(|| damaged.name.clone()));
        !is_old
    });
    manifests
}
