//! Reads the store as a process sees it, each table in several ways that must agree with each other.

use crate::references::SeenReferences;
use crate::shape::{ColumnKind, kind, rows_of};
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{Error, Result, Table, TableDefinition, TimeRange, Value};
use atsdb_engine::{Comparison, Predicate, ReadSnapshot, ScanRequest};
use std::collections::BTreeMap;

/// The contents of a table, as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenTable {
    pub(crate) definition: TableDefinition,
    /// All rows, sorted.
    pub(crate) rows: Vec<Vec<Option<i64>>>,
}

/// A rollup, as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenRollup {
    /// The name of the table that it summarises.
    pub(crate) table: String,
    /// The time before which its buckets are closed.
    pub(crate) closed_before: Option<i64>,
    /// The answer of a rollup, if it was queried.
    pub(crate) rows: Option<Vec<Vec<Option<i64>>>>,
}

/// All tables and rollups, by name, and parents and children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenDatabase {
    pub(crate) tables: BTreeMap<String, SeenTable>,
    pub(crate) rollups: BTreeMap<String, SeenRollup>,
    pub(crate) references: SeenReferences,
}

/// Reads everything in a snapshot. Rollups are only listed, because querying them requires SQL.
pub(crate) fn observe(snapshot: &ReadSnapshot) -> Result<SeenDatabase> {
    let (mut tables, mut rollups, mut references) = (BTreeMap::new(), BTreeMap::new(), SeenReferences::default());
    for table in snapshot.tables() {
        if references.take(snapshot, table)? {
            continue;
        }
        let name = table.definition.name.clone();
        match &table.definition.rollup {
            None => drop(tables.insert(name, observe_table(snapshot, table)?)),
            Some(rollup) => {
                let closed_before = rollup.state.closed_before;
                rollups.insert(name, SeenRollup { table: rollup.table.clone(), closed_before, rows: None });
            }
        }
    }
    Ok(SeenDatabase { tables, rollups, references })
}

/// The position of a row of a table in memory, as part and number, and its cells.
type LocatedRow = ((u32, u32), Vec<Option<i64>>);

/// Returns the rows that a process has of a table in memory, with the position of each.
pub(crate) fn resident_rows(snapshot: &ReadSnapshot, table: &Table) -> Result<Vec<LocatedRow>> {
    let state = snapshot.resident(table)?;
    let positions: Vec<usize> = (0..table.definition.columns.len()).collect();
    let mut rows = Vec::new();
    for (part, range) in state.row_ranges(CHUNK_ROWS_MAX) {
        let (columns, numbers) = state.read(part, range, &positions)?;
        let places = numbers.values().iter().map(|number| (part as u32, *number));
        rows.extend(places.zip(rows_of(&columns)));
    }
    match rows.len() == state.row_count() {
        true => Ok(rows),
        false => Err(Error::internal(format!("table {}: the count disagrees with its rows", table.definition.name))),
    }
}

/// Reads a table in a snapshot. Ranges, predicates and counts must agree with the result of reading all rows.
pub(crate) fn observe_table(snapshot: &ReadSnapshot, table: &Table) -> Result<SeenTable> {
    let definition = &table.definition;
    if definition.is_in_memory() {
        let mut rows: Vec<_> = resident_rows(snapshot, table)?.into_iter().map(|(_, row)| row).collect();
        rows.sort();
        return Ok(SeenTable { definition: definition.clone(), rows });
    }
    let scan = snapshot.scan(table, &ScanRequest::all(table))?;
    let count = scan.row_count_exact();
    let mut rows = Vec::new();
    for batch in scan.batches() {
        rows.extend(rows_of(batch?.columns()));
    }
    let wrong = |what: &str| Err(Error::internal(format!("table {}: {what} disagrees with its rows", definition.name)));
    if count.is_some_and(|count| count != rows.len() as u64) {
        return wrong("the count");
    }
    rows.sort();
    let Some(middle) = rows.get(rows.len() / 2) else { return Ok(SeenTable { definition: definition.clone(), rows }) };
    for (position, column) in definition.columns.iter().enumerate() {
        let Some(value) = middle[position] else { continue };
        let (range, predicates) = match kind(column) {
            ColumnKind::Time => (TimeRange { start: Some(value), end: None }, Vec::new()),
            ColumnKind::Count => (TimeRange::ALL, vec![Predicate::new(position, Comparison::Equal, Value::Int(value))]),
            ColumnKind::Sensor => {
                let text = Value::Text(crate::shape::text(value));
                (TimeRange::ALL, vec![Predicate::new(position, Comparison::Equal, text)])
            }
            _ => continue,
        };
        let is_time = kind(column) == ColumnKind::Time;
        let request = ScanRequest { range, predicates, use_cache: true, ..ScanRequest::all(table) };
        let meant = |row: &&Vec<Option<i64>>| match is_time {
            true => row[position] >= Some(value),
            false => row[position] == Some(value),
        };
        let mut found = Vec::new();
        for batch in snapshot.scan(table, &request)?.batches() {
            found.extend(rows_of(batch?.columns()));
        }
        // Predicates only prune rows: the result may contain others.
        found.retain(|row| meant(&row));
        found.sort();
        if !found.iter().eq(rows.iter().filter(meant)) {
            return wrong(&format!("a condition on {}", column.name));
        }
    }
    Ok(SeenTable { definition: definition.clone(), rows })
}
