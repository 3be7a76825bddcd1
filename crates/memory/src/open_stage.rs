//! Looking up open stages.

use crate::state::{Stage, State};
use atsdb_core::{Error, Result, StageId};

/// Returns an open stage.
pub(crate) fn require(state: &mut State, stage: StageId) -> Result<&mut Stage> {
    state.stages.get_mut(&stage).ok_or_else(|| not_open(stage))
}

/// The error for a stage that is not open.
pub(crate) fn not_open(stage: StageId) -> Error {
    Error::not_found(format!("stage {} is not open; it was committed, abandoned or idle for too long", stage.0))
        .with_hint("send the batch again")
}
