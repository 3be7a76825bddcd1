//! Verify: reads every object that a backup needs, and says what is damaged or missing.

use crate::Archive;
use crate::manifest::{self, Manifest};
use crate::object::{chunk_name, decode_strings};
use crate::parallel;
use crate::read::{list, named, pages};
use atsdb_codec::decode_descriptor;
use atsdb_core::store::Finding;
use atsdb_core::{ChunkEntry, Error, Result};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveReport {
    /// Backups looked at.
    pub backups: u64,
    /// Objects read and checked.
    pub objects: u64,
    /// What is damaged; empty is well.
    pub findings: Vec<Finding>,
}

impl Archive {
    /// Checks every backup. Damage is found, not an error.
    pub fn verify(&self) -> Result<ArchiveReport> {
        self.require()?;
        let (mut report, mut seen) = (ArchiveReport::default(), HashSet::new());
        for name in manifest::names(self.objects.as_ref())? {
            report.backups += 1;
            report.objects += 1;
            match Manifest::read(self.objects.as_ref(), &name) {
                Ok(backup) => self.verify_backup(&backup, &mut seen, &mut report),
                Err(error) => report.add(&name, &error),
            }
        }
        Ok(report)
    }

    fn verify_backup(&self, backup: &Manifest, seen: &mut HashSet<String>, report: &mut ArchiveReport) {
        let objects = self.objects.as_ref();
        for table in &backup.tables {
            for object in table.dictionaries.iter().flat_map(|dictionary| &dictionary.objects) {
                if seen.insert(object.name.clone()) {
                    report.objects += 1;
                    let read = named(objects, object).and_then(|bytes| decode_strings(&bytes));
                    report.note(&object.name, read.map(drop));
                }
            }
            let Some(object) = table.list.as_ref().filter(|object| seen.insert(object.name.clone())) else { continue };
            report.objects += 1;
            match list(objects, table) {
                Err(error) => report.add(&object.name, &error),
                Ok(entries) => self.verify_chunks(&entries, seen, report),
            }
        }
    }

    fn verify_chunks(&self, entries: &[ChunkEntry], seen: &mut HashSet<String>, report: &mut ArchiveReport) {
        let name = |entry: &ChunkEntry| {
            let descriptor = decode_descriptor(&entry.descriptor_bytes).ok()?;
            Some(chunk_name(descriptor.uid, &entry.descriptor_bytes))
        };
        let named = entries.iter().filter_map(|entry| Some((name(entry)?, entry)));
        let new: Vec<(usize, (String, &ChunkEntry))> =
            named.filter(|(name, _)| seen.insert(name.clone())).enumerate().collect();
        report.objects += new.len() as u64;
        let found = Mutex::new(BTreeMap::new());
        let look = |(place, (name, entry)): &(usize, (String, &ChunkEntry))| {
            if let Err(error) = pages(self.objects.as_ref(), entry) {
                found.lock().unwrap_or_else(PoisonError::into_inner).insert(*place, finding(name, &error));
            }
            Ok(())
        };
        // Damage is no error that would stop it.
        let _ = parallel::for_each(self.objects.at_once(), &new, look);
        report.findings.extend(found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values());
    }
}

impl ArchiveReport {
    fn note(&mut self, name: &str, read: Result<()>) {
        if let Err(error) = read {
            self.add(name, &error);
        }
    }

    fn add(&mut self, name: &str, error: &Error) {
        self.findings.push(finding(name, error));
    }
}

fn finding(name: &str, error: &Error) -> Finding {
    Finding { place: name.to_owned(), problem: error.message().to_owned() }
}
