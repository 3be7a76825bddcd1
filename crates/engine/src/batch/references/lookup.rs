//! Looking keys up in a table, in a form that child and parent have in common: mapped columns as text, integers of
//! different types as 64-bit ones, and all others as they are stored.

use crate::batch::keys::bounds::KeyBounds;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::chunk::missing::column_statistics;
use crate::read::row_checks::plain_of_stored;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use atsdb_codec::{stored_type, to_logical};
use atsdb_core::name::same_name;
use atsdb_core::{ChunkEntry, Column, Error, ForeignKey, Result, Table, TableDefinition, TimeRange};

/// The maximum number of rows whose keys are looked up at once.
const ROWS_MAX: usize = 1 << 20;

/// The columns of a foreign key on one of its sides, in the order of the key.
pub(super) struct ForeignKeySide<'a> {
    definition: &'a TableDefinition,
    pub(super) positions: Vec<usize>,
    /// For each column, whether its integers are compared as 64-bit ones.
    widened: Vec<bool>,
}

/// Returns the columns of a foreign key in the child, and those in the parent.
pub(super) fn sides<'a>(
    child: &'a TableDefinition,
    key: &ForeignKey,
    parent: &'a TableDefinition,
) -> Result<(ForeignKeySide<'a>, ForeignKeySide<'a>)> {
    let lost = || Error::internal(format!("foreign key {} of table {} has lost a column", key.name, child.name));
    let (mut own, mut other, mut widened) = (Vec::new(), Vec::new(), Vec::new());
    for (id, name) in key.columns.iter().zip(&key.parent_columns) {
        let at = child.columns.iter().position(|column| column.id == *id).ok_or_else(lost)?;
        let there = parent.columns.iter().position(|column| same_name(&column.name, name)).ok_or_else(lost)?;
        widened.push(child.columns[at].column_type != parent.columns[there].column_type);
        own.push(at);
        other.push(there);
    }
    let own = ForeignKeySide { definition: child, positions: own, widened: widened.clone() };
    Ok((own, ForeignKeySide { definition: parent, positions: other, widened }))
}

impl ForeignKeySide<'_> {
    /// The key of each row of a chunk.
    pub(super) fn read(&self, scan: &Scan, chunk: usize) -> Result<KeyColumns> {
        let stored = scan.read_stored(chunk, &self.positions)?;
        let common =
            |((array, position), widened): ((ArrayRef, &usize), &bool)| match self.definition.columns[*position].map {
                Some(_) => scan.plain_column(*position, &array),
                None if *widened => Ok(cast(&array, &DataType::Int64)?),
                None => Ok(array),
            };
        stored.into_iter().zip(&self.positions).zip(&self.widened).map(common).collect()
    }

    /// Keys to look up, which were read when the columns may have had narrower types.
    pub(super) fn wanted(&self, keys: &[KeyColumns]) -> Result<WantedKeys> {
        let converted = |((array, column), widened): ((&ArrayRef, &Column), &bool)| -> Result<ArrayRef> {
            match column.map {
                Some(_) => Ok(ArrayRef::clone(array)),
                None if *widened => Ok(cast(array, &DataType::Int64)?),
                None => Ok(cast(array, &stored_type(column))?),
            }
        };
        let all =
            keys.iter().map(|columns| columns.iter().zip(self.columns()).zip(&self.widened).map(converted).collect());
        WantedKeys::of(all.collect::<Result<Vec<KeyColumns>>>()?)
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.positions.iter().map(|position| &self.definition.columns[*position])
    }

    /// The values of a row as text.
    fn texts(&self, columns: &[ArrayRef], row: usize) -> Result<Vec<String>> {
        let text = |((array, column), widened): ((&ArrayRef, &Column), &bool)| {
            let value = logical(column, *widened, &array.slice(row, 1))?;
            Ok(array_value_to_string(&value, 0)?)
        };
        columns.iter().zip(self.columns()).zip(&self.widened).map(text).collect()
    }

    /// Values of one of the columns, given in the form in which they are looked up, in a form that can be stored in the
    /// other table.
    pub(super) fn logical(&self, at: usize, values: &ArrayRef) -> Result<ArrayRef> {
        logical(&self.definition.columns[self.positions[at]], self.widened[at], values)
    }

    /// Calls `look_up` with all keys of a scan, a limited number at once.
    pub(super) fn in_windows(&self, scan: &Scan, look_up: impl FnMut(WantedKeys) -> Result<()>) -> Result<()> {
        look_up_in_windows((0..scan.chunks().len()).map(|chunk| self.read(scan, chunk)), look_up)
    }

    /// The keys of rows that are not in a chunk yet: the columns of the table's foreign keys, in stored form.
    pub(super) fn of_added(&self, shared: &Shared, table: &Table, rows: &RecordBatch) -> Result<KeyColumns> {
        let lost = || Error::internal(format!("table {}: a column of a foreign key is missing", table.definition.name));
        let common = |(column, widened): (&Column, &bool)| {
            let array = rows.column_by_name(&column.name).ok_or_else(lost)?;
            match column.map {
                Some(_) => plain_of_stored(shared, table, column, array),
                None if *widened => Ok(cast(array, &DataType::Int64)?),
                None => Ok(ArrayRef::clone(array)),
            }
        };
        self.columns().zip(&self.widened).map(common).collect()
    }
}

