//! The thread that preloads: when the store is opened, and whenever tables or the chunks of their last hours have
//! changed.

#![expect(clippy::disallowed_methods, reason = "a pause of the thread is measured")]

use crate::chunk::index_columns::index_meaning;
use crate::read::index_pruning::{filter_in_memory, in_memory_form};
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::background::{Background, Wakeups};
use crate::shared::preload::{Columns, in_ms};
use arrow::array::ArrayRef;
use atsdb_codec::stored_type;
use atsdb_core::{ChunkId, Column, ColumnId, Result, TimeRange};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The pause between two checks for new chunks of other processes, if a table is preloaded.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause between two full checks, for what other processes dropped or declared.
const LONG_PAUSE: Duration = Duration::from_secs(30);

/// Starts the thread. A wakeup means that declarations have changed. It stops between two chunks.
pub(crate) fn start(shared: &Arc<Shared>) -> Result<Background> {
    let (weak, wakeups) = (Arc::downgrade(shared), Arc::clone(&shared.preloading));
    Background::start("atsdb-preload", wakeups, move |wakeups| run(&weak, wakeups))
}

fn run(shared: &Weak<Shared>, wakeups: &Wakeups) {
    let mut last: Option<(ChunkId, Instant)> = None;
    loop {
        let Some(shared) = shared.upgrade() else { return };
        // Work that fails is retried by the next check. Readers of the same chunks get the error themselves.
        let seen = check(&shared, last, &|| !wakeups.are_over()).unwrap_or(None);
        last = seen.or(last);
        let pause = if shared.preloaded.stats().tables > 0 { PAUSE } else { LONG_PAUSE };
        drop(shared);
        match wakeups.wait(pause, Duration::ZERO) {
            None => return,
            Some(true) => last = None,
            Some(false) => {}
        }
    }
}

/// Loads the columns that tables declare by `preload` now.
pub(crate) fn preload(shared: &Arc<Shared>) -> Result<()> {
    check(shared, None, &|| true).map(drop)
}

/// Loads what is missing, and returns the newest chunk and the time of the check. Returns `None`, without loading
/// anything, if there is no newer chunk than at the last full check and that was recently.
fn check(
    shared: &Arc<Shared>,
    last: Option<(ChunkId, Instant)>,
    may_continue: &dyn Fn() -> bool,
) -> Result<Option<(ChunkId, Instant)>> {
    let preloaded = &shared.preloaded;
    let begun = Instant::now();
    preloaded.begin_check();
    let snapshot = ReadSnapshot::take(shared)?;
    let newest = snapshot.inner.store.newest_chunk()?;
    if let Some((known, since)) = last
        && known == newest
        && since.elapsed() < LONG_PAUSE
    {
        return Ok(None);
    }
    let tables = || snapshot.tables().iter();
    let declared = tables().filter_map(|table| Some((table.id, table.definition.preload?))).collect();
    let mut wanted = Vec::new();
    for table in tables() {
        let Some(from) = shared.preloaded_from(&table.definition) else { continue };
        let range = TimeRange { start: Some(from), end: None };
        for entry in snapshot.inner.store.chunks(table.id, range)? {
            let descriptor = snapshot.inner.descriptor(table, &entry)?;
            wanted.push((in_ms(&table.definition, entry.time_max), table, entry, descriptor));
        }
    }
    // The latest chunks come first: they are read most, and are kept if not all of them fit.
    wanted.sort_by_key(|(time_max_ms, ..)| std::cmp::Reverse(*time_max_ms));
    preloaded.keep_only(&wanted.iter().map(|(.., descriptor)| descriptor.uid).collect(), declared);
    let mut is_cut = false;
    for (time_max_ms, table, entry, descriptor) in &wanted {
        if !may_continue() {
            return Ok(None);
        }
        let held = preloaded.columns_of(descriptor.uid);
        // What is from before a change of the definition is loaded again.
        let is_missing = |id: ColumnId, is_current: &dyn Fn(&ArrayRef) -> bool| {
            descriptor.page(id).is_some() && !held.iter().any(|(other, array)| *other == id && is_current(array))
        };
        let lacks = |column: &&Column| is_missing(column.id, &|array| *array.data_type() == stored_type(column));
        let columns: Vec<&Column> = table.definition.columns.iter().filter(lacks).collect();
        let arrays = snapshot.inner.columns(table, entry, descriptor, &columns, false)?;
        let mut loaded: Columns = Vec::with_capacity(arrays.len());
        loaded.extend(columns.iter().zip(arrays).filter_map(|(column, array)| Some((column.id, array?))));
        for index in &table.definition.indexes {
            let meaning = index_meaning(&table.definition, index)?;
            if is_missing(index.id, &|array| filter_in_memory(array, meaning).is_some()) {
                let filter = snapshot.inner.filter(table, entry, descriptor, (index, meaning), false)?;
                loaded.extend(filter.map(|filter| (index.id, in_memory_form(&filter, meaning))));
            }
        }
        if !loaded.is_empty() && !preloaded.put(descriptor.uid, *time_max_ms, loaded) {
            is_cut = true;
            break;
        }
    }
    preloaded.end_check(is_cut);
    Ok(Some((newest, begun)))
}
