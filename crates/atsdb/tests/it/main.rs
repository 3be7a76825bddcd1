//! The promises of the whole library, from opening a store to reading it back: after crashes, between processes, on
//! full disks, on damaged files, across formats, and with structs as rows.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod arrays;
mod checks;
mod content;
mod crash;
mod damage;
mod declared_types;
mod derive;
mod examples;
mod full_disk;
mod golden;
mod golden_definitions;
mod identity;
mod key_transactions;
mod large;
mod memory_tables;
mod page_cache;
mod preload;
mod processes;
mod references;
mod rollups;
mod schemas;
mod support;
