//! The store in one SQLite file.
//!
//! Owned here: the tables of the file (`schema`), its connections (`connection`) and the SQL behind each method of
//! [`atsdb_core::Store`]. Not owned: what pages and descriptors mean, which are bytes here. The file is described in
//! `docs/format/sqlite.md`.
//!
//! One connection writes, under a mutex; each snapshot borrows a reading connection from a pool. Every write is
//! `BEGIN IMMEDIATE`, so that a writer waits for other processes before it has read anything, and never has to
//! start over.

use atsdb_sqlstore::checksum;

mod amend;
mod chunk_write;
mod commit;
mod connection;
mod error;
mod lease;
mod mapping;
mod numbers;
mod reclaim;
mod redefine;
mod schema;
mod size;
mod snapshot;
mod stage;
mod store;
mod table;
mod verify;

pub use schema::{APPLICATION_ID, FORMAT};
pub use store::{SqliteOptions, SqliteStore};
