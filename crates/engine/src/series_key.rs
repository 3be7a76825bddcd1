//! Which columns tell the series apart, where the table does not say: tried on a sample, by size.

use crate::slice_buffer::internal;
use crate::sort::order_of;
use arrow::array::{ArrayRef, Int64Array, UInt32Array};
use arrow::compute::take;
use atsdb_codec::{Effort, encode_page};
use atsdb_core::{ChunkUid, Column, Result};

/// Rows looked at.
pub(crate) const SAMPLE_ROWS_MAX: usize = 65_536;
/// A further key column must save this share of the bytes.
const GAIN_MIN: f64 = 0.02;

/// Positions of the mapped columns by which the sample, sorted by them and then by time, becomes smallest.
/// Columns are added one by one as long as each makes it smaller.
pub(crate) fn choose_key(columns: &[Column], sample: &[ArrayRef], times: &Int64Array) -> Result<Vec<usize>> {
    let mut candidates: Vec<usize> = (0..columns.len()).filter(|position| columns[*position].map.is_some()).collect();
    let mut key = Vec::new();
    let mut best = size_sorted_by(&key, columns, sample, times)?;
    while !candidates.is_empty() {
        let mut found: Option<(usize, usize)> = None;
        for candidate in &candidates {
            let tried: Vec<usize> = key.iter().copied().chain([*candidate]).collect();
            let size = size_sorted_by(&tried, columns, sample, times)?;
            if found.is_none_or(|(smallest, _)| size < smallest) {
                found = Some((size, *candidate));
            }
        }
        match found {
            Some((size, candidate)) if (size as f64) < best as f64 * (1.0 - GAIN_MIN) => {
                best = size;
                key.push(candidate);
                candidates.retain(|other| *other != candidate);
            }
            _ => break,
        }
    }
    Ok(key)
}

fn size_sorted_by(key: &[usize], columns: &[Column], sample: &[ArrayRef], times: &Int64Array) -> Result<usize> {
    let keys: Vec<ArrayRef> = key.iter().map(|position| ArrayRef::clone(&sample[*position])).collect();
    let order = order_of(&keys, times)?.map(UInt32Array::from);
    let size = |(column, array): (&Column, &ArrayRef)| {
        let sorted = match &order {
            Some(order) => take(array, order, None).map_err(internal)?,
            None => ArrayRef::clone(array),
        };
        encode_page(ChunkUid([0; 16]), column, &sorted, Effort::Fresh).map(|page| page.bytes.len())
    };
    columns.iter().zip(sample).map(size).sum()
}
