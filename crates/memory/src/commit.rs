//! Committing a change: everything is checked before anything is done.

use crate::state::State;
use crate::{chunk_write, stage, table};
use atsdb_core::{Change, Outcome, Result};

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
    if let Some(stage) = change.stage {
        stage::publish(state, stage);
    }
    for (table, chunk) in change.remove {
        chunk_write::remove(state, table, chunk);
    }
    change.add.into_iter().for_each(|chunk| chunk_write::insert(state, chunk));
    Ok(Outcome::Committed)
}

fn check(state: &State, change: &Change) -> Result<()> {
    change.add.iter().try_for_each(chunk_write::check)?;
    if let Some(stage) = change.stage {
        stage::check(state, stage)?;
    }
    chunk_write::check_removal(state, &change.remove)?;
    let staged = change.stage.and_then(|stage| state.stages.get(&stage)).map(|stage| &stage.tables);
    for chunk in &change.add {
        let visible = state.view.tables.contains_key(&chunk.table);
        if !visible && !staged.is_some_and(|tables| tables.contains_key(&chunk.table)) {
            return Err(table::missing(chunk.table));
        }
    }
    Ok(())
}
