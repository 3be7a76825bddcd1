//! A batch with an id that is sent again is stored once, and is a duplicate even if it could not be committed any more.
//!
//! The store finds duplicates among the changes that reach it. This file covers batches that are refused before that:
//! their keys exist already (from the first time), or their table no longer exists.

use crate::shared::Shared;
use atsdb_core::{BatchId, Change, ChunkId, CommitOutcome, Error, ErrorKind, TableId};

impl Shared {
    /// Returns whether a batch was refused only because it had been committed before.
    pub(crate) fn is_duplicate_batch(&self, id: Option<&BatchId>, error: &Error) -> bool {
        let kinds = [
            ErrorKind::DuplicateKey,
            ErrorKind::CheckViolation,
            ErrorKind::ForeignKeyViolation,
            ErrorKind::Conflict,
            ErrorKind::NotFound,
        ];
        id.is_some_and(|id| kinds.contains(&error.kind()) && self.has_committed(id))
    }

    /// Returns whether a batch of this id, or one with a part of this id, is committed.
    pub(crate) fn has_committed(&self, id: &BatchId) -> bool {
        self.have_committed(std::slice::from_ref(id)) == [true]
    }

    /// Returns for each id whether a batch of it, or one with a part of it, is committed, and as durable as the store
    /// was opened for. This deliberately makes one commit. A plain read would not suffice: it may see a commit that is
    /// not durable yet, and on a cluster it may be answered by a node that does not have the commit yet. The changes
    /// name a chunk that cannot exist, so that the store either refuses them or reports the duplicate, and never
    /// records an id.
    pub(crate) fn have_committed(&self, ids: &[BatchId]) -> Vec<bool> {
        let remove = vec![(TableId(0), ChunkId(0))];
        let probe = |id: &BatchId| Change { batch: Some(id.clone()), remove: remove.clone(), ..Change::default() };
        let probes = ids.iter().map(probe).collect();
        let outcomes = self.committer.commit_together(self.store.as_ref(), probes, self.environment.now_ms());
        outcomes.iter().map(|outcome| matches!(outcome, Ok(CommitOutcome::Duplicate))).collect()
    }
}
