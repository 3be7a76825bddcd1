//! The rows of a chunk that match a scan: those in its time range for which no condition is false or NULL.

use crate::read::condition::{Condition, RowSelection};
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use atsdb_core::{Column, Result};

/// The conditions that decide whether a row matches.
enum RowTest<'a> {
    Condition(&'a Condition),
    /// The time range.
    Time(&'a Column),
}

impl Scan {
    /// The rows of a chunk that can match. `None` if none can.
    pub(crate) fn select(&self, chunk: &ScanChunk) -> Result<Option<RowSelection>> {
        let definition = &self.table.definition;
        let row_count = chunk.entry.row_count as usize;
        // Rows with the same string are often adjacent, or the rows are in the order of time. Then only those found by
        // the string or by the time are examined further.
        let (mapped, others): (Vec<&Condition>, Vec<&Condition>) =
            self.conditions.iter().partition(|condition| condition.matching.is_some());
        let time = definition.time_column().filter(|_| self.is_cut_by_range(&chunk.entry));
        let (early, late) = match time {
            Some(column) if !mapped.is_empty() && self.is_in_order(chunk, column) => (time, None),
            _ => (None, time),
        };
        let mapped = mapped.into_iter().map(RowTest::Condition);
        let tests = early.map(RowTest::Time).into_iter().chain(mapped);
        let tests = tests.chain(late.map(RowTest::Time)).chain(others.into_iter().map(RowTest::Condition));
        let mut selection = RowSelection::All;
        for test in tests {
            let column = match test {
                RowTest::Condition(condition) if condition.matches_all(definition, chunk) => continue,
                RowTest::Condition(condition) => &definition.columns[condition.predicate.column],
                RowTest::Time(column) => column,
            };
            let (first, length) = selection.span(row_count);
            let matches = match test {
                RowTest::Condition(condition) => {
                    let values = self.load(chunk, &[column])?[0].slice(first, length);
                    if matches!(selection, RowSelection::All | RowSelection::Run(..))
                        && let Some(rows) = condition.run(&values)
                    {
                        if rows.is_empty() {
                            return Ok(None);
                        }
                        selection = RowSelection::Run(first + rows.start, rows.len());
                        continue;
                    }
                    condition.evaluate(column, &values)?
                }
                RowTest::Time(_) => {
                    if matches!(selection, RowSelection::All | RowSelection::Run(..))
                        && let Some(rows) = self.adjacent_rows_in_range(chunk, column, first..first + length)?
                    {
                        if rows.is_empty() {
                            return Ok(None);
                        }
                        if rows.len() < length {
                            selection = RowSelection::Run(rows.start, rows.len());
                        }
                        continue;
                    }
                    Some(self.rows_in_range(chunk, column, first..first + length)?)
                }
            };
            let Some(matches) = matches else { continue };
            match selection.narrowed(&matches, row_count)? {
                Some(narrowed) => selection = narrowed,
                None => return Ok(None),
            }
        }
        Ok(Some(selection))
    }
}
