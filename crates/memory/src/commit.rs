//! Committing a change: everything is checked before anything is done.

use crate::state::State;
use crate::table::Gone;
use crate::{amend, chunk_write, redefine, stage, table};
use atsdb_core::{Change, Error, ErrorKind, Guard, Outcome, Result, StageId};

/// Does the change or refuses it.
pub(crate) fn commit(state: &mut State, change: Change, now_ms: i64) -> Result<Outcome> {
    if let Some(batch) = &change.batch
        && state.batches.contains_key(batch.as_str())
    {
        if let Some(stage) = change.stage {
            state.stages.remove(&stage);
        }
        return Ok(Outcome::Duplicate);
    }
    check(state, &change)?;
    if let Some(batch) = change.batch {
        state.batches.insert(batch.as_str().to_owned(), now_ms);
    }
    change.drop.into_iter().for_each(|table| table::remove(state, table));
    redefine::redefine(state, change.redefine);
    for (table, chunk) in change.remove {
        chunk_write::remove(state, table, chunk);
    }
    change.amend.into_iter().for_each(|amendment| amend::amend(state, amendment));
    if let Some(stage) = change.stage {
        stage::publish(state, stage);
    }
    change.add.into_iter().for_each(|chunk| chunk_write::insert(state, chunk));
    Ok(Outcome::Committed)
}

fn check(state: &State, change: &Change) -> Result<()> {
    change.add.iter().try_for_each(chunk_write::check)?;
    change.guards.iter().try_for_each(|guard| require_nothing_new(state, guard, change.stage))?;
    let mut gone = Gone::new();
    for table in &change.drop {
        table::require(state, *table, &gone)?;
        gone.insert(*table);
    }
    let definitions = redefine::check(state, &change.redefine, &gone)?;
    chunk_write::check_removal(state, &change.remove, &gone)?;
    amend::check(state, &change.amend, &gone, &change.remove)?;
    if let Some(stage) = change.stage {
        stage::check(state, stage, &gone, &definitions)?;
    }
    let staged = change.stage.and_then(|stage| state.stages.get(&stage)).map(|stage| &stage.tables);
    for chunk in &change.add {
        if !staged.is_some_and(|tables| tables.contains_key(&chunk.table)) {
            table::require(state, chunk.table, &gone)?;
        }
    }
    Ok(())
}

/// Refuses a table that has a newer chunk than the guard knows of. A table of the change's stage has none yet.
fn require_nothing_new(state: &State, guard: &Guard, stage: Option<StageId>) -> Result<()> {
    if stage.and_then(|stage| state.stages.get(&stage)).is_some_and(|stage| stage.tables.contains_key(&guard.table)) {
        return Ok(());
    }
    table::require(state, guard.table, &Gone::new())?;
    let newer = state.view.chunks.iter().rev().take_while(|(id, _)| **id > guard.newest);
    if newer.into_iter().any(|(_, chunk)| chunk.entry.table == guard.table) {
        let message = format!("another writer has added to table {} meanwhile", guard.table.0);
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    Ok(())
}
