//! Looking up open stages.

use crate::state::{Stage, StoreState};
use atsdb_core::refusal;
use atsdb_core::{Result, StageId};

/// Returns an open stage.
pub(crate) fn require(state: &mut StoreState, stage: StageId) -> Result<&mut Stage> {
    state.stages.get_mut(&stage).ok_or_else(|| refusal::no_stage(stage))
}
