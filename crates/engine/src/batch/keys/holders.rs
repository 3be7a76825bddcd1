//! Who has the keys of new rows already: for those who decide themselves what becomes of a row whose key is there.
//!
//! Nothing is added here, and nothing guarded: rows that are added afterwards with [`ConflictPolicy::Error`] are, and a
//! row that is replaced takes its chunk away, so that of two who decide at once one is refused.

use crate::batch::Batch;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::batch::keys::probe::Candidates;
use crate::batch::keys::resolve::resolve;
use crate::batch::keys::scope::Scope;
use crate::chunk::coerce::{Rows, coerce, coerce_column};
use crate::chunk::slice_buffer::internal;
use crate::read::scan::Scan;
use crate::read::snapshot::ReadSnapshot;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_codec::{arrow_schema, logical_type};
use atsdb_core::{Column, ConflictPolicy, Error, Result, Table, TimeRange};
use atsdb_resident::{RowKeys, TableMatches, TableState};
use std::fmt;
use std::sync::Arc;

/// Where the rows are that have the keys.
pub enum HeldRows {
    /// In chunks: those of a scan of whole rows.
    Stored(Box<Scan>),
    /// In the process: the chunks of their places are parts of this.
    Resident(Arc<TableState>),
}

impl HeldRows {
    /// Some rows of a chunk, whole.
    pub fn read(&self, chunk: u32, rows: Vec<u32>) -> Result<RecordBatch> {
        match self {
            Self::Stored(scan) => {
                let whole = scan.read(chunk as usize)?;
                let whole = whole.ok_or_else(|| Error::internal("a chunk with a key has no rows"))?;
                take_record_batch(&whole, &UInt32Array::from(rows)).map_err(internal)
            }
            Self::Resident(state) => {
                let schema = arrow_schema(state.definition());
                let columns: Vec<usize> = (0..schema.fields().len()).collect();
                let found = TableMatches { probes: Vec::new(), parts: vec![chunk; rows.len()], rows };
                RecordBatch::try_new(schema, state.gather(&found, &columns)?).map_err(internal)
            }
        }
    }
}

/// Which rows have the keys of some new ones. New rows of the same key are one group.
pub struct Holders {
    /// The rows that have the keys.
    pub rows: HeldRows,
    /// For each new row its group; `None` where the key has a NULL, and is the same as no other.
    pub group_of_row: Vec<Option<u32>>,
    /// For each group where the row is that has its key: the position of a chunk in the scan, and the row in it.
    pub places: Vec<Option<(u32, u32)>>,
}

impl fmt::Debug for HeldRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(scan) => scan.fmt(f),
            Self::Resident(_) => f.write_str("Resident"),
        }
    }
}

impl fmt::Debug for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holders").field("groups", &self.places.len()).finish_non_exhaustive()
    }
}

impl Batch {
    /// Looks for the rows that have the keys of some new ones: by one of the table's keys, by its place in
    /// [`unique`](atsdb_core::TableDefinition::unique). The new rows are complete ones.
    pub fn holders(&mut self, table: &Table, key: usize, rows: &RecordBatch) -> Result<Holders> {
        let key = match table.definition.unique.get(key) {
            Some(unique) => Key::of(&table.definition, unique)?,
            None => return Err(Error::usage(format!("table {} has no key {key}", table.definition.name))),
        };
        let columns = self.stored_key(table, &key, rows)?;
        let snapshot = self.snapshot()?;
        if table.definition.is_in_memory() {
            return resident_holders(&snapshot, table, &key, &columns);
        }
        let mut scope = Scope::new(key.positions.len());
        scope.widen(&columns);
        let keys = [key];
        let scopes = [scope];
        let candidates = Candidates::of(&snapshot, table, &keys, &scopes, TimeRange::ALL)?;
        let groups = Groups::of(&[columns])?;
        let (scan, places) = candidates.places(&snapshot, table, &keys[0], &groups)?;
        let group_of_row = (0..rows.num_rows()).map(|row| groups.group(row)).collect();
        Ok(Holders { rows: HeldRows::Stored(Box::new(scan)), group_of_row, places })
    }