/// Values of a column, given in the form in which they are looked up, as the column has them.
fn logical(column: &Column, widened: bool, values: &ArrayRef) -> Result<ArrayRef> {
    let is_stored = column.map.is_none() && !widened;
    if is_stored { to_logical(column, values) } else { Ok(ArrayRef::clone(values)) }
}

/// Calls `look_up` with keys, a limited number at once. Rows with a NULL in the key are left out, and of equal keys in
/// a batch all but one.
pub(super) fn look_up_in_windows(
    batches: impl Iterator<Item = Result<KeyColumns>>,
    mut look_up: impl FnMut(WantedKeys) -> Result<()>,
) -> Result<()> {
    let (mut waiting, mut row_count) = (Vec::new(), 0);
    for columns in batches {
        let columns = columns?;
        let distinct = Groups::of(std::slice::from_ref(&columns), false)?.distinct(&columns)?;
        row_count += distinct.first().map_or(0, |array| array.len());
        waiting.push(distinct);
        if row_count > ROWS_MAX {
            row_count = 0;
            look_up(WantedKeys::of(std::mem::take(&mut waiting))?)?;
        }
    }
    if row_count == 0 { Ok(()) } else { look_up(WantedKeys::of(waiting)?) }
}

/// Rows of a chunk that have one of some keys.
pub(super) struct KeyHits {
    /// The position of the chunk in its scan.
    pub(super) position: usize,
    /// The numbers of the rows in the chunk.
    pub(super) rows: Vec<u32>,
    /// For each of these rows, the number of the first key that equals its own, counted over all keys.
    pub(super) keys: Vec<u32>,
}

/// Keys that are looked up.
pub(super) struct WantedKeys {
    pub(super) batches: Vec<KeyColumns>,
    groups: Groups,
}

impl WantedKeys {
    pub(super) fn of(batches: Vec<KeyColumns>) -> Result<Self> {
        Ok(Self { groups: Groups::of(&batches, false)?, batches })
    }

    /// The values, as text, of the first key with this flag.
    pub(super) fn first_text(
        &self,
        side: &ForeignKeySide<'_>,
        flags: &[bool],
        flag: bool,
    ) -> Result<Option<Vec<String>>> {
        let Some(group) = flags.iter().position(|own| *own == flag) else { return Ok(None) };
        let mut before = 0;
        for columns in &self.batches {
            let row_count = columns.first().map_or(0, |array| array.len());
            let is_it = |row: &usize| self.groups.group(before + row) == u32::try_from(group).ok();
            if let Some(row) = (0..row_count).find(is_it) {
                return side.texts(columns, row).map(Some);
            }
            before += row_count;
        }
        Err(Error::internal("a key is in no batch"))
    }

    /// The keys with a flag that is not set.
    pub(super) fn without(&self, flags: &[bool]) -> Result<Vec<KeyColumns>> {
        let (mut kept, mut before) = (Vec::new(), 0);
        for columns in &self.batches {
            let row_count = columns.first().map_or(0, |array| array.len());
            let is_unset = |row: usize| {
                let flag = self.groups.group(before + row).and_then(|group| flags.get(group as usize));
                flag.is_some_and(|flag| !flag)
            };
            let numbered = (0_u32..).zip(0..row_count);
            let rows: UInt32Array = numbered.filter(|(_, row)| is_unset(*row)).map(|(number, _)| number).collect();
            if !rows.is_empty() {
                kept.push(columns.iter().map(|array| Ok(take(array, &rows, None)?)).collect::<Result<_>>()?);
            }
            before += row_count;
        }
        Ok(kept)
    }

