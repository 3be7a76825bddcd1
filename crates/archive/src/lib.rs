//! Backups of a store in a directory or on S3-compatible object storage.
//!
//! An archive holds any number of backups of any number of stores. Chunks, lists and dictionaries are objects that
//! never change and are shared by all backups that need them. A backup is one more object, its manifest, which is
//! written last, so that a backup is complete or does not exist. A backup is written from a [`Cut`](atsdb_engine::Cut)
//! and read as one, so backup and restore are copies. The format is described in `docs/format/archive.md`.
//!
//! One part per file: `archive` is the location, [`manifest`] describes a backup, `listing` lists and selects backups,
//! `object` encodes the other objects, `write` makes a backup, `read` reads one, `rotate` deletes old backups, `verify`
//! finds damage. `objects` is the storage, implemented by `folder` and `bucket`.

mod archive;
mod bucket;
mod folder;
mod listing;
pub mod manifest;
mod object;
mod objects;
mod read;
mod rotate;
mod verify;
mod write;

pub use archive::{Archive, is_archive};
pub use listing::{Backups, DamagedBackup};
pub use manifest::{BackupSelector, Manifest};
pub use verify::ArchiveReport;
pub use write::BackupReport;
