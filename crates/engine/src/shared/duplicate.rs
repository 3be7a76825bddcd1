//! A batch with an id that is sent again is stored once, and is a duplicate even if it could not be committed any more.
//!
//! The store finds duplicates among the changes that reach it. This file covers batches that are refused before that:
//! their keys exist already (from the first time), or their table no longer exists.

use crate::shared::Shared;
use atsdb_core::{BatchId, Change, ChunkId, CommitOutcome, Error, ErrorKind, TableId};

impl Shared {
    /// Whether a batch was refused only because it had been committed before.
    pub(crate) fn is_duplicate_batch(&self, id: Option<&BatchId>, error: &Error) -> bool {
        let kinds = [ErrorKind::DuplicateKey, ErrorKind::Conflict, ErrorKind::NotFound];
        id.is_some_and(|id| kinds.contains(&error.kind()) && self.has_committed(id))
    }

    /// Whether a batch of this id is committed, and as durable as the store was opened for. This deliberately makes a
    /// commit. A plain read would not suffice: it may see a commit that is not durable yet, and on a cluster it may be
    /// answered by a node that does not have the commit yet. The change names a chunk that cannot exist, so that the
    /// store either refuses it or reports the duplicate, and never records the id.
    pub(crate) fn has_committed(&self, id: &BatchId) -> bool {
        let change = Change { batch: Some(id.clone()), remove: vec![(TableId(0), ChunkId(0))], ..Change::default() };
        let outcome = self.committer.commit(self.store.as_ref(), change, self.environment.now_ms());
        matches!(outcome, Ok(CommitOutcome::Duplicate))
    }
}
