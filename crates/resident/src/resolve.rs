//! Key conflicts: which new rows are added to a table, and which of its rows they replace.

use crate::index_spec::IndexSpec;
use crate::merge::RowVersions;
use crate::part::TablePart;
use crate::state::{TableMatches, TableState};
use arrow::array::{ArrayRef, BooleanArray};
use arrow::util::display::array_value_to_string;
use atsdb_core::{ConflictPolicy, Error, ErrorKind, Result};

/// The result of a conflict policy.
#[derive(Debug, Default)]
pub(crate) struct ConflictResolution {
    /// The new rows that are kept, as a mask; `None` if all are kept.
    pub(crate) kept: Option<BooleanArray>,
    /// The part and row numbers of the table's rows that are replaced.
    pub(crate) replaced: Vec<(u32, u32)>,
    /// The number of new rows that are rejected because their key already exists.
    pub(crate) rejected: u64,
    /// The rows to add instead of the kept ones, if rows merge.
    pub(crate) merged: Option<Vec<ArrayRef>>,
}

impl TableState {
    /// Returns which of some rows [`ConflictPolicy::Keep`] would add.
    pub fn rows_kept(&self, columns: Vec<ArrayRef>, row_count: usize) -> Result<Vec<bool>> {
        let part = self.build_part(columns, row_count)?;
        let kept = resolve(self, &part, ConflictPolicy::Keep)?.kept;
        Ok(kept.map_or_else(|| vec![true; row_count], |kept| kept.values().iter().collect()))
    }
}

/// Compares new rows with each other and with the rows of the table.
pub(crate) fn resolve(state: &TableState, part: &TablePart, policy: ConflictPolicy) -> Result<ConflictResolution> {
    let keys: Vec<usize> = (0..state.indexes().len()).filter(|index| state.indexes()[*index].is_key).collect();
    let mut found = Vec::with_capacity(keys.len());
    for key in &keys {
        found.push(state.find(*key, &part.indexes[*key].keys));
    }
    let duplicates = keys.iter().any(|key| part.indexes[*key].has_duplicates());
    if !duplicates && found.iter().all(|found| found.rows.is_empty()) {
        return Ok(ConflictResolution::default());
    }
    if policy == ConflictPolicy::Error {
        return Err(first_duplicate(state, part, &keys, &found)?);
    }
    let heads: Vec<Vec<u32>> = keys.iter().map(|key| part.indexes[*key].heads()).collect();
    let mut in_table = vec![vec![false; part.row_count]; keys.len()];
    for (found, in_table) in found.iter().zip(&mut in_table) {
        found.probes.iter().for_each(|row| in_table[*row as usize] = true);
    }
    let mut holders: Vec<Vec<Option<u32>>> = vec![vec![None; part.row_count]; keys.len()];
    let mut kept = vec![true; part.row_count];
    for row in 0..part.row_count {
        let keyed = |key: usize| !part.indexes[keys[key]].keys.is_null(row);
        let matching_slots: Vec<(usize, usize)> =
            (0..keys.len()).filter(|key| keyed(*key)).map(|key| (key, heads[key][row] as usize)).collect();
        match policy {
            ConflictPolicy::Replace | ConflictPolicy::Merge => {
                for (key, head) in &matching_slots {
                    if let Some(other) = holders[*key][*head].take() {
                        kept[other as usize] = false;
                    }
                }
            }
            _ => {
                kept[row] =
                    matching_slots.iter().all(|(key, head)| !in_table[*key][row] && holders[*key][*head].is_none())
            }
        }
        if kept[row] {
            matching_slots.iter().for_each(|(key, head)| holders[*key][*head] = Some(row as u32));
        }
    }
    let merged = match policy {
        ConflictPolicy::Merge => Some(merge(state, part, &kept, &heads, &found)?),
        _ => None,
    };
    let left_out = kept.iter().filter(|kept| !**kept).count() as u64;
    Ok(match policy {
        ConflictPolicy::Replace | ConflictPolicy::Merge => {
            let replaced = found.iter().flat_map(locations).collect();
            ConflictResolution { kept: (left_out > 0).then(|| kept.into()), replaced, rejected: 0, merged }
        }
        _ => ConflictResolution {
            kept: (left_out > 0).then(|| kept.into()),
            rejected: left_out,
            ..ConflictResolution::default()
        },
    })
}

/// Merges each kept row with the new rows before it and the row of the table that have its key. There is one key.
fn merge(
    state: &TableState,
    part: &TablePart,
    kept: &[bool],
    heads: &[Vec<u32>],
    found: &[TableMatches],
) -> Result<Vec<ArrayRef>> {
    let (Some(heads), Some(found)) = (heads.first(), found.first()) else {
        return Err(Error::internal("rows merge without a key"));
    };
    let columns: Vec<usize> = (0..part.columns.len()).collect();
    let stored = state.gather(found, &columns)?;
    let mut stored_of = vec![None; part.row_count];
    for (at, probe) in found.probes.iter().enumerate() {
        stored_of[*probe as usize] = Some(at);
    }
    let mut of_key: Vec<Vec<usize>> = vec![Vec::new(); part.row_count];
    heads.iter().enumerate().for_each(|(row, head)| of_key[*head as usize].push(row));
    let mut versions = RowVersions::default();
    for row in (0..part.row_count).filter(|row| kept[*row]) {
        let new = of_key[heads[row] as usize].iter().rev().map(|row| (0, *row));
        versions.push(new.chain(stored_of[row].map(|at| (1, at))));
    }
    versions.merge(&[part.columns.clone(), stored])
}

/// The part and row numbers of rows that were found.
fn locations(found: &TableMatches) -> impl Iterator<Item = (u32, u32)> {
    found.parts.iter().copied().zip(found.rows.iter().copied())
}

/// The error for the first new row whose key exists already, in the table or in another new row.
fn first_duplicate(state: &TableState, part: &TablePart, keys: &[usize], found: &[TableMatches]) -> Result<Error> {
    let again = |(key, found): (&usize, &TableMatches)| {
        let of_table = found.probes.first().map(|row| *row as usize);
        let of_rows = part.indexes[*key].first_duplicate().map(|row| row as usize);
        of_table.into_iter().chain(of_rows).min().map(|row| (row, *key))
    };
    let first = keys.iter().zip(found).filter_map(again).min();
    let (row, key) = first.ok_or_else(|| Error::internal("a duplicate key was not found again"))?;
    duplicate_key(state, part, &state.indexes()[key], row)
}

fn duplicate_key(state: &TableState, part: &TablePart, spec: &IndexSpec, row: usize) -> Result<Error> {
    let definition = state.definition();
    let names: Vec<&str> = spec.positions.iter().map(|at| definition.columns[*at].name.as_str()).collect();
    let text = |at: &usize| array_value_to_string(&part.columns[*at], row).map_err(Error::from);
    let values: Vec<String> = spec.positions.iter().map(text).collect::<Result<_>>()?;
    let (name, names, values) = (&definition.name, names.join(", "), values.join(", "));
    let message = format!("table {name}, key ({names}): ({values}) already exists");
    Ok(Error::new(ErrorKind::DuplicateKey, message))
}
