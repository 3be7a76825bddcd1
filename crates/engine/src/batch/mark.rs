//! A mark in a batch: its state at one moment, to return to.

use crate::batch::changes::Changes;
use crate::batch::overlay::OwnChunk;
use atsdb_core::ChunkId;
use atsdb_resident::BatchDrafts;
use std::collections::BTreeSet;

/// The state of a batch at one moment.
#[derive(Clone)]
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) own: Vec<OwnChunk>,
    pub(crate) own_bytes: usize,
    pub(crate) changes: Changes,
    pub(crate) drafts: BatchDrafts,
    pub(crate) staged: BTreeSet<ChunkId>,
    pub(crate) row_count: u64,
}
