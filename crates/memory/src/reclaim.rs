//! Reclaiming: idle stages and old batch names are deleted here. Removed chunks are freed with the last snapshot that
//! contains them.

use crate::state::State;
use atsdb_core::clock_skew::IdleStages;
use atsdb_core::limits::BATCH_ID_RETENTION_MS;
use atsdb_core::store::Reclaimed;

/// Runs one step: deletes idle stages until the budget is spent, and all old batch names.
pub(crate) fn reclaim(state: &mut State, byte_budget: u64, now_ms: i64) -> Reclaimed {
    let batch_cutoff = now_ms.saturating_sub(BATCH_ID_RETENTION_MS);
    state.batches.retain(|_, committed_ms| *committed_ms >= batch_cutoff);
    let oldest = state.stages.values().map(|stage| stage.touched_ms).min();
    let seen = IdleStages::observe(state.idle_since_ms, oldest, now_ms);
    let idle: Vec<_> =
        state.stages.iter().filter(|(_, stage)| stage.touched_ms < seen.cutoff_ms).map(|(id, _)| *id).collect();
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
    state.idle_since_ms = seen.since_ms;
    Reclaimed { byte_count, more: false }
}
