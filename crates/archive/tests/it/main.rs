//! Copying between all kinds of stores, and backups: a copy equals its source at one moment, and is complete or
//! invisible.

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
mod indexes;
mod kills;
mod refusals;
mod rollups;
mod stores;
mod support;
