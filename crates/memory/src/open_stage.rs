//! Stages that are open, and those that are not.

use crate::state::{Stage, State};
use atsdb_core::{Error, Result, StageId};

/// A stage that is open.
pub(crate) fn require(state: &mut State, stage: StageId) -> Result<&mut Stage> {
    state.stages.get_mut(&stage).ok_or_else(|| missing(stage))
}

/// The error for a stage that is not open.
pub(crate) fn missing(stage: StageId) -> Error {
    Error::not_found(format!("stage {} is not open; it was committed, abandoned or idle for too long", stage.0))
        .with_hint("write the batch again")
}
