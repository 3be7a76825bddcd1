//! Reclaiming: what was removed is freed with the last snapshot of it; here go idle stages and old batch names.

use crate::state::State;
use atsdb_core::limits::{BATCH_MEMORY_MS, STAGE_IDLE_MS_MAX};
use atsdb_core::store::Reclaimed;

/// One step: idle stages until the budget is spent, and all old batch names.
pub(crate) fn reclaim(state: &mut State, byte_budget: u64, now_ms: i64) -> Reclaimed {
    let batch_cutoff = now_ms.saturating_sub(BATCH_MEMORY_MS);
    state.batches.retain(|_, committed_ms| *committed_ms >= batch_cutoff);
    let stage_cutoff = now_ms.saturating_sub(STAGE_IDLE_MS_MAX);
    let idle: Vec<_> =
        state.stages.iter().filter(|(_, stage)| stage.touched_ms < stage_cutoff).map(|(id, _)| *id).collect();
    let mut byte_count = 0;
    for (position, id) in idle.iter().enumerate() {
        if position > 0 && byte_count >= byte_budget {
            return Reclaimed { byte_count, more: true };
        }
        let stage = state.stages.remove(id);
        byte_count +=
            stage.iter().flat_map(|stage| stage.chunks.values()).map(|chunk| chunk.entry.byte_count).sum::<u64>();
    }
    Reclaimed { byte_count, more: false }
}
