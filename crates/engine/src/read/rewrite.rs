//! Rewrite: one chunk to its successor, some rows left out, some columns changed.
//!
//! What stays is not decoded: pages of columns that are not set are bound to the new chunk as they are, as long as all
//! rows stay. The successor is fresh; sealing merges it again. Who commits it removes the old chunk in the same change,
//! so that of two that rewrite a chunk at once one is refused.

use crate::chunk::encode::new_chunk;
use crate::chunk::index_columns::index_positions;
use crate::chunk::slice_buffer::{internal, times_from};
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::compute::{filter, interleave, max, min};
use arrow::datatypes::DataType;
use atsdb_codec::{Effort, EncodedPage, encode_membership, encode_page, rebind_page, stored_type};
use atsdb_core::limits::{CHUNK_TEXT_BYTES_MAX, VALUE_BYTES_MAX};
use atsdb_core::{ChunkDescriptor, ChunkUid, Column, ColumnId, Error, ErrorKind, Index, NewChunk, Result};
use std::collections::HashMap;

/// What becomes of a chunk's rows.
#[derive(Debug, Clone, Default)]
pub struct Rewrite {
    /// The rows that stay, of all the chunk's; `None` is all of them. Without NULLs.
    pub keep: Option<BooleanArray>,
    /// Columns that change, by position in the table's definition, in stored form, with a value for each row of the old
    /// chunk. Not the time column: rows that change their time may change their slice, and are deleted and added anew.
    pub set: Vec<(usize, ArrayRef)>,
}

impl Scan {
    /// The successor of a chunk. `None` when no row is left. It may be called by any number of threads at once.
    pub fn rewrite(&self, position: usize, rewrite: &Rewrite) -> Result<Option<NewChunk>> {
        let chunk = self.chunk(position)?;
        self.check(chunk, rewrite)?;
        let row_count = chunk.entry.row_count as usize;
        let keep = rewrite.keep.as_ref().filter(|keep| keep.true_count() < row_count);
        if keep.is_some_and(|keep| !keep.has_true()) {
            return Ok(None);
        }
        let uid = self.snapshot.shared.environment.chunk_uid()?;
        Successor { scan: self, chunk, uid, keep, set: &rewrite.set }.build().map(Some).map_err(|error| {
            error.context(format_args!("table {}, chunk {}", self.table.definition.name, chunk.entry.id.0))
        })
    }

    /// A column of a whole chunk in stored form, as [`Rewrite::set`] takes it, in which the rows of these numbers (as
    /// [`read_numbered`](Self::read_numbered) gives them) have these values, also in stored form.
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
            return Err(Error::internal("not a value for each row that is replaced"));
        }
        if numbers.values().iter().copied().eq(0..chunk.entry.row_count) {
            return Ok(ArrayRef::clone(values));
        }
        let old = self.read_stored(position, &[column])?.remove(0);
        let mut sources: Vec<(usize, usize)> = (0..row_count).map(|row| (0, row)).collect();
        for (place, number) in numbers.values().iter().enumerate() {
            let source = sources.get_mut(*number as usize);
            *source.ok_or_else(|| Error::internal(format!("row {number} of {row_count} is replaced")))? = (1, place);
        }
        check_text_bytes(&old, values, numbers).map_err(new_chunks_instead)?;
        interleave(&[&old, values], &sources).map_err(internal)
    }

    fn check(&self, chunk: &ScanChunk, rewrite: &Rewrite) -> Result<()> {
        let definition = &self.table.definition;
        let row_count = chunk.entry.row_count as usize;
        let refuse = |problem: &str| Err(Error::internal(format!("table {}: {problem}", definition.name)));
        if rewrite.keep.as_ref().is_some_and(|keep| keep.len() != row_count || keep.null_count() > 0) {
            return refuse("a rewrite does not say of each row whether it stays");
        }
        for (position, array) in &rewrite.set {
            let Some(column) = definition.columns.get(*position) else {
                return refuse("a rewrite sets a column that is not there");
            };
            if definition.time_column().is_some_and(|time| time.id == column.id) {
                return refuse("a rewrite sets the time");
            }
            if array.len() != row_count || *array.data_type() != stored_type(column) {
                return refuse("a rewrite sets a column to what is no column of the chunk");
            }
            if !column.nullable && array.null_count() > 0 {
                return refuse("a rewrite sets a column to NULL that takes none");
            }
        }
        Ok(())
    }
}

/// Refuses values with which those of the chunk would be more than a page takes, before they are put into one array.
fn check_text_bytes(old: &ArrayRef, values: &ArrayRef, numbers: &UInt32Array) -> Result<()> {
    let (Some(before), Some(after)) = (offsets(old), offsets(values)) else { return Ok(()) };
    let length = |row: u32| before.get(row as usize..row as usize + 2).map_or(0, span);
    let replaced: usize = numbers.values().iter().map(|row| length(*row)).sum();
    let byte_count = span(before).saturating_sub(replaced) + span(after);
    let most = CHUNK_TEXT_BYTES_MAX + VALUE_BYTES_MAX;
    match byte_count > most {
        true => {
            let message = format!("{byte_count} bytes of text in one chunk; the most is {most}");
            Err(Error::new(ErrorKind::Limit, message))
        }
        false => Ok(()),
    }
}

fn offsets(array: &ArrayRef) -> Option<&[i32]> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value_offsets()),
        DataType::Binary => Some(array.as_binary::<i32>().value_offsets()),
        _ => None,
    }
}

fn span(offsets: &[i32]) -> usize {
    offsets.first().zip(offsets.last()).map_or(0, |(first, last)| last.abs_diff(*first) as usize)
}

/// What does not fit into a chunk that is there fits into new ones.
fn new_chunks_instead(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Limit => error.with_hint("delete the rows and insert them anew: they come into chunks of their own"),
        _ => error,
    }
}

/// A chunk on its way.
struct Successor<'a> {
    scan: &'a Scan,
    chunk: &'a ScanChunk,
    uid: ChunkUid,
    /// `None` is all.
    keep: Option<&'a BooleanArray>,
    set: &'a [(usize, ArrayRef)],
}

impl Successor<'_> {
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
                // It is older than the column, and so is its successor.
                continue;
            }
            let array = self.rows_of(position)?;
            if definition.time_column().is_some_and(|time| time.id == column.id) {
                let times = times_from(definition, &array)?;
                (time_min, time_max) = (min(&times).unwrap_or(time_min), max(&times).unwrap_or(time_max));
            }
            push(encode_page(self.uid, column, &array, Effort::Fresh).map_err(new_chunks_instead)?);
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

    /// The pages that stay as they are.
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
        let ChunkDescriptor { uid, .. } = self.chunk.descriptor;
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
        let positions = index_positions(&self.scan.table.definition, index)?;
        let columns = positions.into_iter().map(|position| self.rows_of(position)).collect::<Result<Vec<_>>>()?;
        encode_membership(self.uid, index.id, &columns)
    }

    fn is_set(&self, position: usize) -> bool {
        self.set.iter().any(|(set, _)| *set == position)
    }

    /// A column of the rows that stay.
    fn rows_of(&self, position: usize) -> Result<ArrayRef> {
        let array = match self.set.iter().find(|(set, _)| *set == position) {
            Some((_, array)) => ArrayRef::clone(array),
            None => {
                let column: &Column = &self.scan.table.definition.columns[position];
                self.scan.load(self.chunk, &[column])?.remove(0)
            }
        };
        match self.keep {
            Some(keep) => filter(&array, keep).map_err(internal),
            None => Ok(array),
        }
    }
}
