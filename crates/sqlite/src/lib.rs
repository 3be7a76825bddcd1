//! A store in one SQLite file, or split over many files with an SQLite file as the catalogue.
//!
//! Owned here: the tables of the file (`schema`), its connections (`connection`) and the SQL behind each method of
//! [`atsdb_core::Store`]; for split stores also the page files (`split`). Not owned: the meaning of pages and
//! descriptors, which are bytes here. The file is described in `docs/format/sqlite.md`.
//!
//! One connection writes, under a mutex. Each snapshot uses a reading connection from a pool. Every write is `BEGIN
//! IMMEDIATE`, so that a writer waits for other processes before it has read anything, and never has to retry.

mod access;
mod amend;
mod catalogue;
mod chunk_numbers;
mod chunk_write;
mod commit;
mod connection;
mod counter;
mod create;
mod drop_table;
mod error;
mod expiry;
mod full_disk;
mod lease;
mod list_rows;
mod log_ahead;
mod log_position;
mod log_sync;
mod mapping;
mod open_files;
mod options;
mod readers;
mod reclaim;
mod redefine;
mod remove;
mod reserve;
mod rewrite;
mod row_pages;
mod schema;
mod size;
mod snapshot;
mod split;
mod stage;
mod store;
mod table;
mod verify;
mod writer;

pub use access::check_place;
pub use options::SqliteOptions;
pub use remove::remove_unused;
pub use schema::{APPLICATION_ID, FORMAT};
pub use split::layout::{SplitBy, SplitLayout};
pub use store::SqliteStore;
