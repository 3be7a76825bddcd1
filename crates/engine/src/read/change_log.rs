//! Reading the change log of a table ([`chunk::change_log`](crate::chunk::change_log)).

use crate::chunk::times::Times;
use crate::read::scan::ScanRequest;
use crate::read::snapshot::ReadSnapshot;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use atsdb_core::{ChunkId, Result, Table};

impl ReadSnapshot {
    /// The change log of a table, if it has one.
    pub(crate) fn log_of(&self, table: &Table) -> Option<&Table> {
        let log = table.definition.change_log?;
        self.inner.hidden.iter().find(|other| other.id == log)
    }

    /// Returns whether a chunk is newer than a commit that knew all chunks up to `newest`.
    pub(crate) fn is_later(&self, chunk: ChunkId, newest: ChunkId) -> bool {
        chunk.0 < 0 || chunk > newest || self.inner.staged.contains(&chunk)
    }

    /// The times in the change log's chunks that are newer than `newest`.
    pub(crate) fn logged_since(&self, log: &Table, newest: ChunkId) -> Result<Vec<Times>> {
        let request = ScanRequest { use_cache: true, ..ScanRequest::all(log) };
        let scan = self.scan(log, &request)?;
        let mut times = Vec::new();
        for (position, chunk) in scan.chunks().iter().enumerate() {
            if self.is_later(chunk.entry.id, newest)
                && let Some(rows) = scan.read(position)?
            {
                let ends = |column: usize| rows.column(column).as_primitive::<Int64Type>().values().iter().copied();
                times.extend(ends(0).zip(ends(1)));
            }
        }
        Ok(times)
    }
}
