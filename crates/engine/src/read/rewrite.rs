//! Rewriting a chunk: its successor has fewer rows or other values in some columns.
//!
//! If all rows stay, the pages of unchanged columns are not decoded but bound to the new chunk unchanged. The successor
//! is fresh, and sealing merges it again. The commit must remove the old chunk in the same change, so that if two
//! writers rewrite a chunk at the same time, one of them is refused.

use crate::chunk::encode::new_chunk;
use crate::chunk::index_columns::{encode_index, index_positions};
use crate::chunk::long_values::LongValues;
use crate::chunk::slice_buffer::times_from;
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::{filter, interleave, max, min};
use atsdb_codec::{Effort, EncodedPage, encode_page, rebind_page, stored_type};
use atsdb_core::limits::{CHUNK_TEXT_BYTES_MAX, VALUE_BYTES_MAX};
use atsdb_core::{ChunkDescriptor, ChunkUid, Column, ColumnId, Error, ErrorKind, Index, NewChunk, Result};
use std::collections::HashMap;

/// How a chunk is rewritten.
#[derive(Debug, Clone, Default)]
pub struct Rewrite {
    /// A mask of the rows that stay, without NULLs. `None` keeps all rows.
    pub keep: Option<BooleanArray>,
    /// The columns that change, by position in the table's definition: arrays in stored form with a value for each row
    /// of the old chunk. The time column cannot be set: a row may move to another slice, so it must be deleted and
    /// added again.
    pub set: Vec<(usize, ArrayRef)>,
}

impl Scan {
    /// Builds the successor of a chunk, or `None` if no row is left. Any number of threads may call this at the same
    /// time. Values that violate a CHECK constraint are refused.
    pub fn rewrite(&self, position: usize, rewrite: &Rewrite) -> Result<Option<NewChunk>> {
        let chunk = self.chunk(position)?;
        self.check(chunk, rewrite)?;
        let row_count = chunk.entry.row_count as usize;
        let keep = rewrite.keep.as_ref().filter(|keep| keep.true_count() < row_count);
        if keep.is_some_and(|keep| !keep.has_true()) {
            return Ok(None);
        }
        let uid = self.snapshot.shared.environment.chunk_uid()?;
        let successor = Successor { scan: self, chunk, uid, keep, set: &rewrite.set };
        successor.check_rows()?;
        successor.build().map(Some).map_err(|error| {
            error.context(format_args!("table {}, chunk {}", self.table.definition.name, chunk.entry.id.0))
        })
    }

    /// A column of a whole chunk in stored form, as [`Rewrite::set`] takes it, with new values in some rows. `numbers`
    /// are the rows' numbers, as [`read_numbered`](Self::read_numbered) returns them; `values` are in stored form.
    pub fn replaced(
        &self,
        position: usize,
        column: usize,
        numbers: &UInt32Array,
        values: &ArrayRef,
    ) -> Result<ArrayRef> {
        let chunk = self.chunk(position)?;
        let row_count = chunk.entry.row_count as usize;
        if numbers.len() != values.len() || numbers.null_count() > 0 {
            return Err(Error::internal("there must be one value for each replaced row"));
        }
        if numbers.values().iter().copied().eq(0..chunk.entry.row_count) {
            return Ok(ArrayRef::clone(values));
        }
        let old = self.read_stored(position, &[column])?.remove(0);
        let mut sources: Vec<(usize, usize)> = (0..row_count).map(|row| (0, row)).collect();
        for (at, number) in numbers.values().iter().enumerate() {
            let source = sources.get_mut(*number as usize);
            *source
                .ok_or_else(|| Error::internal(format!("row {number} is replaced in a chunk of {row_count} rows")))? =
                (1, at);
        }
        check_text_bytes(&old, values, numbers).map_err(with_hint_to_insert)?;
        Ok(interleave(&[&old, values], &sources)?)
    }

    fn check(&self, chunk: &ScanChunk, rewrite: &Rewrite) -> Result<()> {
        let definition = &self.table.definition;
        let row_count = chunk.entry.row_count as usize;
        let refuse = |problem: &str| Err(Error::internal(format!("table {}: {problem}", definition.name)));
        if rewrite.keep.as_ref().is_some_and(|keep| keep.len() != row_count || keep.null_count() > 0) {
            return refuse("the mask of a rewrite does not cover the rows of the chunk");
        }
        for (position, array) in &rewrite.set {
            let Some(column) = definition.columns.get(*position) else {
                return refuse("a rewrite sets a column that does not exist");
            };
            if definition.time_column().is_some_and(|time| time.id == column.id) {
                return refuse("a rewrite sets the time column");
            }
            if array.len() != row_count || *array.data_type() != stored_type(column) {
                return refuse("a rewrite sets a column to an array of another length or type");
            }
            if !column.nullable && array.null_count() > 0 {
                return refuse("a rewrite sets a NOT NULL column to NULL");
            }
        }
        Ok(())
    }
}

/// Refuses values that would make the column larger than a page can be, before an array of them is built.
fn check_text_bytes(old: &ArrayRef, values: &ArrayRef, numbers: &UInt32Array) -> Result<()> {
    let (Some(before), Some(after)) = (LongValues::of(old), LongValues::of(values)) else { return Ok(()) };
    let length = |row: u32| before.byte_count(row as usize..row as usize + 1);
    let replaced: usize = numbers.values().iter().map(|row| length(*row)).sum();
    let byte_count = before.total().saturating_sub(replaced) + after.total();
    let most = CHUNK_TEXT_BYTES_MAX + VALUE_BYTES_MAX;
    match byte_count > most {
        true => {
            let message = format!("a chunk would have {byte_count} bytes of text; the maximum is {most}");
            Err(Error::new(ErrorKind::Limit, message))
        }
        false => Ok(()),
    }
}

