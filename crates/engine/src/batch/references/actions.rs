//! The referential actions (`ON DELETE`, `ON UPDATE`), applied to rows that refer to keys which their parents no longer
//! have: the rows are deleted, or the columns of the foreign key get other values.

use crate::batch::Batch;
use crate::batch::references::children::own_table;
use crate::batch::references::lookup::{ForeignKeySide, KeyHits, WantedKeys, scan_of, sides};
use crate::batch::references::moved::ChangedKeys;
use crate::batch::references::state::{GoneKeys, Reference};
use crate::batch::row_checks::check_stored_rows;
use crate::read::rewrite::Rewrite;
use crate::read::scan::Scan;
use arrow::array::{ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow::compute::take;
use atsdb_codec::logical_type;
use atsdb_core::{ConflictPolicy, ErrorKind, NewChunk, ReferentialAction, Result, Table};

/// The values of rows in stored form, each with the position of its column.
type NewValues = Vec<(usize, ArrayRef)>;

impl Batch {
    /// Deletes or changes the rows that refer to keys that are gone. `changed` has the keys that rows of the parent got
    /// instead.
    pub(super) fn change_children(&mut self, parent: &Table, gone: &GoneKeys, changed: &ChangedKeys) -> Result<()> {
        let view = self.snapshot()?;
        let Reference { child, key } = &gone.reference;
        let Some(child) = own_table(&view, *child) else { return Ok(()) };
        let (side, other) = sides(&child.definition, key, &parent.definition)?;
        let scan = scan_of(&view, &child)?;
        let hits = WantedKeys::of(gone.keys.clone())?.rows_in(&side, &scan)?;
        if !hits.is_empty() {
            // Rows that the statement has added may be among them. They are looked up as they are then.
            self.changes.references_mut().reread_added(child.id);
        }
        let deletes = gone.is_deletion && gone.action == ReferentialAction::Cascade;
        let was_deleting = self.set_deleting(deletes);
        let done = match deletes {
            true => hits.iter().try_for_each(|hit| {
                let successor = without_rows(&scan, hit)?;
                self.replace(&child, scan.chunks()[hit.position].entry.id, successor).map(|_| ())
            }),
            false => self.set_in_children(&child, &scan, hits, &side, |batch, hit| {
                batch.values_of_action(&child, &side, hit, gone, |at| changed.present_for(&other, at, hit))
            }),
        };
        self.set_deleting(was_deleting);
        done
    }

    /// Gives rows of a child other values in the columns of a foreign key.
    fn set_in_children(
        &mut self,
        child: &Table,
        scan: &Scan,
        hits: Vec<KeyHits>,
        side: &ForeignKeySide<'_>,
        values: impl Fn(&mut Self, &KeyHits) -> Result<NewValues>,
    ) -> Result<()> {
        let moves = side.columns().any(|column| child.definition.moves_rows(column.id));
        let mut moved = Vec::new();
        for hit in hits {
            let (set, rows) = (values(self, &hit)?, UInt32Array::from(hit.rows.clone()));
            let chunk = scan.chunks()[hit.position].entry.id;
            if !moves && let Some(successor) = with_values(scan, hit.position, &rows, &set)? {
                self.replace(child, chunk, Some(successor))?;
                continue;
            }
            let all: Vec<usize> = (0..child.definition.columns.len()).collect();
            let before = scan.read_stored(hit.position, &all)?;
            let before = before.iter().map(|array| Ok(take(array, &rows, None)?)).collect::<Result<Vec<_>>>()?;
            let mut after = before.clone();
            set.into_iter().for_each(|(at, values)| after[at] = values);
            self.note_moved_stored(child, &before, &after)?;
            self.replace(child, chunk, without_rows(scan, &hit)?)?;
            moved.push((after, rows.len()));
        }
        // A row may get the key that another one has given up.
        moved.into_iter().try_for_each(|(columns, row_count)| {
            check_stored_rows(&self.handle.shared, child, &columns, row_count)?;
            self.push_with(child, columns, row_count, ConflictPolicy::Error)
        })
    }

    /// The values that rows get in the columns of a foreign key, or in those that a deletion sets. `present` returns
    /// those of the parent's rows in the column at a position of the key.
    fn values_of_action(
        &mut self,
        child: &Table,
        side: &ForeignKeySide<'_>,
        hit: &KeyHits,
        gone: &GoneKeys,
        present: impl Fn(usize) -> Result<ArrayRef>,
    ) -> Result<NewValues> {
        let (definition, row_count) = (&child.definition, hit.rows.len());
        let mut set = Vec::with_capacity(side.positions.len());
        let set_columns = &gone.reference.key.set_columns;
        let stays = |id| gone.is_deletion && !set_columns.is_empty() && !set_columns.contains(&id);
        for (at, position) in side.positions.iter().enumerate() {
            if stays(definition.columns[*position].id) {
                continue;
            }
            let values = match gone.action {
                ReferentialAction::Cascade => Some(present(at)?),
                ReferentialAction::SetDefault => self.supplied(child, *position, row_count)?,
                _ => None,
            };
            let nulls = || new_null_array(&logical_type(&definition.columns[*position]), row_count);
            set.push((*position, self.stored(child, *position, &values.unwrap_or_else(nulls))?));
        }
        Ok(set)
    }
}

impl ChangedKeys {
    /// The values that the rows of a chunk get in the column at a position of the key, as the parent has them.
    fn present_for(&self, parent: &ForeignKeySide<'_>, at: usize, hit: &KeyHits) -> Result<ArrayRef> {
        parent.logical(at, &self.present(at, &hit.keys)?)
    }
}

/// The successor of a chunk without some rows.
fn without_rows(scan: &Scan, hit: &KeyHits) -> Result<Option<NewChunk>> {
    let mut keep = vec![true; scan.chunks()[hit.position].entry.row_count as usize];
    hit.rows.iter().for_each(|row| keep[*row as usize] = false);
    scan.rewrite(hit.position, &Rewrite { keep: Some(BooleanArray::from(keep)), set: Vec::new() })
}

/// The successor of a chunk in which some rows have other values; `None` if these are too large for one chunk.
fn with_values(
    scan: &Scan,
    position: usize,
    rows: &UInt32Array,
    set: &[(usize, ArrayRef)],
) -> Result<Option<NewChunk>> {
    let replaced = |(at, values): &(usize, ArrayRef)| Ok((*at, scan.replaced(position, *at, rows, values)?));
    let successor = set.iter().map(replaced).collect::<Result<Vec<_>>>().and_then(|set| {
        let rewrite = Rewrite { keep: None, set };
        scan.rewrite(position, &rewrite)
    });
    match successor {
        Err(error) if error.kind() == ErrorKind::Limit => Ok(None),
        successor => successor,
    }
}
