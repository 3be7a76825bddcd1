//! The store in the memory of one process: for tests, for trying things out, for data that may be lost.
//!
//! Owned here: the state and its changes. A snapshot is a reference to the state; whoever writes while one is held
//! copies the lists it changes, never the pages. Not owned: what pages and descriptors mean, which are bytes here.

mod amend;
mod chunk_write;
mod commit;
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
