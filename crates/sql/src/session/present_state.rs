//! The state that several statements read together.

use super::state::Session;
use crate::run::query::DefinitionScope;
use atsdb_engine::ReadSnapshot;
use std::fmt;

/// The committed state that several statements of one session read. It is taken when the first of them needs it, so it
/// is the present one for every statement that was requested before. A caller drops it before it waits for requests,
/// and before it executes anything else in the session.
#[derive(Default)]
pub struct PresentState(Option<(ReadSnapshot, DefinitionScope)>);

impl fmt::Debug for PresentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PresentState").field(&self.0.is_some()).finish()
    }
}

impl Session {
    /// The state that statements at once see.
    pub(super) fn present(&self, present: &mut PresentState) -> Option<(ReadSnapshot, DefinitionScope)> {
        // The search path of a transaction that ended meanwhile is over.
        let path = self.search_path();
        if present.0.as_ref().is_none_or(|(snapshot, _)| *snapshot.search_path() != path) {
            present.0 = Some(self.snapshot_for_planning().ok()?);
        }
        present.0.clone()
    }
}
