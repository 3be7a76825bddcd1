//! Stages: chunks and tables that wait for their commit.

use crate::state::{Stage, State};
use crate::{chunk_write, table};
use atsdb_core::{Error, NewChunk, Result, StageId};
use std::collections::BTreeMap;

/// Opens a stage.
pub(crate) fn open(state: &mut State, now_ms: i64) -> StageId {
    state.stage_last += 1;
    let id = StageId(state.stage_last);
    state.stages.insert(id, Stage { touched_ms: now_ms, tables: BTreeMap::new(), chunks: Vec::new() });
    id
}

/// A stage that is open.
pub(crate) fn require(state: &mut State, stage: StageId) -> Result<&mut Stage> {
    state.stages.get_mut(&stage).ok_or_else(|| missing(stage))
}

fn missing(stage: StageId) -> Error {
    Error::not_found(format!("stage {} is not open; it was committed, abandoned or idle for too long", stage.0))
        .with_hint("write the batch again")
}

/// Writes chunks into a stage.
pub(crate) fn write(state: &mut State, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()> {
    let open = state.stages.get_mut(&stage).ok_or_else(|| missing(stage))?;
    let there =
        |chunk: &&NewChunk| !state.view.tables.contains_key(&chunk.table) && !open.tables.contains_key(&chunk.table);
    if let Some(stray) = chunks.iter().find(there) {
        return Err(table::missing(stray.table));
    }
    open.touched_ms = open.touched_ms.max(now_ms);
    open.chunks.extend(chunks);
    Ok(())
}

/// Refuses a stage that cannot be published.
pub(crate) fn check(state: &State, stage: StageId) -> Result<()> {
    let open = state.stages.get(&stage).ok_or_else(|| missing(stage))?;
    for staged in open.tables.values() {
        table::refuse_name(&state.view.tables, &staged.definition.name)?;
    }
    let there =
        |chunk: &&NewChunk| !state.view.tables.contains_key(&chunk.table) && !open.tables.contains_key(&chunk.table);
    open.chunks.iter().find(there).map_or(Ok(()), |stray| Err(table::missing(stray.table)))
}

/// Makes a stage's tables and chunks visible and ends it.
pub(crate) fn publish(state: &mut State, stage: StageId) {
    let Some(stage) = state.stages.remove(&stage) else { return };
    state.view_mut().tables.extend(stage.tables);
    stage.chunks.into_iter().for_each(|chunk| chunk_write::insert(state, chunk));
}
