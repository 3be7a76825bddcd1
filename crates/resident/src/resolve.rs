//! Which of some new rows come into a table with keys, and which of its rows go for them.

use crate::index_spec::IndexSpec;
use crate::part::Part;
use crate::state::TableState;
use arrow::array::{ArrayRef, BooleanArray};
use arrow::util::display::array_value_to_string;
use atsdb_core::{ConflictPolicy, Error, ErrorKind, Result};

/// What the policy leaves.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Which of the new rows stay; `None` if all do.
    pub(crate) stays: Option<BooleanArray>,
    /// The places of the table's rows that go.
    pub(crate) gone: Vec<(u32, u32)>,
    /// How many new rows do not stay as their key is there already.
    pub(crate) kept_out: u64,
}

impl TableState {
    /// Which of some rows [`ConflictPolicy::Keep`] would add.
    pub fn would_stay(&self, columns: Vec<ArrayRef>, row_count: usize) -> Result<Vec<bool>> {
        let part = self.part_of(columns, row_count)?;
        let stays = resolve(self, &part, ConflictPolicy::Keep)?.stays;
        Ok(stays.map_or_else(|| vec![true; row_count], |stays| stays.values().iter().collect()))
    }
}

/// Compares new rows with each other and with the table's.
pub(crate) fn resolve(state: &TableState, part: &Part, policy: ConflictPolicy) -> Result<Resolved> {
    let keys: Vec<usize> = (0..state.indexes().len()).filter(|index| state.indexes()[*index].is_key).collect();
    let mut found = Vec::with_capacity(keys.len());
    for key in &keys {
        found.push(state.find(*key, &part.indexes[*key].keys));
    }
    let duplicates = keys.iter().any(|key| part.indexes[*key].has_duplicates());
    if !duplicates && found.iter().all(|found| found.rows.is_empty()) {
        return Ok(Resolved::default());
    }
    if policy == ConflictPolicy::Error {
        let again = |(key, found): (&usize, &crate::state::Found)| {
            let of_table = found.probes.first().map(|row| *row as usize);
            let of_rows = part.indexes[*key].second_of_a_key().map(|row| row as usize);
            of_table.into_iter().chain(of_rows).min().map(|row| (row, *key))
        };
        let first = keys.iter().zip(&found).filter_map(again).min();
        let (row, key) = first.ok_or_else(|| Error::internal("a key is there twice, and is not"))?;
        return Err(duplicate_key(state, part, &state.indexes()[key], row)?);
    }
    let heads: Vec<Vec<u32>> = keys.iter().map(|key| part.indexes[*key].heads()).collect();
    let mut in_table = vec![vec![false; part.row_count]; keys.len()];
    for (found, in_table) in found.iter().zip(&mut in_table) {
        found.probes.iter().for_each(|row| in_table[*row as usize] = true);
    }
    let mut holders: Vec<Vec<Option<u32>>> = vec![vec![None; part.row_count]; keys.len()];
    let mut stays = vec![true; part.row_count];
    for row in 0..part.row_count {
        let keyed = |key: usize| !part.indexes[keys[key]].keys.is_null(row);
        let slots: Vec<(usize, usize)> =
            (0..keys.len()).filter(|key| keyed(*key)).map(|key| (key, heads[key][row] as usize)).collect();
        match policy {
            ConflictPolicy::Replace => {
                for (key, head) in &slots {
                    if let Some(other) = holders[*key][*head].take() {
                        stays[other as usize] = false;
                    }
                }
            }
            _ => stays[row] = slots.iter().all(|(key, head)| !in_table[*key][row] && holders[*key][*head].is_none()),
        }
        if stays[row] {
            slots.iter().for_each(|(key, head)| holders[*key][*head] = Some(row as u32));
        }
    }
    let left_out = stays.iter().filter(|stays| !**stays).count() as u64;
    Ok(match policy {
        ConflictPolicy::Replace => {
            let places = |found: &crate::state::Found| -> Vec<(u32, u32)> {
                found.parts.iter().copied().zip(found.rows.iter().copied()).collect()
            };
            let gone = found.iter().flat_map(places).collect();
            Resolved { stays: (left_out > 0).then(|| stays.into()), gone, kept_out: 0 }
        }
        _ => Resolved { stays: (left_out > 0).then(|| stays.into()), gone: Vec::new(), kept_out: left_out },
    })
}

fn duplicate_key(state: &TableState, part: &Part, spec: &IndexSpec, row: usize) -> Result<Error> {
    let definition = state.definition();
    let names: Vec<&str> = spec.positions.iter().map(|at| definition.columns[*at].name.as_str()).collect();
    let text = |at: &usize| array_value_to_string(&part.columns[*at], row).map_err(crate::error::internal);
    let values: Vec<String> = spec.positions.iter().map(text).collect::<Result<_>>()?;
    let (name, names, values) = (&definition.name, names.join(", "), values.join(", "));
    let message = format!("table {name}, key ({names}): ({values}) is there already");
    Ok(Error::new(ErrorKind::DuplicateKey, message))
}
