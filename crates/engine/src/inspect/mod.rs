//! Inspection: what a store holds and occupies, and whether it is whole.

pub(crate) mod caches;
pub(crate) mod content_hash;
pub(crate) mod stats;
pub(crate) mod verify;
