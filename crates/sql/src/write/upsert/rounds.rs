//! Applies new rows to existing ones with the same key, in rounds. Each round processes at most one new row of each
//! key.

use crate::write::returning::no_rows;
use arrow::array::{Array as _, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, concat_batches, filter_record_batch, take_record_batch};
use atsdb_core::{Error, Result, Table};
use atsdb_engine::ConflictingRows;
use std::collections::BTreeMap;

/// New rows, and the stored rows with their keys.
pub(super) struct Rounds<'a> {
    pub(super) table: &'a Table,
    pub(super) holders: &'a ConflictingRows,
    /// The new rows, which are complete.
    pub(super) rows: &'a RecordBatch,
}

/// The results for the rows.
pub(super) struct UpsertChanges {
    /// Rows to add.
    pub(super) added: RecordBatch,
    /// Stored rows that change: the positions of their chunks, their numbers in the chunks, and their new values.
    pub(super) updated: Option<(UInt32Array, UInt32Array, RecordBatch)>,
    /// The number of rows that were added or that updated another row.
    pub(super) row_count: u64,
    /// Each of these rows in its state after its turn, in the original order.
    pub(super) returned: Vec<RecordBatch>,
}

/// The rows of one key.
#[derive(Debug, Default)]
struct Group {
    /// The location of the stored row.
    place: Option<(u32, u32)>,
    /// The new rows, in their order.
    rows: Vec<u32>,
    /// The position of this key's row among the rows of the last round.
    current: Option<u32>,
    is_updated: bool,
}

