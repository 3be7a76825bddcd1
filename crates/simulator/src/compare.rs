//! What a process reads of the store, each table in several ways that must agree with each other.

use crate::shape::{Kind, kind, rows_of};
use atsdb_core::{Error, Result, Table, TableDefinition, TimeRange, Value};
use atsdb_engine::{Comparison, Predicate, ReadSnapshot, ScanRequest};
use std::collections::BTreeMap;

/// A table as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenTable {
    pub(crate) definition: TableDefinition,
    /// All rows, sorted.
    pub(crate) rows: Vec<Vec<Option<i64>>>,
}

/// All tables, by name.
pub(crate) type Seen = BTreeMap<String, SeenTable>;

/// Everything that a snapshot shows.
pub(crate) fn see(snapshot: &ReadSnapshot) -> Result<Seen> {
    let tables = snapshot.tables().iter();
    tables.map(|table| Ok((table.definition.name.clone(), see_table(snapshot, table)?))).collect()
}

/// A table that a snapshot shows. Ranges, predicates and counts must agree with what reading all rows gives.
pub(crate) fn see_table(snapshot: &ReadSnapshot, table: &Table) -> Result<SeenTable> {
    let definition = &table.definition;
    let scan = snapshot.scan(table, &ScanRequest::all(table))?;
    let count = scan.row_count_exact();
    let mut rows = Vec::new();
    for batch in scan.batches() {
        rows.extend(rows_of(&batch?));
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
            Kind::Time => (TimeRange { start: Some(value), end: None }, Vec::new()),
            Kind::Count => (TimeRange::ALL, vec![Predicate::new(position, Comparison::Equal, Value::Int(value))]),
            Kind::Sensor => {
                let text = Value::Text(crate::shape::text(value));
                (TimeRange::ALL, vec![Predicate::new(position, Comparison::Equal, text)])
            }
            _ => continue,
        };
        let is_time = kind(column) == Kind::Time;
        let request = ScanRequest { range, predicates, use_cache: true, ..ScanRequest::all(table) };
        let meant = |row: &&Vec<Option<i64>>| match is_time {
            true => row[position] >= Some(value),
            false => row[position] == Some(value),
        };
        let mut found = Vec::new();
        for batch in snapshot.scan(table, &request)?.batches() {
            found.extend(rows_of(&batch?));
        }
        // Predicates only leave out rows: what is left may hold others.
        found.retain(|row| meant(&row));
        found.sort();
        if !found.iter().eq(rows.iter().filter(meant)) {
            return wrong(&format!("a condition on {}", column.name));
        }
    }
    Ok(SeenTable { definition: definition.clone(), rows })
}
