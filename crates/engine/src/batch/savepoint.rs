//! The state that a batch keeps to roll back to a savepoint.

use crate::batch::changes::Changes;
use crate::batch::collector::PendingChunks;
use atsdb_core::ChunkId;
use atsdb_resident::BatchDrafts;
use std::collections::BTreeSet;

/// The state of a batch at one moment.
#[derive(Clone)]
pub(crate) struct Savepoint {
    pub(crate) name: String,
    pub(crate) pending: PendingChunks,
    pub(crate) changes: Changes,
    pub(crate) drafts: BatchDrafts,
    pub(crate) staged: BTreeSet<ChunkId>,
    pub(crate) row_count: u64,
}
