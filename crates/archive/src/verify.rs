//! Verification: reads every object that a backup needs and reports damaged and missing ones. It finds everything that
//! restoring a backup would refuse, because both build the same cut.

use crate::archive::Archive;
use crate::listing::Backups;
use crate::manifest::{Manifest, TableEntry};
use crate::object::chunk_name;
use crate::read::{count_strings, list, pages, strings};
use atsdb_codec::decode_descriptor;
use atsdb_core::parallel::parallel_map;
use atsdb_core::store::Finding;
use atsdb_core::{ChunkEntry, Error, ErrorKind, Result};
use atsdb_engine::Selection;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveReport {
    /// Backups checked.
    pub backups: u64,
    /// Objects read and checked.
    pub objects: u64,
    /// Damage, and anything that could not be checked. Empty if all is well.
    pub findings: Vec<Finding>,
}

impl Archive {
    /// Checks every backup. Damage is a finding, not an error. If something cannot be read because of a shortage, that
    /// is a finding without damage and ends the check.
    pub fn verify(&self) -> Result<ArchiveReport> {
        self.verify_watched(&|_, _| ())
    }

    /// The same as [`verify`](Self::verify). `on_rows` is called repeatedly with the rows that were checked so far, and
    /// with the rows of all backups. Rows that several backups share count in each of them.
    pub fn verify_watched(&self, on_rows: &(dyn Fn(u64, u64) + Sync)) -> Result<ArchiveReport> {
        self.require()?;
        let mut verifying = ArchiveVerifier {
            archive: self,
            report: ArchiveReport::default(),
            seen: HashMap::new(),
            checked: CheckedRows { done: AtomicU64::new(0), total: 0, on_rows },
        };
        match verifying.check_all() {
            Err(error) if error.kind().is_shortage() => {
                let finding = Finding::from_error(self.location(), error.message(), &error);
                verifying.report.findings.push(finding);
            }
            done => done?,
        }
        Ok(verifying.report)
    }

    /// A finding for an object of the archive. It names the object without the archive's location.
    pub(crate) fn finding(&self, name: &str, error: &Error) -> Finding {
        let message = error.message();
        let problem = message.strip_prefix(&format!("{}/{name}", self.location())).unwrap_or(message);
        Finding::from_error(name, problem.trim_start_matches([':', ' ']), error)
    }
}

/// Returns whether an error means damaged bytes, rather than a failure to read them.
fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NewerFormat)
}

struct ArchiveVerifier<'a> {
    archive: &'a Archive,
    report: ArchiveReport,
    /// The objects read so far. `None` for damaged ones; for a dictionary's object its number of strings.
    seen: HashMap<String, Option<u64>>,
    checked: CheckedRows<'a>,
}

/// Counts rows, from any thread, and reports the count.
struct CheckedRows<'a> {
    done: AtomicU64,
    /// The rows of all backups.
    total: u64,
    on_rows: &'a (dyn Fn(u64, u64) + Sync),
}

impl CheckedRows<'_> {
    fn add(&self, rows: u64) {
        let done = self.done.fetch_add(rows, Ordering::Relaxed) + rows;
        (self.on_rows)(done, self.total);
    }
}

impl ArchiveVerifier<'_> {
    fn check_all(&mut self) -> Result<()> {
        let Backups { whole, damaged, .. } = self.archive.backups()?;
        self.report.findings.extend(self.archive.check_mark()?);
        let count = (whole.len() + damaged.len()) as u64;
        (self.report.backups, self.report.objects) = (count, count);
        let unreadable = damaged.into_iter().map(|backup| Finding::damage(backup.name, backup.problem));
        self.report.findings.extend(unreadable);
        self.checked.total = whole.iter().map(|backup| backup.rows).sum();
        whole.iter().try_for_each(|backup| self.backup(backup))
    }

    fn backup(&mut self, backup: &Manifest) -> Result<()> {
        let before = self.report.findings.len();
        let mut is_whole = true;
        for table in &backup.tables {
            is_whole &= self.dictionaries(backup, table)?;
            is_whole &= self.list(table)?;
        }
        // The objects may contradict each other even if each is undamaged.
        if is_whole && self.report.findings.len() == before {
            let cut = self.archive.cut(backup, &Selection::default()).map(drop);
            self.note(&backup.object, cut)?;
        }
        Ok(())
    }

    fn dictionaries(&mut self, backup: &Manifest, table: &TableEntry) -> Result<bool> {
        let mut is_whole = true;
        for dictionary in &table.dictionaries {
            let mut counts = Vec::new();
            for object in &dictionary.objects {
                if !self.seen.contains_key(&object.name) {
                    self.report.objects += 1;
                    let read = strings(self.archive.objects.as_ref(), object).map(|strings| strings.len() as u64);
                    let count = self.note(&object.name, read)?;
                    self.seen.insert(object.name.clone(), count);
                }
                counts.extend(self.seen.get(&object.name).copied().flatten());
            }
            is_whole &= counts.len() == dictionary.objects.len();
            if is_whole {
                let location = || format!("table {}: column {}", table.definition.name, dictionary.column.0);
                let counted = count_strings(dictionary, &counts).map_err(|error| error.context(location()));
                is_whole &= self.note(&backup.object, counted)?.is_some();
            }
        }
        Ok(is_whole)
    }

    fn list(&mut self, table: &TableEntry) -> Result<bool> {
        let Some(object) = &table.list else { return Ok(true) };
        if let Some(known) = self.seen.get(&object.name) {
            self.checked.add(table.rows);
            return Ok(known.is_some());
        }
        self.report.objects += 1;
        let entries = list(self.archive.objects.as_ref(), table);
        let entries = self.note(&object.name, entries)?;
        self.seen.insert(object.name.clone(), entries.as_ref().map(|entries| entries.len() as u64));
        entries.map_or(Ok(false), |entries| self.chunks(&entries).map(|()| true))
    }

    fn chunks(&mut self, entries: &[ChunkEntry]) -> Result<()> {
        let name = |entry: &ChunkEntry| {
            let descriptor = decode_descriptor(&entry.descriptor_bytes).ok()?;
            Some(chunk_name(descriptor.uid, &entry.descriptor_bytes))
        };
        let named = entries.iter().filter_map(|entry| Some((name(entry)?, entry)));
        let seen = &mut self.seen;
        let is_new = |(name, _): &(String, &ChunkEntry)| seen.insert(name.clone(), Some(1)).is_none();
        let (new, known): (Vec<_>, Vec<_>) = named.partition(is_new);
        let rows = |(_, entry): &(String, &ChunkEntry)| u64::from(entry.row_count);
        self.checked.add(known.iter().map(rows).sum());
        self.report.objects += new.len() as u64;
        let (archive, checked) = (self.archive, &self.checked);
        let check = |chunk: &(String, &ChunkEntry)| {
            let (name, entry) = chunk;
            let found = match pages(archive.objects.as_ref(), entry) {
                Err(error) if is_damage(&error) => Ok(Some(archive.finding(name, &error))),
                read => read.map(|_| None),
            };
            checked.add(rows(chunk));
            found
        };
        let findings = parallel_map(archive.objects.at_once(), &new, check)?;
        self.report.findings.extend(findings.into_iter().flatten());
        Ok(())
    }

    /// Returns the object, or records a finding if it is damaged.
    fn note<T>(&mut self, name: &str, read: Result<T>) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if is_damage(&error) => {
                self.report.findings.push(self.archive.finding(name, &error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
