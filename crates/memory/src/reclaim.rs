//! Reclaiming: idle stages and old batch names are deleted here. Removed chunks are freed with the last snapshot that
//! contains them.

use crate::expiry;
use crate::state::StoreState;
use atsdb_core::store::Reclaimed;

/// Runs one step: deletes idle stages until the budget is spent, and all old batch names.
pub(crate) fn reclaim(state: &mut StoreState, byte_budget: u64, now_ms: i64) -> Reclaimed {
    let seen = expiry::find(state, now_ms);
    state.batches.retain(|_, committed_ms| *committed_ms >= seen.batch_cutoff_ms);
    let stages = state.stages.iter();
    let idle: Vec<_> = stages.filter(|(_, stage)| stage.touched_ms < seen.stage_cutoff_ms).map(|(id, _)| *id).collect();
    let mut byte_count = 0;
    for (position, id) in idle.iter().enumerate() {
        if position > 0 && byte_count >= byte_budget {
            // The remaining stages have been idle since the same time.
            return Reclaimed { byte_count, more: true };
        }
        let stage = state.stages.remove(id);
        byte_count +=
            stage.iter().flat_map(|stage| stage.chunks.values()).map(|chunk| chunk.entry.byte_count).sum::<u64>();
    }
    state.expired_since_ms = seen.since_ms;
    Reclaimed { byte_count, more: false }
}