impl Rounds<'_> {
    /// Processes the rows. For pairs of stored and new rows, `update` determines which stored rows are updated, and
    /// their new values; `None` leaves all unchanged.
    pub(super) fn run(
        &self,
        mut update: impl FnMut(&RecordBatch, &RecordBatch) -> Result<Option<(BooleanArray, RecordBatch)>>,
    ) -> Result<UpsertChanges> {
        let (mut groups, mut current) = self.groups()?;
        let mut alive: Vec<u32> = (0..groups.len() as u32).collect();
        // Rows whose keys are finished, with their groups; and rows that have had their turn, with their numbers.
        let (mut ended, mut ended_groups) = (vec![no_rows(self.table)], Vec::new());
        let (mut returned, mut returned_rows) = (vec![no_rows(self.table)], Vec::new());
        for round in 0.. {
            if alive.is_empty() {
                break;
            }
            let row_of = |group: u32| groups[group as usize].rows[round];
            let (old, fresh): (Vec<u32>, Vec<u32>) =
                alive.iter().partition(|group| groups[**group as usize].current.is_some());
            let old_places: Vec<u32> = old.iter().filter_map(|group| groups[*group as usize].current).collect();
            let old_new: Vec<u32> = old.iter().map(|group| row_of(*group)).collect();
            let fresh_new: Vec<u32> = fresh.iter().map(|group| row_of(*group)).collect();
            let mut stored = picked(&current, &old_places)?;
            if !old.is_empty()
                && let Some((mask, rows)) = update(&stored, &picked(self.rows, &old_new)?)?
            {
                for at in mask.values().set_indices() {
                    groups[old[at] as usize].is_updated = true;
                    returned_rows.push(old_new[at]);
                }
                returned.push(filter_record_batch(&rows, &mask)?);
                stored = rows;
            }
            let fresh_rows = picked(self.rows, &fresh_new)?;
            returned_rows.extend(&fresh_new);
            returned.push(fresh_rows.clone());
            current = concat_batches(&stored.schema(), [&stored, &fresh_rows])?;
            alive = old.into_iter().chain(fresh).collect();
            for (at, group) in alive.iter().enumerate() {
                groups[*group as usize].current = Some(at as u32);
            }
            let (ends, remaining): (Vec<u32>, Vec<u32>) =
                alive.iter().partition(|group| groups[**group as usize].rows.len() == round + 1);
            let places: Vec<u32> = ends.iter().filter_map(|group| groups[*group as usize].current).collect();
            ended.push(picked(&current, &places)?);
            ended_groups.extend(ends);
            alive = remaining;
        }
        let ended = concat_batches(&ended[0].schema(), &ended)?;
        let returned = concat_batches(&returned[0].schema(), &returned)?;
        self.changes(&groups, (&ended, &ended_groups), (&returned, &returned_rows))
    }

    fn changes(
        &self,
        groups: &[Group],
        ended: (&RecordBatch, &[u32]),
        returned: (&RecordBatch, &[u32]),
    ) -> Result<UpsertChanges> {
        let mut added: Vec<(u32, u32)> = Vec::new();
        let mut updated: Vec<((u32, u32), u32)> = Vec::new();
        for (at, group) in ended.1.iter().enumerate() {
            let group = &groups[*group as usize];
            match group.place {
                Some(place) if group.is_updated => updated.push((place, at as u32)),
                Some(_) => {}
                None => added.push((group.rows[0], at as u32)),
            }
        }
        let in_order = |mut rows: Vec<(u32, u32)>| {
            rows.sort_unstable();
            rows.into_iter().map(|(_, at)| at).collect::<Vec<u32>>()
        };
        updated.sort_unstable();
        let places = |part: fn(&(u32, u32)) -> u32| -> UInt32Array {
            updated.iter().map(|(place, _)| part(place)).collect::<Vec<u32>>().into()
        };
        let rows: Vec<u32> = updated.iter().map(|(_, at)| *at).collect();
        let updated = match rows.is_empty() {
            true => None,
            false => Some((places(|place| place.0), places(|place| place.1), picked(ended.0, &rows)?)),
        };
        let order = returned.1.iter().enumerate().map(|(at, row)| (*row, at as u32)).collect();
        Ok(UpsertChanges {
            added: picked(ended.0, &in_order(added))?,
            updated,
            row_count: returned.1.len() as u64,
            returned: vec![picked(returned.0, &in_order(order))?],
        })
    }

    /// The groups, and the stored rows of groups that have one.
    fn groups(&self) -> Result<(Vec<Group>, RecordBatch)> {
        let place = |place: &Option<(u32, u32)>| Group { place: *place, ..Group::default() };
        let mut groups: Vec<Group> = self.holders.locations.iter().map(place).collect();
        for (row, group) in self.holders.group_of_row.iter().enumerate() {
            match group.and_then(|group| groups.get_mut(group as usize)) {
                Some(group) => group.rows.push(row as u32),
                None => groups.push(Group { rows: vec![row as u32], ..Group::default() }),
            }
        }
        // Each chunk is read only once.
        let mut by_chunk: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            if let Some((chunk, row)) = group.place {
                by_chunk.entry(chunk).or_default().push((row, at));
            }
        }
        let mut stored = vec![no_rows(self.table)];
        let mut count = 0;
        for (chunk, rows) in by_chunk {
            let numbers: Vec<u32> = rows.iter().map(|(row, _)| *row).collect();
            stored.push(in_types(&self.holders.rows.read(chunk, numbers)?, &stored[0])?);
            for (_, at) in rows {
                groups[at].current = Some(count);
                count += 1;
            }
        }
        let stored = concat_batches(&stored[0].schema(), &stored)?;
        Ok((groups, stored))
    }
}

/// Converts mapped columns to plain text, as in new rows.
fn in_types(rows: &RecordBatch, like: &RecordBatch) -> Result<RecordBatch> {
    let columns = rows.columns().iter().zip(like.columns());
    let columns =
        columns.map(|(array, like)| cast(array, like.data_type()).map_err(Error::from)).collect::<Result<_>>()?;
    RecordBatch::try_new(like.schema(), columns).map_err(Error::from)
}

fn picked(rows: &RecordBatch, numbers: &[u32]) -> Result<RecordBatch> {
    take_record_batch(rows, &UInt32Array::from(numbers.to_vec())).map_err(Error::from)
}
