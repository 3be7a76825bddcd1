//! Tables whose rows live in the process, between batches and snapshots. How they are kept is `resident`'s.

use crate::batch::Batch;
use crate::engine::Shared;
use crate::snapshot::ReadSnapshot;
use crate::stats::{ColumnStats, IndexStats, TableStats};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use atsdb_codec::logical_type;
use atsdb_core::{Column, Index, Result, Table, TableDefinition};
use atsdb_resident::{Draft, ResidentSnapshot, TableState};
use std::sync::Arc;

/// What is assumed where the operating system does not say how much memory there is.
const MEMORY_BYTES_ASSUMED: usize = 4 << 30;

impl ReadSnapshot {
    /// The rows of a table in memory.
    pub fn resident(&self, table: &Table) -> Result<Arc<TableState>> {
        state_of(&self.inner.shared, &self.inner.residents, table)
    }
}

impl Batch {
    /// Takes rows of a table in memory away, by part and number in it, and adds others. If the table is no longer the
    /// one in which the rows were found, that is [`ErrorKind::Conflict`](atsdb_core::ErrorKind::Conflict).
    pub fn change_resident(
        &mut self,
        table: &Table,
        found_in: &TableState,
        gone: impl IntoIterator<Item = (u32, u32)>,
        rows: Vec<(Vec<ArrayRef>, usize)>,
    ) -> Result<()> {
        self.draft(table)?.change(found_in, gone, rows)
    }

    /// What becomes of a table in memory. It begins as it was when the batch first looked.
    pub(crate) fn draft(&mut self, table: &Table) -> Result<&mut Draft> {
        let shared = Arc::clone(&self.engine.shared);
        let snapshot = self.resident_base();
        let others = snapshot.byte_count() - snapshot.get(table.id).map_or(0, |state| state.byte_count());
        let left = shared.resident_bytes.saturating_sub(others);
        let own = table.definition.memory.and_then(|memory| memory.bytes_max);
        let bytes_max = own.map_or(left, |own| left.min(usize::try_from(own).unwrap_or(usize::MAX)));
        self.drafts.table(table.id, bytes_max, || state_of(&shared, &snapshot, table))
    }

    fn resident_base(&self) -> ResidentSnapshot {
        match self.changes.looked_at() {
            Some(base) => base.inner.residents.clone(),
            None => self.engine.shared.residents.snapshot(),
        }
    }

    pub(crate) fn redefine_resident(&mut self, table: &Table, to: &TableDefinition) -> Result<()> {
        match table.definition.is_in_memory() {
            true => self.draft(table)?.redefine(to, types_of(to)),
            false => Ok(()),
        }
    }
}

/// The rows of a table, under the definition that it has now: another process may have given it another.
fn state_of(shared: &Shared, snapshot: &ResidentSnapshot, table: &Table) -> Result<Arc<TableState>> {
    match snapshot.get(table.id) {
        Some(state) if *state.definition() == table.definition => Ok(state),
        Some(state) => {
            let redefined = Arc::new(state.redefined(&table.definition, types_of(&table.definition))?);
            shared.residents.adopt(table.id, &state, &redefined);
            Ok(redefined)
        }
        None => Ok(shared.residents.empty(&table.definition, types_of(&table.definition))),
    }
}

fn types_of(definition: &TableDefinition) -> Vec<DataType> {
    definition.columns.iter().map(logical_type).collect()
}

/// Figures of a table in memory.
pub(crate) fn resident_stats(snapshot: &ReadSnapshot, table: &Table) -> Result<TableStats> {
    let state = snapshot.resident(table)?;
    let definition = &table.definition;
    let (rows, bytes) = (state.row_count() as u64, state.byte_count() as u64);
    let column = |(position, column): (usize, &Column)| ColumnStats {
        name: column.name.clone(),
        column_type: column.column_type,
        map: None,
        encoding: "memory".to_owned(),
        bytes: state.column_bytes(position) as u64,
    };
    let index = |index: &Index| IndexStats { name: index.name.clone(), chunks: 0, bytes: 0 };
    Ok(TableStats {
        name: definition.name.clone(),
        rows,
        slices: 0,
        chunks: 0,
        fresh_chunks: 0,
        bytes,
        bytes_per_row: if rows == 0 { 0.0 } else { bytes as f64 / rows as f64 },
        time_min: None,
        time_max: None,
        columns: definition.columns.iter().enumerate().map(column).collect(),
        indexes: definition.indexes.iter().map(index).collect(),
    })
}

/// Half of the machine's memory.
pub(crate) fn half_of_memory() -> usize {
    let told = std::fs::read_to_string("/proc/meminfo").ok();
    let kibibytes = told.as_deref().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.split_whitespace().next()?.parse::<usize>().ok()
    });
    kibibytes.map_or(MEMORY_BYTES_ASSUMED, |kibibytes| kibibytes << 10) / 2
}
