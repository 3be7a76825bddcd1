//! Verification: reads everything and reports damage and its location. If something cannot be read because a resource
//! is unavailable (file handles, memory, a server), that is not damage: it is reported as such and ends the check.

use crate::chunk::index_columns::{index_meaning, index_positions};
use crate::chunk::missing::{column_statistics, missing_array};
use crate::chunk::slice_buffer::times_from;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use arrow::array::{Array, AsArray};
use arrow::compute::{cast, max, min};
use arrow::datatypes::DataType;
use atsdb_codec::tuple_hashes;
use atsdb_core::store::Finding;
use atsdb_core::{Bound, ChunkDescriptor, ChunkEntry, Error, ErrorKind, Index, Result, Table, TimeRange};
use std::sync::Arc;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    /// Tables checked, without those that users do not see.
    pub tables: u64,
    /// Chunks checked.
    pub chunks: u64,
    /// Pages read, checked and decoded.
    pub pages: u64,
    /// Rows in the undamaged chunks.
    pub rows: u64,
    /// Damage, and anything that could not be checked. Empty if all is well.
    pub findings: Vec<Finding>,
}

/// Called repeatedly with the rows that were checked so far, and with all rows to check.
pub(crate) type OnRows<'a> = &'a dyn Fn(u64, u64);

/// Checks the store's structures and every page of one table, or of all tables. Damage is a finding, not an error.
pub(crate) fn verify(shared: &Arc<Shared>, table: Option<&Table>, on_rows: Option<OnRows<'_>>) -> Result<VerifyReport> {
    let mut report = VerifyReport { findings: shared.store.verify()?, ..Default::default() };
    if report.is_cut_short() {
        return Ok(report);
    }
    let snapshot = match ReadSnapshot::take_past_caches(shared) {
        // The check of the structures may have missed this damage.
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            report.add("tables", &error);
            return Ok(report);
        }
        taken => taken?,
    };
    let all = snapshot.tables().iter().chain(snapshot.inner.hidden.iter());
    let wanted = all.filter(|other| table.is_none_or(|table| table.id == other.id));
    let mut done = 0;
    let total = if on_rows.is_some() { row_count(&snapshot, wanted.clone()) } else { 0 };
    for table in wanted {
        report.tables += u64::from(!table.definition.is_hidden());
        match snapshot.inner.store.chunks(table.id, TimeRange::ALL) {
            Ok(entries) => {
                for entry in &entries {
                    verify_chunk(&snapshot, table, entry, &mut report);
                    done += u64::from(entry.row_count);
                    if let Some(on_rows) = on_rows {
                        on_rows(done, total);
                    }
                    if report.is_cut_short() {
                        return Ok(report);
                    }
                }
            }
            Err(error) => report.add(&format!("table {}", table.definition.name), &error),
        }
        verify_dictionaries(&snapshot, table, &mut report);
        if report.is_cut_short() {
            return Ok(report);
        }
    }
    Ok(report)
}

/// The rows of all chunks of the tables. Lists that cannot be read are reported when their table is checked.
fn row_count<'a>(snapshot: &ReadSnapshot, tables: impl Iterator<Item = &'a Table>) -> u64 {
    let lists = tables.filter_map(|table| snapshot.inner.store.chunks(table.id, TimeRange::ALL).ok());
    lists.flatten().map(|entry| u64::from(entry.row_count)).sum()
}

impl VerifyReport {
    /// Returns whether the check ended early because something could not be read.
    pub fn is_cut_short(&self) -> bool {
        Finding::is_incomplete(&self.findings)
    }

    fn add(&mut self, location: &str, error: &Error) {
        let problem = error
            .message()
            .strip_prefix(location)
            .map_or(error.message(), |rest| rest.trim_start_matches([':', ',', ' ']));
        self.findings.push(Finding::from_error(location, problem, error));
    }
}

