//! Figures of tables: rows, chunks, sizes, encodings.

use crate::read::snapshot::ReadSnapshot;
use atsdb_codec::encoding_name;
use atsdb_core::{ChunkEntry, Column, ColumnType, Index, MapWidth, Result, Table, TimeRange};
use atsdb_resident::TableState;
use std::collections::BTreeMap;

/// Figures of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableStats {
    /// Its name.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Slices that have rows.
    pub slices: u64,
    /// Chunks.
    pub chunks: u64,
    /// Chunks that are not sealed.
    pub fresh_chunks: u64,
    /// Size of the table in the store, in bytes: its own data, and its share of what belongs to no single table
    /// (indexes, unfilled space). For a table in memory that this process uses: the size of its rows and indexes in
    /// memory.
    pub bytes: u64,
    /// `bytes` divided by `rows`, or 0 without rows.
    pub bytes_per_row: f64,
    /// The earliest time, in the table's unit. `None` without rows or without a time column.
    pub time_min: Option<i64>,
    /// The latest time.
    pub time_max: Option<i64>,
    /// Its columns, in order.
    pub columns: Vec<ColumnStats>,
    /// Its indexes, in order.
    pub indexes: Vec<IndexStats>,
}

/// Figures of one index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexStats {
    /// Its name.
    pub name: String,
    /// Chunks that have a filter for it.
    pub chunks: u64,
    /// The bytes of its pages.
    pub bytes: u64,
}

/// Figures of one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnStats {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub column_type: ColumnType,
    /// The width of its index, for a mapped column.
    pub map: Option<MapWidth>,
    /// The encoding of most of its bytes. Empty without chunks.
    pub encoding: String,
    /// The bytes of its pages.
    pub bytes: u64,
}

/// Figures of one slice.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceStats {
    /// The first time of the slice, in the table's unit.
    pub start: i64,
    /// Its name for people. `all` for a plain table.
    pub label: String,
    /// Rows.
    pub rows: u64,
    /// Chunks.
    pub chunks: u64,
    /// Chunks that are not sealed.
    pub fresh_chunks: u64,
    /// The bytes of its pages.
    pub bytes: u64,
    /// The earliest time.
    pub time_min: i64,
    /// The latest time.
    pub time_max: i64,
}

impl ReadSnapshot {
    /// Figures of one table, or of all tables.
    pub fn stats(&self, table: Option<&Table>) -> Result<Vec<TableStats>> {
        let bytes = self.table_bytes()?;
        let wanted = self.tables().iter().filter(|other| table.is_none_or(|table| table.id == other.id));
        wanted.map(|table| table_stats(self, table, bytes.get(&table.id).copied().unwrap_or(0))).collect()
    }

    /// Figures of a table's slices, earliest first.
    pub fn slices(&self, table: &Table) -> Result<Vec<SliceStats>> {
        let mut slices: BTreeMap<i64, SliceStats> = BTreeMap::new();
        for entry in self.inner.store.chunks(table.id, TimeRange::ALL)? {
            let slice = slices.entry(entry.slice_start).or_insert_with(|| new_slice(table, &entry));
            slice.rows += u64::from(entry.row_count);
            slice.chunks += 1;
            slice.fresh_chunks += u64::from(!entry.sealed);
            slice.bytes += entry.byte_count;
            slice.time_min = slice.time_min.min(entry.time_min);
            slice.time_max = slice.time_max.max(entry.time_max);
        }
        Ok(slices.into_values().collect())
    }
}

fn new_slice(table: &Table, entry: &ChunkEntry) -> SliceStats {
    let definition = &table.definition;
    let label = match definition.time {
        Some(time) => definition.slice.label(definition.slice_of(entry.time_min), time.unit),
        None => "all".to_owned(),
    };
    SliceStats {
        start: entry.slice_start,
        label,
        rows: 0,
        chunks: 0,
        fresh_chunks: 0,
        bytes: 0,
        time_min: entry.time_min,
        time_max: entry.time_max,
    }
}

fn table_stats(snapshot: &ReadSnapshot, table: &Table, bytes: u64) -> Result<TableStats> {
    let stored = stored_stats(snapshot, table, bytes)?;
    let in_use = match table.definition.is_in_memory() {
        true => snapshot.resident_in_use(table)?,
        false => None,
    };
    Ok(match in_use {
        Some(state) => resident_stats(&state, stored),
        None => stored,
    })
}

fn stored_stats(snapshot: &ReadSnapshot, table: &Table, bytes: u64) -> Result<TableStats> {
    let definition = &table.definition;
    let entries = snapshot.inner.store.chunks(table.id, TimeRange::ALL)?;
    let mut encodings: Vec<BTreeMap<u8, u64>> = vec![BTreeMap::new(); definition.columns.len()];
    let index_stats = |index: &Index| IndexStats { name: index.name.clone(), chunks: 0, bytes: 0 };
    let mut indexes: Vec<IndexStats> = definition.indexes.iter().map(index_stats).collect();
    for entry in &entries {
        let descriptor = snapshot.inner.descriptor(table, entry)?;
        for (index, stats) in definition.indexes.iter().zip(&mut indexes) {
            if let Some(page) = descriptor.page(index.id) {
                stats.chunks += 1;
                stats.bytes += u64::from(page.byte_count);
            }
        }
        for (column, encodings) in definition.columns.iter().zip(&mut encodings) {
            if let Some(page) = descriptor.page(column.id) {
                *encodings.entry(page.encoding).or_default() += u64::from(page.byte_count);
            }
        }
    }
    let column_stats = |(column, encodings): (&atsdb_core::Column, &BTreeMap<u8, u64>)| {
        let most = encodings.iter().max_by_key(|(_, bytes)| **bytes);
        ColumnStats {
            name: column.name.clone(),
            column_type: column.column_type,
            map: column.map,
            encoding: most.map_or(String::new(), |(encoding, _)| encoding_name(*encoding).to_owned()),
            bytes: encodings.values().sum(),
        }
    };
    let rows: u64 = entries.iter().map(|entry| u64::from(entry.row_count)).sum();
    let mut slices: Vec<i64> = entries.iter().map(|entry| entry.slice_start).collect();
    slices.dedup();
    let timed = |time: Option<i64>| time.filter(|_| definition.time.is_some());
    Ok(TableStats {
        name: definition.name.clone(),
        rows,
        slices: slices.len() as u64,
        chunks: entries.len() as u64,
        fresh_chunks: entries.iter().filter(|entry| !entry.sealed).count() as u64,
        bytes,
        bytes_per_row: if rows == 0 { 0.0 } else { bytes as f64 / rows as f64 },
        time_min: timed(entries.iter().map(|entry| entry.time_min).min()),
        time_max: timed(entries.iter().map(|entry| entry.time_max).max()),
        columns: definition.columns.iter().zip(&encodings).map(column_stats).collect(),
        indexes,
    })
}

/// Figures of a table in memory that this process uses: the size of its rows in memory, and the chunks of the saved
/// rows.
fn resident_stats(state: &TableState, saved: TableStats) -> TableStats {
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
