//! A batch with an id that is sent again: it counts once, and is a duplicate also where it could not be done any more.
//!
//! The store says so of what reaches it. What is refused before that, because its keys are there already (its own, from the
//! first time) or its table is gone, is asked for here.

use crate::shared::Shared;
use atsdb_core::{BatchId, Change, ChunkId, CommitOutcome, Error, ErrorKind, TableId};

impl Shared {
    /// Whether a batch was refused only because it had been committed before.
    pub(crate) fn was_sent(&self, id: Option<&BatchId>, error: &Error) -> bool {
        let kinds = [ErrorKind::DuplicateKey, ErrorKind::Conflict, ErrorKind::NotFound];
        id.is_some_and(|id| kinds.contains(&error.kind()) && self.has_committed(id))
    }

    fn has_committed(&self, id: &BatchId) -> bool {
        // A change that cannot be done: no chunk has this number. It is a duplicate all the same.
        let change = Change { batch: Some(id.clone()), remove: vec![(TableId(0), ChunkId(0))], ..Change::default() };
        let outcome = self.committer.commit(self.store.as_ref(), change, self.environment.now_ms());
        matches!(outcome, Ok(CommitOutcome::Duplicate))
    }
}
