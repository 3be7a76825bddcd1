//! Backups of a store in a directory or on S3-compatible object storage.
//!
//! An archive holds any number of backups of any number of stores. Chunks, lists and dictionaries are objects that never
//! change and are shared by all backups that need them; a backup is one more object, its manifest, which is written last:
//! a backup is there whole or not at all. What is written comes from a [`Cut`](atsdb_engine::Cut), and what is restored
//! becomes one again, so that backing up and restoring are copying. The format is in `docs/format/archive.md`.
//!
//! Each part has a file: `archive` the place, [`manifest`] what a backup is, `listing` which there are and which is meant,
//! `object` the bytes of the other objects, `write` a backup's making, `read` its reading, `rotate` what goes with old
//! backups, `verify` what is damaged. `objects` is where they lie: `folder` or `bucket`.

mod archive;
mod bucket;
mod folder;
mod listing;
pub mod manifest;
mod object;
mod objects;
mod parallel;
mod read;
mod rotate;
mod verify;
mod write;

pub use archive::{Archive, is_archive};
pub use listing::{Backups, DamagedBackup};
pub use manifest::{Manifest, Which};
pub use verify::ArchiveReport;
pub use write::BackupReport;