    /// Which of some complete rows [`ConflictPolicy::Keep`] would add.
    pub fn would_stay(&mut self, table: &Table, rows: &RecordBatch) -> Result<Vec<bool>> {
        if table.definition.is_in_memory() {
            let state = self.snapshot()?.resident(table)?;
            return state.rows_kept(rows.columns().to_vec(), rows.num_rows());
        }
        let keys = Key::all_of(&table.definition)?;
        let columns = keys.iter().map(|key| self.stored_key(table, key, rows)).collect::<Result<Vec<_>>>()?;
        let snapshot = self.snapshot()?;
        let scope = |(key, columns): (&Key, &KeyColumns)| {
            let mut scope = Scope::new(key.positions.len());
            scope.widen(columns);
            scope
        };
        let scopes: Vec<Scope> = keys.iter().zip(&columns).map(scope).collect();
        let candidates = Candidates::of(&snapshot, table, &keys, &scopes, TimeRange::ALL)?;
        let groups = columns.into_iter().map(|columns| Groups::of(&[columns])).collect::<Result<Vec<_>>>()?;
        let found = candidates.probe(&snapshot, table, &keys, &groups, ConflictPolicy::Keep)?;
        resolve(rows.num_rows(), &groups, &found.stored, ConflictPolicy::Keep)
            .map_err(|_| Error::internal("rows that are kept out are no error"))
    }

    /// Rows as the table will have them: every column, in order, of its logical type, but plain text for a mapped one.
    pub fn complete(&self, table: &Table, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = coerce(&table.definition, rows)?;
        let columns = columns.iter().zip(&table.definition.columns).map(|(array, column)| plain(array, column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let fields = table.definition.columns.iter().map(|column| Field::new(&column.name, plain_type(column), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(internal)
    }

    /// Values for one column, by position, as [`complete`](Self::complete) gives them. Errors do not say which row it
    /// is.
    pub fn completed(&self, table: &Table, position: usize, values: &ArrayRef) -> Result<ArrayRef> {
        let Some(column) = table.definition.columns.get(position) else {
            return Err(Error::usage(format!("table {} has no column {position}", table.definition.name)));
        };
        plain(&coerce_column(&table.definition, column, values, Rows::Unnumbered)?, column)
    }

    fn stored_key(&mut self, table: &Table, key: &Key, rows: &RecordBatch) -> Result<KeyColumns> {
        key.positions.iter().map(|position| self.stored(table, *position, rows.column(*position))).collect()
    }
}

/// The same by the index of a table in memory.
fn resident_holders(snapshot: &ReadSnapshot, table: &Table, key: &Key, columns: &KeyColumns) -> Result<Holders> {
    let state = snapshot.resident(table)?;
    let index = state.indexes().iter().position(|index| index.positions == key.positions);
    let index = index.ok_or_else(|| Error::internal("a key without an index"))?;
    let groups = Groups::of(std::slice::from_ref(columns))?;
    let found = state.find(index, &RowKeys::new(columns)?);
    let mut places = vec![None; groups.count()];
    for ((row, part), number) in found.probes.iter().zip(&found.parts).zip(&found.rows) {
        if let Some(place) = groups.group(*row as usize).and_then(|group| places.get_mut(group as usize)) {
            *place = Some((*part, *number));
        }
    }
    let row_count = columns.first().map_or(0, |array| array.len());
    let group_of_row = (0..row_count).map(|row| groups.group(row)).collect();
    Ok(Holders { rows: HeldRows::Resident(state), group_of_row, places })
}

fn plain_type(column: &Column) -> DataType {
    if column.map.is_some() { DataType::Utf8 } else { logical_type(column) }
}

fn plain(array: &ArrayRef, column: &Column) -> Result<ArrayRef> {
    match plain_type(column) {
        wanted if wanted == *array.data_type() => Ok(ArrayRef::clone(array)),
        wanted => cast(array, &wanted).map_err(internal),
    }
}
