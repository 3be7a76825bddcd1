//! Tables whose rows live in the process, between batches and snapshots. How they are kept is `resident`'s.

use crate::batch::Batch;
use crate::definitions::changed_meanwhile;
use crate::engine::Shared;
use crate::resident_save::saved_rows;
use crate::snapshot::{Inner, ReadSnapshot};
use crate::stats::{ColumnStats, TableStats};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use atsdb_codec::logical_type;
use atsdb_core::{Column, Result, Table, TableDefinition};
use atsdb_resident::{Draft, ResidentSnapshot, TableState};
use std::sync::Arc;

/// What is assumed where the operating system does not say how much memory there is.
const MEMORY_BYTES_ASSUMED: usize = 4 << 30;

impl ReadSnapshot {
    /// The rows of a table in memory. At its first use in a process they are those that were saved, and are read now.
    pub fn resident(&self, table: &Table) -> Result<Arc<TableState>> {
        match self.resident_in_use(table)? {
            Some(state) => Ok(state),
            None => saved_rows(self, table),
        }
    }

    /// The same, if the table has been used in this process; else its rows are those in its chunks.
    pub fn resident_in_use(&self, table: &Table) -> Result<Option<Arc<TableState>>> {
        self.require(table)?;
        let Inner { shared, residents, .. } = self.inner.as_ref();
        match residents.get(table.id) {
            Some(state) if *state.definition() != table.definition => {
                // Another process has given it a newer definition: this process' own commits change both at once.
                let redefined = Arc::new(state.redefined(&table.definition, types_of(&table.definition))?);
                shared.residents.adopt(table.id, &state, &redefined);
                Ok(Some(redefined))
            }
            state => Ok(state),
        }
    }
}

impl Shared {
    /// The most bytes that a table in memory may take beside the others.
    pub(crate) fn resident_bytes_of(&self, residents: &ResidentSnapshot, table: &Table) -> usize {
        let others = residents.byte_count() - residents.get(table.id).map_or(0, |state| state.byte_count());
        let left = self.resident_bytes.saturating_sub(others);
        let own = table.definition.memory.and_then(|memory| memory.bytes_max);
        own.map_or(left, |own| left.min(usize::try_from(own).unwrap_or(usize::MAX)))
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
        self.changes.name_definition(table)?;
        let looked_at = self.changes.looked_at().cloned();
        let is_created = self.changes.has_created(table.id);
        let engine = &self.engine;
        let residents = match &looked_at {
            Some(base) => base.inner.residents.clone(),
            None => engine.shared.residents.snapshot(),
        };
        let bytes_max = engine.shared.resident_bytes_of(&residents, table);
        self.drafts.table(table.id, bytes_max, || match residents.get(table.id) {
            Some(state) if *state.definition() == table.definition => Ok(state),
            _ if is_created => Ok(engine.shared.residents.empty(&table.definition, types_of(&table.definition))),
            _ => match looked_at {
                None => engine.snapshot()?.resident(table),
                Some(base) => {
                    let own = base.table_by_id(table.id).ok_or_else(|| changed_meanwhile(&table.definition))?;
                    let state = base.resident(own)?;
                    match *state.definition() == table.definition {
                        true => Ok(state),
                        // The batch itself has redefined the table.
                        false => Ok(Arc::new(state.redefined(&table.definition, types_of(&table.definition))?)),
                    }
                }
            },
        })
    }

    /// Rows that were not used yet keep to the definition that the table has when they are.
    pub(crate) fn redefine_resident(&mut self, table: &Table, to: &TableDefinition) -> Result<()> {
        let is_used = || self.engine.shared.residents.snapshot().get(table.id).is_some();
        match table.definition.is_in_memory() && (self.drafts.has(table.id) || is_used()) {
            true => self.draft(table)?.redefine(to, types_of(to)),
            false => Ok(()),
        }
    }
}

pub(crate) fn types_of(definition: &TableDefinition) -> Vec<DataType> {
    definition.columns.iter().map(logical_type).collect()
}

/// Figures of a table in memory that is in use: what its rows take there, and how the saved ones lie.
pub(crate) fn resident_stats(state: &TableState, saved: TableStats) -> TableStats {
    let definition = state.definition();
    let (rows, bytes) = (state.row_count() as u64, state.byte_count() as u64);
    let column = |(position, column): (usize, &Column)| ColumnStats {
        name: column.name.clone(),
        column_type: column.column_type,
        map: None,
        encoding: "memory".to_owned(),
        bytes: state.column_bytes(position) as u64,
    };
    TableStats {
        rows,
        bytes,
        bytes_per_row: if rows == 0 { 0.0 } else { bytes as f64 / rows as f64 },
        time_min: None,
        time_max: None,
        columns: definition.columns.iter().enumerate().map(column).collect(),
        ..saved
    }
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
