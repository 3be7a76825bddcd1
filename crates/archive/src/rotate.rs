//! Rotation: old backups go, then the objects that no backup needs any more.

use crate::Archive;
use crate::manifest::{self, Manifest};
use crate::object::chunk_name;
use crate::objects::Lock;
use crate::read::list;
use crate::write::BackupReport;
use atsdb_codec::decode_descriptor;
use atsdb_core::Result;
use std::collections::HashSet;

impl Archive {
    /// Keeps the newest backups of a source. Manifests go first: what is left of a deletion that was interrupted is
    /// needed by nobody, and goes with the next.
    pub(crate) fn rotate(&self, source: &str, keep: usize, lock: &dyn Lock, report: &mut BackupReport) -> Result<()> {
        let objects = self.objects.as_ref();
        let mut of_source: Vec<(Manifest, String)> = Vec::new();
        let mut staying = Vec::new();
        for name in manifest::names(objects)? {
            let backup = Manifest::read(objects, &name)?;
            match backup.source == source {
                true => of_source.push((backup, name)),
                false => staying.push(backup),
            }
        }
        of_source.sort_by(|(a, _), (b, _)| (a.taken_ms, &a.id).cmp(&(b.taken_ms, &b.id)));
        let gone = of_source.len().saturating_sub(keep);
        for (number, (backup, name)) in of_source.into_iter().enumerate() {
            if number < gone {
                lock.require()?;
                objects.delete(&name)?;
                report.backups_deleted += 1;
            } else {
                staying.push(backup);
            }
        }
        let needed = self.needed(&staying)?;
        for folder in ["chunks", "lists", "dictionaries"] {
            for (name, _) in objects.list(folder)? {
                if !needed.contains(&name) {
                    lock.require()?;
                    objects.delete(&name)?;
                    report.objects_deleted += 1;
                }
            }
        }
        Ok(())
    }

    /// The objects that some backups need.
    fn needed(&self, backups: &[Manifest]) -> Result<HashSet<String>> {
        let (mut needed, mut lists) = (HashSet::new(), HashSet::new());
        for backup in backups {
            needed.extend(backup.named_objects().map(|object| object.name.clone()));
            for table in &backup.tables {
                let Some(object) = &table.list else { continue };
                if !lists.insert(object.name.clone()) {
                    continue;
                }
                for entry in list(self.objects.as_ref(), table)? {
                    let uid = decode_descriptor(&entry.descriptor_bytes)?.uid;
                    needed.insert(chunk_name(uid, &entry.descriptor_bytes));
                }
            }
        }
        Ok(needed)
    }
}
