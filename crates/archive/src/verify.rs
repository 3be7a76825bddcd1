//! Verify: reads every object that a backup needs, and says what is damaged or missing.

use crate::Archive;
use crate::manifest::{self, Manifest, ObjectEntry};
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
    /// What is damaged, or could not be looked at; empty is well.
    pub findings: Vec<Finding>,
}

impl Archive {
    /// Checks every backup. Damage is found, not an error. What cannot be looked at, as something is short, is found too, as
    /// no damage, and ends the check.
    pub fn verify(&self) -> Result<ArchiveReport> {
        self.require()?;
        let (mut report, mut seen) = (ArchiveReport::default(), HashSet::new());
        for name in manifest::names(self.objects.as_ref())? {
            if Finding::is_cut_short(&report.findings) {
                break;
            }
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
                if !Finding::is_cut_short(&report.findings) && seen.insert(object.name.clone()) {
                    report.objects += 1;
                    let read = named(objects, object).and_then(|bytes| decode_strings(&bytes));
                    report.note(&object.name, read.map(drop));
                }
            }
            let is_left =
                |object: &&ObjectEntry| !Finding::is_cut_short(&report.findings) && seen.insert(object.name.clone());
            let Some(object) = table.list.as_ref().filter(is_left) else { continue };
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
            match pages(self.objects.as_ref(), entry) {
                Ok(_) => Ok(()),
                Err(error) => {
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(*place, finding(name, &error));
                    // Damage is no error that would stop it.
                    if error.kind().is_shortage() { Err(error) } else { Ok(()) }
                }
            }
        };
        // Why it stopped is among the findings.
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
    Finding::of_error(name, error.message(), error)
}