    fn bounds(&self, side: &ForeignKeySide<'_>) -> KeyBounds {
        let key = Key { positions: side.positions.clone(), time: None, nulls_equal: false };
        let mut bounds = KeyBounds::new(&key);
        self.batches.iter().for_each(|columns| bounds.widen(columns));
        bounds
    }

    /// Returns for each key whether rows of a scan have it, and the chunks in which keys were found first.
    pub(super) fn found_in(&self, side: &ForeignKeySide<'_>, scan: &Scan) -> Result<(Vec<bool>, Vec<ScanChunk>)> {
        let (bounds, mut flags, mut chunks) = (self.bounds(side), vec![false; self.groups.count()], Vec::new());
        let mut left = flags.len();
        // The batch's own chunks come last, and are the most likely ones.
        for chunk in (0..scan.chunks().len()).rev() {
            if left == 0 {
                break;
            }
            if !may_hold(side, &scan.chunks()[chunk], &bounds) {
                continue;
            }
            let before = left;
            for group in self.groups.find(&side.read(scan, chunk)?)?.into_iter().flatten() {
                let flag = &mut flags[group as usize];
                left -= usize::from(!std::mem::replace(flag, true));
            }
            if left < before {
                chunks.push(scan.chunks()[chunk].clone());
            }
        }
        Ok((flags, chunks))
    }

    /// The rows of a scan that have one of the keys.
    pub(super) fn rows_in(&self, side: &ForeignKeySide<'_>, scan: &Scan) -> Result<Vec<KeyHits>> {
        let (bounds, mut hits) = (self.bounds(side), Vec::new());
        for (position, chunk) in scan.chunks().iter().enumerate() {
            if !may_hold(side, chunk, &bounds) {
                continue;
            }
            let found = self.groups.find(&side.read(scan, position)?)?;
            let hit = |(row, group): (u32, Option<u32>)| group.map(|group| (row, self.groups.first_row(group)));
            let (rows, keys): (Vec<u32>, Vec<u32>) = (0_u32..).zip(found).filter_map(hit).unzip();
            if !rows.is_empty() {
                hits.push(KeyHits { position, rows, keys });
            }
        }
        Ok(hits)
    }

    /// The keys that are not among others.
    pub(super) fn not_among(&self, others: &[KeyColumns]) -> Result<Vec<KeyColumns>> {
        self.without(&self.are_among(others)?)
    }

    /// The keys that are among others.
    pub(super) fn among(&self, others: &[KeyColumns]) -> Result<Vec<KeyColumns>> {
        let are_missing: Vec<bool> = self.are_among(others)?.into_iter().map(|is_among| !is_among).collect();
        self.without(&are_missing)
    }

    fn are_among(&self, others: &[KeyColumns]) -> Result<Vec<bool>> {
        let mut flags = vec![false; self.groups.count()];
        for columns in others {
            self.groups.find(columns)?.into_iter().flatten().for_each(|group| flags[group as usize] = true);
        }
        Ok(flags)
    }
}

fn may_hold(side: &ForeignKeySide<'_>, chunk: &ScanChunk, bounds: &KeyBounds) -> bool {
    let statistics: Vec<_> = side.columns().map(|column| column_statistics(&chunk.descriptor, column)).collect();
    bounds.meets(chunk.entry.row_count, &statistics)
}

/// A scan over the chunks of a table that are visible in a snapshot.
pub(super) fn scan_of(snapshot: &ReadSnapshot, table: &Table) -> Result<Scan> {
    scan_over(snapshot, table, snapshot.inner.store.chunks(table.id, TimeRange::ALL)?)
}

/// A scan over some chunks of a table.
pub(super) fn scan_over(snapshot: &ReadSnapshot, table: &Table, entries: Vec<ChunkEntry>) -> Result<Scan> {
    let request = ScanRequest { columns: Vec::new(), use_cache: true, ..ScanRequest::all(table) };
    Scan::over(snapshot, table, &request, entries)
}
