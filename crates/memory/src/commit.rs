//! Committing a change: everything is checked before anything is applied.

use crate::state::StoreState;
use crate::table::DroppedTables;
use crate::{amend, chunk_write, expiry, redefine, stage, table};
use atsdb_core::refusal;
use atsdb_core::{Change, ChunkGuard, CommitOutcome, DefinitionGuard, NewChunk, Result, StageId};

/// Applies a change or refuses it.
pub(crate) fn commit(state: &mut StoreState, change: &Change, now_ms: i64) -> Result<CommitOutcome> {
    if let Some(batch) = &change.batch
        && state.batches.contains_key(batch.as_str())
    {
        if let Some(stage) = change.stage {
            state.stages.remove(&stage);
        }
        return Ok(CommitOutcome::Duplicate);
    }
    if let Some(part) = change.parts.iter().find(|part| state.batches.contains_key(part.as_str())) {
        return Err(refusal::part_exists(part));
    }
    check(state, change)?;
    if change.batch.is_some() || !change.parts.is_empty() {
        expiry::reset(state, now_ms);
    }
    for id in change.batch.iter().chain(&change.parts) {
        state.batches.insert(id.as_str().to_owned(), now_ms);
    }
    change.drop.iter().for_each(|table| table::remove(state, *table));
    redefine::redefine(state, &change.redefine);
    for (table, chunk) in &change.remove {
        chunk_write::remove(state, *table, *chunk);
    }
    change.amend.iter().for_each(|amendment| amend::amend(state, amendment));
    if let Some(stage) = change.stage {
        stage::publish(state, stage);
    }
    change.add.iter().for_each(|chunk| chunk_write::insert(state, chunk.clone()));
    Ok(CommitOutcome::Committed)
}

fn check(state: &StoreState, change: &Change) -> Result<()> {
    change.add.iter().try_for_each(NewChunk::check)?;
    change.based_on.iter().try_for_each(|based_on| check_definition_version(state, based_on, change.stage))?;
    change.guards.iter().try_for_each(|guard| check_guard(state, guard, change))?;
    let mut dropped = DroppedTables::new();
    for table in &change.drop {
        table::require(state, *table, &dropped)?;
        dropped.insert(*table);
    }
    let definitions = redefine::check(state, &change.redefine, &dropped)?;
    chunk_write::check_removal(state, change, &dropped)?;
    amend::check(state, change, &dropped)?;
    if let Some(stage) = change.stage {
        stage::check(state, stage, &dropped, &definitions)?;
    }
    let staged = change.stage.and_then(|stage| state.stages.get(&stage)).map(|stage| &stage.tables);
    for chunk in &change.add {
        if !staged.is_some_and(|tables| tables.contains_key(&chunk.table)) {
            table::require(state, chunk.table, &dropped)?;
        }
    }
    Ok(())
}

/// Refuses a table, visible or in the change's stage, that no longer exists or no longer has the definition that a
/// change was made under.
fn check_definition_version(state: &StoreState, based_on: &DefinitionGuard, stage: Option<StageId>) -> Result<()> {
    let staged = stage.and_then(|stage| state.stages.get(&stage)?.tables.get(&based_on.table));
    let stored = staged.or_else(|| state.view.tables.get(&based_on.table));
    let present = stored.ok_or_else(|| refusal::table_dropped(based_on))?.version;
    if present == based_on.version {
        return Ok(());
    }
    Err(refusal::definition_changed(based_on))
}

/// Refuses a table with a newer chunk than the guard's newest one. A table in the change's stage has none yet.
fn check_guard(state: &StoreState, guard: &ChunkGuard, change: &Change) -> Result<()> {
    let stage = change.stage.and_then(|stage| state.stages.get(&stage));
    if stage.is_some_and(|stage| stage.tables.contains_key(&guard.table)) {
        return Ok(());
    }
    table::require(state, guard.table, &DroppedTables::new())?;
    let newer = state.view.chunks.iter().rev().take_while(|(id, _)| **id > guard.newest);
    if newer.into_iter().any(|(_, chunk)| chunk.entry.table == guard.table) {
        return Err(refusal::rows_added(&change.table_name(guard.table)));
    }
    Ok(())
}
