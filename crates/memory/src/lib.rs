//! A store in the memory of one process: for tests, for experiments, and for data that may be lost.
//!
//! Owned here: the state and its changes. A snapshot is a reference to the state. A write while a snapshot exists
//! copies the lists that change, but never the pages. Not owned: the meaning of pages and descriptors, which are bytes
//! here.

mod amend;
mod chunk_write;
mod commit;
mod counter;
mod expiry;
mod lease;
mod mapping;
mod open_stage;
mod reclaim;
mod redefine;
mod size;
mod snapshot;
mod stage;
mod state;
mod store;
mod table;
mod verify;

pub use store::MemoryStore;
