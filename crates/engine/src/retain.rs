//! Retention: slices that lie wholly before what a table keeps are dropped, without reading them. A table that has
//! rollups keeps them until these are closed for their times.

use crate::engine::{Engine, Shared};
use atsdb_core::{Change, ChunkEntry, ErrorKind, Result, Table, TimeRange};

/// What was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetainReport {
    /// Chunks.
    pub chunks: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of pages.
    pub bytes: u64,
}

impl Engine {
    /// Drops the expired slices of one table or of all, and gives their space back.
    pub fn retain(&self, table: Option<&Table>) -> Result<RetainReport> {
        let report = retain_tables(&self.shared, |other| table.is_none_or(|table| table.id == other.id))?;
        self.reclaim()?;
        Ok(report)
    }
}

pub(crate) fn retain_tables(shared: &Shared, is_meant: impl Fn(&Table) -> bool) -> Result<RetainReport> {
    let snapshot = shared.store.snapshot()?;
    let now_ms = shared.environment.now_ms();
    let mut report = RetainReport::default();
    let tables = snapshot.tables()?;
    for table in tables.iter().filter(|table| is_meant(table)) {
        let definition = &table.definition;
        let (Some(retention), Some(time)) = (definition.retention, definition.time) else { continue };
        let cutoff = closed_before(&tables, table, retention.cutoff(now_ms, time.unit));
        let expired = |entry: &ChunkEntry| definition.slice_of(entry.time_min).last < cutoff && entry.time_max < cutoff;
        let range = TimeRange { start: None, end: Some(cutoff) };
        for entry in snapshot.chunks(table.id, range)?.iter().filter(|entry| expired(entry)) {
            let change = Change { remove: vec![(table.id, entry.id)], ..Default::default() };
            match shared.committer.commit(shared.store.as_ref(), change, now_ms) {
                Ok(_) => {
                    report.chunks += 1;
                    report.rows += u64::from(entry.row_count);
                    report.bytes += entry.byte_count;
                }
                // Sealed or dropped by somebody else meanwhile: the next look finds what is left.
                Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(report)
}

/// Rows that a rollup does not have yet stay.
fn closed_before(tables: &[Table], table: &Table, cutoff: i64) -> i64 {
    let rollups = tables.iter().filter_map(|other| other.definition.rollup.as_ref());
    let of_table = rollups.filter(|rollup| rollup.source == table.id);
    of_table.map(|rollup| rollup.state.closed_before.unwrap_or(i64::MIN)).fold(cutoff, i64::min)
}
