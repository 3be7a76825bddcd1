//! Lists the backups of an archive, including damaged ones, and selects one of them.
//!
//! A damaged manifest affects only its own backup. Its name still shows when it was made and of which store, so that an
//! older backup is never restored silently in its place.

use crate::manifest::{self, BackupSelector, Manifest, NameParts};
use crate::objects::Objects;
use atsdb_core::{Error, ErrorKind, Result};
use std::collections::BTreeMap;

/// The backups of an archive.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Backups {
    /// Their location, without secrets.
    pub(crate) location: String,
    /// The readable backups, in the order in which they were made.
    pub whole: Vec<Manifest>,
    /// The unreadable backups, ordered by name.
    pub damaged: Vec<DamagedBackup>,
}

/// A backup whose manifest cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedBackup {
    /// Its id, as far as its name shows it.
    pub id: String,
    /// The name of its object.
    pub name: String,
    /// The reason why it cannot be read.
    pub problem: String,
    /// Damaged, of a newer format, or not permitted to this user.
    pub kind: ErrorKind,
    /// The information in its name. `None` if it is not the name of a manifest.
    pub(crate) parts: Option<NameParts>,
}

impl DamagedBackup {
    fn of(name: String, error: &Error, location: &str) -> Self {
        let id = manifest::id_in(&name).unwrap_or(&name).to_owned();
        let message = error.message();
        let problem = message.strip_prefix(&format!("{location}/{name}: ")).unwrap_or(message).to_owned();
        Self { parts: NameParts::of_id(&id), id, name, problem, kind: error.kind() }
    }

    fn may_be_of(&self, source: &str) -> bool {
        self.parts.as_ref().is_none_or(|parts| parts.may_be_of(source))
    }

    /// Returns whether it may be newer than the backup with a number, and at most as new as a time.
    fn may_be_between(&self, number: u64, time_ms: i64) -> bool {
        let Some(parts) = &self.parts else { return true };
        parts.number > number && parts.taken_ms.is_none_or(|taken_ms| taken_ms <= time_ms)
    }
}

/// Reads all manifests. Manifests that are deleted in the meantime are skipped.
pub(crate) fn read(objects: &dyn Objects) -> Result<Backups> {
    let mut backups = Backups { location: objects.location().to_owned(), ..Backups::default() };
    for name in manifest::names(objects)? {
        match Manifest::read(objects, &name) {
            Ok(manifest) => backups.whole.push(manifest),
            Err(error) => match error.kind() {
                ErrorKind::NotFound => {}
                ErrorKind::Corrupt | ErrorKind::NewerFormat | ErrorKind::ReadOnly => {
                    backups.damaged.push(DamagedBackup::of(name, &error, objects.location()));
                }
                _ => return Err(error),
            },
        }
    }
    backups.whole.sort_by(|a, b| (a.number, &a.id).cmp(&(b.number, &b.id)));
    Ok(backups)
}

/// The error for a location without a backup.
pub(crate) fn no_backup_in(location: &str) -> Error {
    Error::not_found(format!("there is no backup in {location}"))
        .with_hint("check the path; atsdb backup STORE TARGET writes a backup")
}

impl Backups {
    /// The selected backup.
    ///
    /// Errors: [`NotFound`](ErrorKind::NotFound) if there is none; [`Corrupt`](ErrorKind::Corrupt) if it is damaged, or
    /// if a damaged backup may be the selected one; [`Usage`](ErrorKind::Usage) if the archive has backups of several
    /// stores and none is selected.
    pub fn choose(&self, which: &BackupSelector) -> Result<&Manifest> {
        if self.whole.is_empty() && self.damaged.is_empty() {
            return Err(no_backup_in(&self.location));
        }
        match which {
            BackupSelector::Id(id) => self.of_id(id),
            BackupSelector::Latest => self.newest(self.only_source()?, i64::MAX),
            BackupSelector::At(time_ms) => self.newest(self.only_source()?, *time_ms),
            BackupSelector::Of(store, which) => {
                let source = self.source_of(store)?;
                match which.as_ref() {
                    BackupSelector::Latest => self.newest(source, i64::MAX),
                    BackupSelector::At(time_ms) => self.newest(source, *time_ms),
                    BackupSelector::Id(_) | BackupSelector::Of(..) => self.choose(which),
                }
            }
        }
    }

