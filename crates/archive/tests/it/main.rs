//! Copying between stores of all kinds, and backups: what is copied is the same, of one moment, and there whole or not
//! at all.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod backups;
mod bucket;
mod copying;
mod cuts;
mod damage;
mod full_disk;
mod golden;
mod hostile;
mod incremental;
mod kills;
mod refusals;
mod rollups;
mod stores;
mod support;
