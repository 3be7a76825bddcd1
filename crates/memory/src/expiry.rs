//! The observation of idle stages and old batch ids, by which a clock that is ahead is recognised.

use crate::state::StoreState;
use atsdb_core::clock_skew::{ExpiredEntries, OldestEntries};

/// Drops an observation by a clock that is ahead of one that writes.
pub(crate) fn reset(state: &mut StoreState, now_ms: i64) {
    state.expired_since_ms = state.expired_since_ms.filter(|since_ms| *since_ms <= now_ms);
}

/// Returns the decision about expired entries.
pub(crate) fn find(state: &StoreState, now_ms: i64) -> ExpiredEntries {
    let oldest = OldestEntries {
        stage_touched_ms: state.stages.values().map(|stage| stage.touched_ms).min(),
        batch_committed_ms: state.batches.values().copied().min(),
    };
    ExpiredEntries::observe(state.expired_since_ms, oldest, now_ms)
}
