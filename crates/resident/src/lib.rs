//! In-memory tables: columns in the process's memory with hash indexes, for rows that are looked up rather than
//! archived. The store keeps their definitions; their rows end with the process unless they are saved.
//!
//! A table consists of a few immutable *parts*, each with rows in Arrow arrays and an index over each key. The
//! [`TableState`] lists the parts and their deleted rows. It is immutable too: a change creates another state, and
//! [`ResidentTables`] replaces the old one. So a reader keeps the state that it started with for as long as it needs,
//! and no one waits. Not owned: definitions, SQL, files.

mod bucket;
mod build;
mod chains;
mod concat;
mod deleted_rows;
mod draft;
mod hash;
mod index;
mod index_spec;
mod keys;
mod merge;
mod part;
mod registry;
mod resolve;
mod state;

pub use draft::{BatchDrafts, TableDraft};
pub use hash::HashSeed;
pub use index::{HashIndex, IndexMatches};
pub use index_spec::IndexSpec;
pub use keys::RowKeys;
pub use merge::RowVersions;
pub use registry::{ResidentSnapshot, ResidentTables};
pub use state::{TableMatches, TableState};
