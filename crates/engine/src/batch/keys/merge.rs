//! The rows that settling adds: those that stay as they came, and those that merge with others of their key.

use crate::batch::keys::groups::Groups;
use crate::batch::keys::probe::ProbeResult;
use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use atsdb_core::{Error, Result};
use atsdb_resident::RowVersions;
use std::collections::BTreeMap;

/// The rows of some batches for which `stays`, which counts through all of them, is true.
pub(crate) fn staying(batches: &[RecordBatch], stays: &[bool]) -> Result<Vec<RecordBatch>> {
    let mut rows = Vec::new();
    let mut start = 0;
    for batch in batches {
        let mask = &stays[start..start + batch.num_rows()];
        start += batch.num_rows();
        match mask.iter().filter(|stays| **stays).count() {
            0 => {}
            count if count == mask.len() => rows.push(batch.clone()),
            _ => rows.push(filter_record_batch(batch, &BooleanArray::from(mask.to_vec()))?),
        }
    }
    Ok(rows)
}

/// The rows to add under [`ConflictPolicy::Merge`](atsdb_core::ConflictPolicy::Merge). `stays` marks the last row of
/// each key. Most rows have a key that no other row has and stay as they are. Only the others are merged value by
/// value.
pub(crate) fn merged_rows(
    new_rows: &[RecordBatch],
    groups: &Groups,
    found: &ProbeResult,
    stays: &[bool],
) -> Result<Vec<RecordBatch>> {
    let rows_of_group = rows_of_groups(groups, stays.len());
    let stored_of = |group: usize| found.locations.get(group).copied().flatten();
    let merges = |row: usize| {
        let group = groups.group(row).map(|group| group as usize);
        group.filter(|group| rows_of_group.count(*group) > 1 || stored_of(*group).is_some())
    };
    let merging: Vec<(usize, usize)> =
        (0..stays.len()).filter(|row| stays[*row]).filter_map(|row| Some((row, merges(row)?))).collect();
    if merging.is_empty() {
        return staying(new_rows, stays);
    }
    let mut alone = stays.to_vec();
    merging.iter().for_each(|(row, _)| alone[*row] = false);
    let mut rows = staying(new_rows, &alone)?;

    let mut batches: Vec<Vec<ArrayRef>> = new_rows.iter().map(|batch| batch.columns().to_vec()).collect();
    let mut chunk_batch = BTreeMap::new();
    if let Some((scan, hits)) = &found.hits {
        let column_count = batches.first().map_or(0, Vec::len);
        let all: Vec<usize> = (0..column_count).collect();
        for (position, _) in hits {
            chunk_batch.insert(*position, batches.len());
            batches.push(scan.read_stored(*position, &all)?);
        }
    }
    let places = places(new_rows);
    let mut versions = RowVersions::default();
    for (_, group) in &merging {
        let stored = stored_of(*group).map(|(chunk, row)| {
            let batch = chunk_batch.get(&chunk).copied();
            batch.map(|batch| (batch, row)).ok_or_else(|| Error::internal("a row to merge is in no chunk"))
        });
        let new = rows_of_group.rows(*group).iter().rev().map(|row| places[*row as usize]);
        versions.push(new.chain(stored.transpose()?));
    }
    let Some(first) = new_rows.first() else { return Ok(rows) };
    rows.push(RecordBatch::try_new(first.schema(), versions.merge(&batches)?)?);
    Ok(rows)
}

/// Returns the batch of each row and its number in the batch. Rows are counted through all batches.
fn places(batches: &[RecordBatch]) -> Vec<(usize, usize)> {
    let of_batch = |(at, batch): (usize, &RecordBatch)| (0..batch.num_rows()).map(move |row| (at, row));
    batches.iter().enumerate().flat_map(of_batch).collect()
}

/// The rows of each group, in order.
struct GroupRows {
    rows: Vec<u32>,
    /// The start of each group's rows, and at the end the number of rows.
    starts: Vec<u32>,
}

impl GroupRows {
    fn rows(&self, group: usize) -> &[u32] {
        &self.rows[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    fn count(&self, group: usize) -> usize {
        self.rows(group).len()
    }
}

fn rows_of_groups(groups: &Groups, row_count: usize) -> GroupRows {
    let mut starts = vec![0_u32; groups.count() + 1];
    let keyed = || (0..row_count).filter_map(|row| Some((row, groups.group(row)? as usize)));
    keyed().for_each(|(_, group)| starts[group + 1] += 1);
    for group in 0..groups.count() {
        starts[group + 1] += starts[group];
    }
    let mut next = starts.clone();
    let mut rows = vec![0_u32; starts[groups.count()] as usize];
    for (row, group) in keyed() {
        rows[next[group] as usize] = row as u32;
        next[group] += 1;
    }
    GroupRows { rows, starts }
}