fn verify_chunk(snapshot: &ReadSnapshot, table: &Table, entry: &ChunkEntry, report: &mut VerifyReport) {
    report.chunks += 1;
    let location = format!("table {}, chunk {}", table.definition.name, entry.id.0);
    let descriptor = match snapshot.inner.descriptor(table, entry) {
        Ok(descriptor) => descriptor,
        Err(error) => return report.add(&location, &error),
    };
    let before = report.findings.len();
    for column in table.definition.columns.iter().filter(|column| descriptor.page(column.id).is_some()) {
        report.pages += 1;
        let location = format!("{location}, column {}", column.name);
        let arrays = snapshot.inner.columns(table, entry, &descriptor, &[column], false);
        let array = match arrays.map(|mut arrays| arrays.pop().flatten()) {
            Ok(Some(array)) => array,
            Ok(None) => continue,
            Err(error) => {
                report.add(&location, &error);
                if report.is_cut_short() {
                    return;
                }
                continue;
            }
        };
        let statistics = descriptor.page(column.id).map_or(0, |page| page.statistics.null_count);
        if array.null_count() != statistics as usize {
            report.add(&location, &Error::corrupt("its number of NULLs differs from its descriptor"));
        }
        if table.definition.time_column() == Some(column)
            && let Ok(times) = times_from(&table.definition, &array)
            && (min(&times), max(&times)) != (Some(entry.time_min), Some(entry.time_max))
        {
            report.add(&location, &Error::corrupt("its times differ from its descriptor"));
        }
    }
    for index in &table.definition.indexes {
        match verify_filter(snapshot, table, entry, &descriptor, index) {
            Ok(pages) => report.pages += pages,
            Err(error) => {
                report.pages += 1;
                report.add(&format!("{location}, index {}", index.name), &error);
            }
        }
    }
    if report.findings.len() == before {
        report.rows += u64::from(entry.row_count);
    }
}

/// Checks that the filter of an index contains every row. Returns the number of pages checked.
fn verify_filter(
    snapshot: &ReadSnapshot,
    table: &Table,
    entry: &ChunkEntry,
    descriptor: &ChunkDescriptor,
    index: &Index,
) -> Result<u64> {
    let definition = &table.definition;
    let meaning = index_meaning(definition, index)?;
    let filter = snapshot.inner.filter(table, entry, descriptor, (index, meaning), false)?;
    let Some(filter) = filter else { return Ok(0) };
    let columns: Vec<_> =
        index_positions(definition, index)?.into_iter().map(|position| &definition.columns[position]).collect();
    // Damaged columns have been reported already.
    let arrays = match snapshot.inner.columns(table, entry, descriptor, &columns, false) {
        Ok(arrays) => arrays,
        Err(error) if error.kind().is_shortage() => return Err(error),
        Err(_) => return Ok(1),
    };
    let filled = arrays.into_iter().zip(columns).map(|(array, column)| match array {
        Some(array) => Ok(array),
        None => missing_array(&table.definition, column, entry.row_count as usize),
    });
    match tuple_hashes(&filled.collect::<Result<Vec<_>>>()?)?.iter().all(|hash| filter.may_contain(hash)) {
        true => Ok(1),
        false => Err(Error::corrupt("its filter excludes a row of the chunk")),
    }
}

/// Checks that every index used by a chunk has a string, and that every string is valid UTF-8.
fn verify_dictionaries(snapshot: &ReadSnapshot, table: &Table, report: &mut VerifyReport) {
    for column in table.definition.columns.iter().filter(|column| column.map.is_some()) {
        let location = format!("table {}, dictionary of {}", table.definition.name, column.name);
        match snapshot.inner.store.mapping(table.id, column.id, 0) {
            Ok(strings) => {
                for (index, _) in strings.iter().enumerate().filter(|(_, text)| std::str::from_utf8(text).is_err()) {
                    report.add(&location, &Error::corrupt(format!("string {index} is not valid UTF-8")));
                }
                if let Err(error) = verify_indices(snapshot, table, column, strings.len()) {
                    report.add(&location, &error);
                }
            }
            Err(error) => report.add(&location, &error),
        }
    }
}

fn verify_indices(snapshot: &ReadSnapshot, table: &Table, column: &atsdb_core::Column, count: usize) -> Result<()> {
    for entry in snapshot.inner.store.chunks(table.id, TimeRange::ALL)? {
        // Damage has been reported with the chunk already.
        let Ok(descriptor) = snapshot.inner.descriptor(table, &entry) else { continue };
        let arrays = match snapshot.inner.columns(table, &entry, &descriptor, &[column], false) {
            Ok(arrays) => arrays,
            Err(error) if error.kind().is_shortage() => return Err(error),
            Err(_) => continue,
        };
        let largest = match (arrays.into_iter().next().flatten(), column_statistics(&descriptor, column).max) {
            (Some(array), _) => {
                let indices = cast(&array, &DataType::UInt64)?;
                max(indices.as_primitive::<arrow::datatypes::UInt64Type>())
            }
            (None, Some(Bound::UInt(index))) => Some(index),
            (None, _) => None,
        };
        if let Some(largest) = largest.filter(|largest| *largest >= count as u64) {
            let message = format!("chunk {} uses index {largest}, but there are {count} strings", entry.id.0);
            return Err(Error::corrupt(message));
        }
    }
    Ok(())
}
