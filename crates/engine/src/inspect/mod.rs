//! Inspection: contents, sizes and integrity of a store.

pub(crate) mod caches;
pub(crate) mod content_hash;
pub(crate) mod stats;
pub(crate) mod verify;
