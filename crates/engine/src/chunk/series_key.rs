//! Which columns tell the series apart, where the table does not say: tried on a sample, by size.
//!
//! The sample is what would stand together: the middle of the rows in the order that is tried. A run of rows as they
//! came would show a sliver of every series, and hide what sorting by series saves.

use crate::chunk::slice_buffer::internal;
use crate::chunk::sort::SortKeys;
use arrow::array::{ArrayRef, Int64Array, UInt32Array};
use arrow::compute::take;
use atsdb_codec::{Effort, encode_page};
use atsdb_core::{ChunkUid, Column, Result};

/// Rows looked at for each order.
const SAMPLE_ROWS: usize = 65_536;
/// A further key column must save this share of the bytes.
const GAIN_MIN: f64 = 0.02;

/// The mapped columns by which the rows, sorted by them and then by time, become smallest. Columns are added one by
/// one as long as each makes them smaller. `read` gives a column of all rows.
pub(crate) fn choose_key<'a>(
    columns: &'a [Column],
    times: &Int64Array,
    read: &dyn Fn(&Column) -> Result<ArrayRef>,
) -> Result<Vec<&'a Column>> {
    let mut candidates: Vec<&Column> = columns.iter().filter(|column| column.map.is_some()).collect();
    let mut key: Vec<&Column> = Vec::new();
    let mut best = f64::INFINITY;
    while !candidates.is_empty() {
        let with = |candidate: &&'a Column| key.iter().copied().chain([*candidate]).collect::<Vec<_>>();
        let mut tried: Vec<Vec<&Column>> = candidates.iter().map(with).collect();
        if key.is_empty() {
            tried.push(Vec::new());
        }
        let samples = tried.iter().map(|key| sample_of(key, times, read)).collect::<Result<Vec<_>>>()?;
        let sizes = sizes_of(&samples, columns, read)?;
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

fn sample_of(key: &[&Column], times: &Int64Array, read: &dyn Fn(&Column) -> Result<ArrayRef>) -> Result<UInt32Array> {
    let keys = key.iter().map(|column| read(column)).collect::<Result<Vec<_>>>()?;
    Ok(UInt32Array::from(SortKeys::new(&keys, times)?.middle(SAMPLE_ROWS)))
}

/// The encoded bytes of each sample.
fn sizes_of(
    samples: &[UInt32Array],
    columns: &[Column],
    read: &dyn Fn(&Column) -> Result<ArrayRef>,
) -> Result<Vec<usize>> {
    let mut sizes = vec![0; samples.len()];
    for column in columns {
        let array = read(column)?;
        for (sample, size) in samples.iter().zip(&mut sizes) {
            let rows = take(&array, sample, None).map_err(internal)?;
            *size += encode_page(ChunkUid([0; 16]), column, &rows, Effort::Sealed)?.bytes.len();
        }
    }
    Ok(sizes)
}
