//! Chooses the series key of a table that does not declare one: it tries mapped columns on a sample and compares sizes.
//!
//! The sample of each candidate is the middle of the rows in the candidate's order, as these rows would be stored
//! together. A run of rows in order of arrival would hold only a few rows of each series and hide what sorting saves.

use crate::chunk::sort::SortKeys;
use arrow::array::{ArrayRef, Int64Array, UInt32Array};
use arrow::compute::take;
use atsdb_codec::{Effort, encode_page};
use atsdb_core::parallel::parallel_map;
use atsdb_core::{ChunkUid, Column, Result};

/// Maximum size of each sample, in rows.
const SAMPLE_ROWS_MAX: usize = 65_536;
/// Minimum size of each sample, in rows.
const SAMPLE_ROWS_MIN: usize = 8_192;
/// The samples of the first round have up to this many values in all columns together: those of wide tables are
/// smaller.
const SAMPLE_VALUES_MAX: usize = 1 << 21;
/// Maximum number of columns to try. Each trial encodes a sample of all columns.
const CANDIDATES_MAX: usize = 8;
/// The share of the bytes that a further key column must save.
const GAIN_MIN: f64 = 0.02;

/// Chooses the mapped columns that make the rows smallest if these are sorted by them and then by time. Columns are
/// added one by one as long as each saves enough. `read` returns a column of all rows. Columns are encoded on this
/// number of threads.
pub(crate) fn choose_key<'a>(
    columns: &'a [Column],
    times: &Int64Array,
    threads: usize,
    read: &(dyn Fn(&Column) -> Result<ArrayRef> + Sync),
) -> Result<Vec<&'a Column>> {
    let mut candidates = candidates(columns, times, read)?;
    let sample_rows = SAMPLE_VALUES_MAX / (columns.len() * (candidates.len() + 1));
    let sample_rows = sample_rows.clamp(SAMPLE_ROWS_MIN, SAMPLE_ROWS_MAX);
    let mut key: Vec<&Column> = Vec::new();
    let mut best = f64::INFINITY;
    while !candidates.is_empty() {
        let with = |candidate: &&'a Column| key.iter().copied().chain([*candidate]).collect::<Vec<_>>();
        let mut tried: Vec<Vec<&Column>> = candidates.iter().map(with).collect();
        if key.is_empty() {
            tried.push(Vec::new());
        }
        let samples = tried.iter().map(|key| sample_of(key, times, sample_rows, read)).collect::<Result<Vec<_>>>()?;
        let sizes = sizes_of(&samples, columns, threads, read)?;
        if key.is_empty()
            && let Some(by_time_alone) = sizes.last()
        {
            best = *by_time_alone as f64;
        }
        let smallest = sizes.iter().take(candidates.len()).enumerate().min_by_key(|(_, size)| **size);
        match smallest {
            Some((position, size)) if (*size as f64) < best * (1.0 - GAIN_MIN) => {
                best = *size as f64;
                key.push(candidates.remove(position));
            }
            _ => break,
        }
    }
    Ok(key)
}

/// The columns to try. If there are too many, those whose order makes the most neighbouring values equal: a sensor's
/// name differs from row to row and has few values, whereas a status hardly ever changes and a remark is always
/// different.
fn candidates<'a>(
    columns: &'a [Column],
    times: &Int64Array,
    read: &dyn Fn(&Column) -> Result<ArrayRef>,
) -> Result<Vec<&'a Column>> {
    let mapped: Vec<&Column> = columns.iter().filter(|column| column.map.is_some()).collect();
    if mapped.len() <= CANDIDATES_MAX {
        return Ok(mapped);
    }
    let gain = |column: &Column| -> Result<usize> {
        let values = [read(column)?];
        let keys = SortKeys::new(&values, times)?;
        Ok(keys.change_count().saturating_sub(keys.distinct_count()))
    };
    let gains = mapped.iter().map(|column| gain(column)).collect::<Result<Vec<_>>>()?;
    let mut positions: Vec<usize> = (0..mapped.len()).collect();
    positions.sort_by_key(|position| (std::cmp::Reverse(gains[*position]), *position));
    positions.truncate(CANDIDATES_MAX);
    positions.sort_unstable();
    Ok(positions.into_iter().map(|position| mapped[position]).collect())
}

fn sample_of(
    key: &[&Column],
    times: &Int64Array,
    sample_rows: usize,
    read: &dyn Fn(&Column) -> Result<ArrayRef>,
) -> Result<UInt32Array> {
    let keys = key.iter().map(|column| read(column)).collect::<Result<Vec<_>>>()?;
    Ok(UInt32Array::from(SortKeys::new(&keys, times)?.middle(sample_rows)))
}

/// The encoded bytes of each sample.
fn sizes_of(
    samples: &[UInt32Array],
    columns: &[Column],
    threads: usize,
    read: &(dyn Fn(&Column) -> Result<ArrayRef> + Sync),
) -> Result<Vec<usize>> {
    let sizes_of_column = |column: &Column| -> Result<Vec<usize>> {
        let array = read(column)?;
        let size_of_sample = |sample: &UInt32Array| {
            let rows = take(&array, sample, None)?;
            Ok(encode_page(ChunkUid([0; 16]), column, &rows, Effort::Sealed)?.bytes.len())
        };
        samples.iter().map(size_of_sample).collect()
    };
    let by_column = parallel_map(threads, columns, sizes_of_column)?;
    Ok((0..samples.len()).map(|sample| by_column.iter().map(|sizes| sizes[sample]).sum()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::UInt32Array;
    use atsdb_core::{ColumnType, MapWidth, TableDefinition};
    use std::sync::Arc;

    /// The number of trials is bounded, however many mapped columns there are, and the series key is still found among
    /// them.
    #[test]
    fn of_very_many_mapped_columns_those_that_distinguish_series_are_tried() {
        const ROWS: i64 = 2_000;
        let definition = (0..300).fold(TableDefinition::new("t"), |definition, number| {
            definition.with_column(format!("c{number}"), ColumnType::Text, Some(MapWidth::U32))
        });
        let columns = &definition.columns;
        let times = Int64Array::from_iter_values(0..ROWS);
        let read = |column: &Column| -> Result<ArrayRef> {
            let value = |row: i64| match column.name.as_str() {
                "c251" => row % 40,
                "c7" => row % 40 / 8,
                name if name.len() % 2 == 0 => row / 500,
                _ => row,
            };
            Ok(Arc::new(UInt32Array::from_iter_values((0..ROWS).map(|row| value(row) as u32))))
        };
        let tried: Vec<&str> =
            candidates(columns, &times, &read).unwrap().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(tried.len(), CANDIDATES_MAX);
        assert!(tried.contains(&"c251") && tried.contains(&"c7"), "{tried:?}");
        assert_eq!(candidates(&columns[..5], &times, &read).unwrap().len(), 5);
    }
}