/// Adds a hint: values that do not fit into an existing chunk fit into new ones.
fn with_hint_to_insert(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Limit => error.with_hint("delete the rows and insert them again, so that they get new chunks"),
        _ => error,
    }
}

/// A successor under construction.
struct Successor<'a> {
    scan: &'a Scan,
    chunk: &'a ScanChunk,
    uid: ChunkUid,
    /// `None` keeps all rows.
    keep: Option<&'a BooleanArray>,
    set: &'a [(usize, ArrayRef)],
}

impl Successor<'_> {
    /// Refuses new values that violate a CHECK constraint. Those of the columns that stay were tested before.
    fn check_rows(&self) -> Result<()> {
        if self.set.is_empty() || self.scan.table.definition.checks.is_empty() {
            return Ok(());
        }
        let set: Vec<usize> = self.set.iter().map(|(position, _)| *position).collect();
        let row_count = self.keep.map_or(self.chunk.entry.row_count as usize, BooleanArray::true_count);
        self.scan.check_rewritten(&set, row_count, |position| self.rows_of(position))
    }

    fn build(&self) -> Result<NewChunk> {
        let definition = &self.scan.table.definition;
        let mut rebound = self.rebound_pages()?;
        let (mut pages, mut descriptors) = (Vec::new(), Vec::new());
        let mut push = |page: EncodedPage| {
            pages.push(page.bytes);
            descriptors.push(page.descriptor);
        };
        let (mut time_min, mut time_max) = (self.chunk.entry.time_min, self.chunk.entry.time_max);
        for (position, column) in definition.columns.iter().enumerate() {
            if let Some(page) = rebound.remove(&column.id) {
                push(page);
                continue;
            }
            if !self.is_set(position) && self.chunk.descriptor.page(column.id).is_none() {
                // The chunk is older than the column, and its successor counts as older, too.
                continue;
            }
            let array = self.rows_of(position)?;
            if definition.time_column().is_some_and(|time| time.id == column.id) {
                let times = times_from(definition, &array)?;
                (time_min, time_max) = (min(&times).unwrap_or(time_min), max(&times).unwrap_or(time_max));
            }
            push(encode_page(self.uid, column, &array, Effort::Fresh).map_err(with_hint_to_insert)?);
        }
        for index in &definition.indexes {
            let page = match rebound.remove(&index.id) {
                Some(page) => page,
                None => self.index_page(index)?,
            };
            push(page);
        }
        let descriptor = ChunkDescriptor {
            uid: self.uid,
            row_count: self.keep.map_or(self.chunk.entry.row_count, |keep| keep.true_count() as u32),
            sealed: false,
            slice: self.chunk.descriptor.slice,
            time_min,
            time_max,
            pages: descriptors,
        };
        Ok(new_chunk(self.scan.table.id, descriptor, pages))
    }

    /// The unchanged pages, bound to the new chunk.
    fn rebound_pages(&self) -> Result<HashMap<ColumnId, EncodedPage>> {
        if self.keep.is_some() {
            return Ok(HashMap::new());
        }
        let definition = &self.scan.table.definition;
        let mut wanted = Vec::new();
        for (position, column) in definition.columns.iter().enumerate() {
            wanted.extend((!self.is_set(position)).then_some(column.id));
        }
        for index in &definition.indexes {
            let stays = !index_positions(definition, index)?.into_iter().any(|position| self.is_set(position));
            wanted.extend(stays.then_some(index.id));
        }
        let uid = self.chunk.descriptor.uid;
        let descriptors: Vec<_> = wanted.into_iter().filter_map(|id| self.chunk.descriptor.page(id)).collect();
        let ids: Vec<ColumnId> = descriptors.iter().map(|page| page.column).collect();
        let pages = self.scan.snapshot.pages(&self.scan.table, &self.chunk.entry, &self.chunk.descriptor, &ids)?;
        let rebind = |(descriptor, bytes): (&atsdb_core::PageDescriptor, Vec<u8>)| {
            let bytes = rebind_page(uid, self.uid, descriptor.column, &bytes)?;
            Ok((descriptor.column, EncodedPage { bytes, descriptor: descriptor.clone() }))
        };
        descriptors.into_iter().zip(pages).map(rebind).collect()
    }

    fn index_page(&self, index: &Index) -> Result<EncodedPage> {
        let definition = &self.scan.table.definition;
        let positions = index_positions(definition, index)?;
        let columns = positions.into_iter().map(|position| self.rows_of(position)).collect::<Result<Vec<_>>>()?;
        encode_index(self.uid, definition, index, &columns)
    }

    fn is_set(&self, position: usize) -> bool {
        self.set.iter().any(|(set, _)| *set == position)
    }

    /// A column with the rows that stay.
    fn rows_of(&self, position: usize) -> Result<ArrayRef> {
        let array = match self.set.iter().find(|(set, _)| *set == position) {
            Some((_, array)) => ArrayRef::clone(array),
            None => {
                let column: &Column = &self.scan.table.definition.columns[position];
                self.scan.load(self.chunk, &[column])?.remove(0)
            }
        };
        match self.keep {
            Some(keep) => Ok(filter(&array, keep)?),
            None => Ok(array),
        }
    }
}
