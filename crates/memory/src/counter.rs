//! The counters of identity columns.

use crate::state::StoreState;
use atsdb_core::refusal;
use atsdb_core::{NumberBlock, NumberRequest, Result};

/// Reserves numbers.
pub(crate) fn reserve(state: &StoreState, request: &NumberRequest) -> Result<NumberBlock> {
    let table = request.table;
    let staged = || state.stages.values().find_map(|stage| stage.tables.get(&table));
    let stored = state.view.tables.get(&table).or_else(staged).ok_or_else(|| refusal::no_table(table))?;
    let mut counters = stored.counters.write();
    let (block, counter) = request.take(counters.get(&request.column).copied())?;
    counters.insert(request.column, counter);
    Ok(block)
}
