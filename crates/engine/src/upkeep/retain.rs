//! Retention: drops the slices that have expired as a whole, without reading them. A table with rollups keeps a slice
//! until its rollups are closed for its times.

use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::commit::RefusedChange;
use atsdb_core::{Change, ChunkEntry, DefinitionGuard, ErrorKind, Result, Table, TableId, TimeRange};
use std::sync::Arc;

/// The maximum number of attempts at the retention of a table while other writers change it.
const ATTEMPTS_MAX: usize = 5;

/// The result of retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetainReport {
    /// Chunks dropped.
    pub chunks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of their pages.
    pub bytes: u64,
}

/// Drops the expired slices of one table, or of all tables, and returns their space.
pub(crate) fn retain(shared: &Arc<Shared>, table: Option<&Table>) -> Result<RetainReport> {
    let report = retain_tables(shared, |other| table.is_none_or(|table| table.id == other.id))?;
    shared.reclaim()?;
    Ok(report)
}

pub(crate) fn retain_tables(shared: &Arc<Shared>, is_meant: impl Fn(&Table) -> bool) -> Result<RetainReport> {
    let mut report = RetainReport::default();
    let meant: Vec<TableId> =
        ReadSnapshot::take(shared)?.tables().iter().filter(|table| is_meant(table)).map(|table| table.id).collect();
    for table in meant {
        // The retention may change in the meantime: the rest is then decided by the present definition.
        for _ in 0..ATTEMPTS_MAX {
            if !retain_table(shared, table, &mut report)? {
                break;
            }
        }
    }
    Ok(report)
}

/// Drops the expired chunks of a table. Returns true if another writer changed some of them in the meantime.
fn retain_table(shared: &Arc<Shared>, id: TableId, report: &mut RetainReport) -> Result<bool> {
    let snapshot = ReadSnapshot::take(shared)?;
    let Some(table) = snapshot.table_by_id(id) else { return Ok(false) };
    let definition = &table.definition;
    let (Some(retention), Some(time)) = (definition.retention, definition.time) else { return Ok(false) };
    let cutoff = closed_before(&snapshot, table, retention.cutoff(shared.environment.now_ms(), time.unit));
    let expired = |entry: &ChunkEntry| definition.slice_of(entry.time_min).last < cutoff && entry.time_max < cutoff;
    let range = TimeRange { start: None, end: Some(cutoff) };
    let mut has_changed = false;
    // Whether rows may be dropped depends on the rollups, too.
    let rollups = snapshot.rollups_of(table.id).map(DefinitionGuard::of);
    let based_on: Vec<DefinitionGuard> = snapshot.based_on(table).into_iter().chain(rollups).collect();
    for entry in snapshot.inner.store.chunks(table.id, range)?.iter().filter(|entry| expired(entry)) {
        let (remove, based_on) = (vec![(table.id, entry.id)], based_on.clone());
        match shared.commit(Change { remove, based_on, ..Default::default() }, &[]).map_err(RefusedChange::into_error) {
            Ok(_) => {
                report.chunks += 1;
                report.rows += u64::from(entry.row_count);
                report.bytes += entry.byte_count;
            }
            // Another writer has sealed, dropped or redefined it.
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => has_changed = true,
            Err(error) => return Err(error),
        }
    }
    Ok(has_changed)
}

/// The cutoff, lowered so that rows that a rollup has not closed stay.
fn closed_before(snapshot: &ReadSnapshot, table: &Table, cutoff: i64) -> i64 {
    let rollups = snapshot.rollups_of(table.id).filter_map(|rollup| rollup.definition.rollup.as_ref());
    rollups.map(|rollup| rollup.state.closed_before.unwrap_or(i64::MIN)).fold(cutoff, i64::min)
}