    fn of_id(&self, id: &str) -> Result<&Manifest> {
        if let Some(found) = self.whole.iter().find(|backup| backup.id == id) {
            return Ok(found);
        }
        match self.damaged.iter().find(|backup| backup.id == id) {
            Some(damaged) => Err(self.explain(damaged)),
            None => Err(Error::not_found(format!("{} has no backup of that id", self.location))
                .with_hint("atsdb backup --list lists the backups")),
        }
    }

    fn explain(&self, damaged: &DamagedBackup) -> Error {
        let message =
            format!("backup {} cannot be read: {}/{}: {}", damaged.id, self.location, damaged.name, damaged.problem);
        Error::new(damaged.kind, message)
    }

    /// The newest backup of a source that was taken at `time_ms` or before. If a damaged backup may be it, that is an
    /// error.
    fn newest(&self, source: Option<&str>, time_ms: i64) -> Result<&Manifest> {
        let is_of = |backup: &&Manifest| source.is_none_or(|source| backup.source == source);
        let of_source = || self.whole.iter().filter(is_of);
        let found = of_source().rfind(|backup| backup.taken_ms <= time_ms);
        let number = found.map_or(0, |backup| backup.number);
        let may_be_meant = |damaged: &&DamagedBackup| {
            source.is_none_or(|source| damaged.may_be_of(source)) && damaged.may_be_between(number, time_ms)
        };
        if let Some(damaged) = self.damaged.iter().rfind(may_be_meant) {
            let error = self.explain(damaged);
            return Err(match found {
                Some(found) => error.with_hint(format!(
                    "the newest undamaged one before it is of {}: --backup {} restores that",
                    found.taken, found.id
                )),
                None => error,
            });
        }
        found.ok_or_else(|| {
            let error = Error::not_found(format!("{} has no backup of that time or before", self.location));
            match of_source().min_by_key(|backup| backup.taken_ms) {
                Some(oldest) => error.with_hint(format!("the oldest is of {}", oldest.taken)),
                None => error,
            }
        })
    }

    /// The identity of the only store that has backups here. `None` if no name shows it.
    fn only_source(&self) -> Result<Option<&str>> {
        let stores = self.stores();
        match stores.len() {
            0 | 1 => Ok(stores.keys().next().copied()),
            _ => Err(Error::usage(format!("{} holds backups of {} stores", self.location, stores.len()))
                .with_hint(format!("select a store with --store, or a backup with --backup: {}", show(&stores)))),
        }
    }

    /// The identity of the store with a URL, or of the store whose identity begins with these digits.
    fn source_of(&self, store: &str) -> Result<Option<&str>> {
        let stores = self.stores();
        let is_meant = |source: &str, url: &str| url == store || (store.len() >= 4 && source.starts_with(store));
        let mut meant: BTreeMap<&str, &str> = stores.clone();
        meant.retain(|source, url| is_meant(source, url));
        let names = if meant.is_empty() { &stores } else { &meant };
        let hint = format!("available: {}", show(names));
        match meant.len() {
            1 => Ok(meant.keys().next().copied()),
            0 => Err(Error::not_found(format!("{} has no backup of a store {store}", self.location)).with_hint(hint)),
            _ => Err(Error::usage(format!("{} has backups of {} stores {store}", self.location, meant.len()))
                .with_hint(format!("select one by the first digits of its number; {hint}"))),
        }
    }

    /// The known stores: the identity of each, and its latest URL.
    fn stores(&self) -> BTreeMap<&str, &str> {
        let mut stores: BTreeMap<&str, &str> =
            self.whole.iter().map(|backup| (backup.source.as_str(), backup.url.as_str())).collect();
        for parts in self.damaged.iter().filter_map(|damaged| damaged.parts.as_ref()) {
            if !stores.keys().any(|source| parts.may_be_of(source)) {
                stores.insert(&parts.source, "");
            }
        }
        stores
    }
}

fn show(stores: &BTreeMap<&str, &str>) -> String {
    let name = |(source, url): (&&str, &&str)| match url.is_empty() {
        true => format!("{} (only damaged ones)", &source[..source.len().min(8)]),
        false => format!("{} ({url})", &source[..source.len().min(8)]),
    };
    stores.iter().map(name).collect::<Vec<_>>().join(", ")
}
