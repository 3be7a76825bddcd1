//! Stages: chunks and tables that wait for their commit.

use crate::chunk_write;
use crate::expiry;
use crate::open_stage::require;
use crate::redefine::Definitions;
use crate::state::{Stage, StoreState, StoredChunk, View};
use crate::table::{self, DroppedTables};
use atsdb_core::name::same_name;
use atsdb_core::refusal;
use atsdb_core::{ChunkId, Error, NewChunk, Result, StageId, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Opens a stage.
pub(crate) fn open(state: &mut StoreState, now_ms: i64) -> StageId {
    expiry::reset(state, now_ms);
    state.stage_last += 1;
    let id = StageId(state.stage_last);
    state.stages.insert(id, Stage { touched_ms: now_ms, tables: BTreeMap::new(), chunks: BTreeMap::new() });
    id
}

/// Writes chunks into a stage.
pub(crate) fn write(state: &mut StoreState, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()> {
    expiry::reset(state, now_ms);
    let open = state.stages.get_mut(&stage).ok_or_else(|| refusal::no_stage(stage))?;
    let is_stray =
        |chunk: &&NewChunk| !state.view.tables.contains_key(&chunk.table) && !open.tables.contains_key(&chunk.table);
    if let Some(stray) = chunks.iter().find(is_stray) {
        return Err(refusal::no_table(stray.table));
    }
    open.touched_ms = open.touched_ms.max(now_ms);
    for chunk in chunks {
        state.chunk_last += 1;
        let id = ChunkId(state.chunk_last);
        open.chunks.insert(id, Arc::new(chunk_write::to_stored(id, chunk)));
    }
    Ok(())
}

/// Returns the contents of a stage as a view, and which of the view's tables are in the stage. The others are visible
/// tables with the chunks that they have in the stage.
pub(crate) fn view(state: &StoreState, stage: StageId) -> Result<(View, BTreeSet<TableId>)> {
    let open = state.stages.get(&stage).ok_or_else(|| refusal::no_stage(stage))?;
    let mut view = View { tables: open.tables.clone(), chunks: open.chunks.clone() };
    for (id, stored) in &state.view.tables {
        view.tables.insert(*id, Arc::new(stored.without_chunks()));
    }
    for (id, chunk) in &open.chunks {
        if let Some(owner) = view.tables.get_mut(&chunk.entry.table) {
            Arc::make_mut(owner).chunks.insert((chunk.entry.slice_start, *id), Arc::clone(chunk));
        }
    }
    Ok((view, open.tables.keys().copied().collect()))
}

/// Removes chunks from a stage.
pub(crate) fn remove_chunks(state: &mut StoreState, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
    let open = require(state, stage)?;
    let mut seen = BTreeSet::new();
    if let Some(chunk) = chunks.iter().find(|chunk| !open.chunks.contains_key(chunk) || !seen.insert(**chunk)) {
        return Err(refusal::no_chunk_in_stage(stage, *chunk));
    }
    open.chunks.retain(|id, _| !seen.contains(id));
    Ok(())
}

/// Removes a table and its chunks from a stage.
pub(crate) fn remove_table(state: &mut StoreState, stage: StageId, table: TableId) -> Result<()> {
    let open = require(state, stage)?;
    if open.tables.remove(&table).is_none() {
        return Err(Error::not_found(format!("there is no table number {} in stage {}", table.0, stage.0)));
    }
    open.chunks.retain(|_, chunk| chunk.entry.table != table);
    Ok(())
}

/// Refuses a stage that cannot be published once some tables are dropped and others have new definitions.
pub(crate) fn check(
    state: &StoreState,
    stage: StageId,
    dropped: &DroppedTables,
    definitions: &Definitions<'_>,
) -> Result<()> {
    let open = state.stages.get(&stage).ok_or_else(|| refusal::no_stage(stage))?;
    for staged in open.tables.values() {
        let name = &staged.definition.name;
        let visible = state.view.tables.iter().filter(|(id, _)| !dropped.contains(id));
        let mut names =
            visible.map(|(id, stored)| definitions.get(id).map_or(&stored.definition.name, |new| &new.name));
        if names.any(|taken| same_name(taken, name)) {
            return Err(refusal::table_exists(name));
        }
    }
    let owners = open.chunks.values().map(|chunk| chunk.entry.table);
    owners.filter(|owner| !open.tables.contains_key(owner)).try_for_each(|owner| {
        table::require(state, owner, dropped)?;
        Ok(())
    })
}

/// Makes a stage's tables and chunks visible, gives the chunks new numbers, and ends the stage.
pub(crate) fn publish(state: &mut StoreState, stage: StageId) {
    let Some(stage) = state.stages.remove(&stage) else { return };
    state.view_mut().tables.extend(stage.tables);
    for chunk in stage.chunks.into_values() {
        state.chunk_last += 1;
        let mut chunk = StoredChunk::clone(&chunk);
        chunk.entry.id = ChunkId(state.chunk_last);
        chunk_write::publish(state, chunk);
    }
}
