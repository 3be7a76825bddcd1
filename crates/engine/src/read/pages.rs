//! Reading a chunk's pages: from the page cache on this machine, if the store has one, else from the store.
//!
//! A cached page is used if its checksum, which is bound to the chunk's name and the column, is valid. Otherwise the
//! page is read from the store and cached again.

use crate::chunk::index_columns::index_signature;
use crate::read::snapshot::Inner;
use atsdb_codec::check_page;
use atsdb_core::limits::INDEX_ID_MIN;
use atsdb_core::{ChunkDescriptor, ChunkEntry, ColumnId, Error, Result, Table};
use atsdb_pagecache::{PageFile, PageRange};

impl Inner {
    /// Pages of a chunk, of columns or of one index, in the order of `ids`. The caller checks them when it decodes
    /// them.
    pub(crate) fn pages(
        &self,
        table: &Table,
        entry: &ChunkEntry,
        descriptor: &ChunkDescriptor,
        ids: &[ColumnId],
    ) -> Result<Vec<Vec<u8>>> {
        let page_cache = self.shared.page_cache.as_deref().filter(|_| !self.past_caches);
        let kept = page_cache.zip(file_of(table, entry, descriptor, ids));
        let Some((cache, file)) = kept else { return self.stored_pages(entry, ids) };
        let places: Vec<PageRange> = ids.iter().map(|id| location_of(descriptor, *id)).collect::<Result<_>>()?;
        let is_whole = |position: usize, bytes: &[u8]| check_page(descriptor.uid, ids[position], bytes).is_ok();
        let mut pages = cache.read(&file, &places, is_whole);
        let missing: Vec<usize> = (0..ids.len()).filter(|position| pages[*position].is_none()).collect();
        if !missing.is_empty() {
            let wanted: Vec<ColumnId> = missing.iter().map(|position| ids[*position]).collect();
            let stored = self.stored_pages(entry, &wanted)?;
            let mut keep = Vec::with_capacity(stored.len());
            for (position, page) in missing.into_iter().zip(stored) {
                // A page that is damaged in the store is not cached; decoding it reports the damage.
                if page.len() == places[position].byte_count as usize && is_whole(position, &page) {
                    keep.push((places[position], page.clone()));
                }
                pages[position] = Some(page);
            }
            if !keep.is_empty() {
                cache.keep(file, keep);
            }
        }
        Ok(pages.into_iter().flatten().collect())
    }

    fn stored_pages(&self, entry: &ChunkEntry, ids: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        let pages = self.store.read_pages(entry.id, ids)?;
        match pages.len() == ids.len() {
            true => Ok(pages),
            false => Err(Error::internal("the store returned another number of pages than requested")),
        }
    }
}

/// The cache file of these pages. `None` for pages that are not cached: those of a chunk in a batch's memory, and those
/// of columns and an index together.
fn file_of(table: &Table, entry: &ChunkEntry, descriptor: &ChunkDescriptor, ids: &[ColumnId]) -> Option<PageFile> {
    match ids {
        _ if entry.id.0 < 0 => None,
        _ if ids.iter().all(is_column) => Some(PageFile::of_columns(descriptor.uid)),
        [id] => {
            let index = table.definition.indexes.iter().find(|index| index.id == *id)?;
            let signature = index_signature(&table.definition, index).ok()?;
            Some(PageFile::of_index(descriptor.uid, &signature))
        }
        _ => None,
    }
}

fn is_column(id: &ColumnId) -> bool {
    id.0 < INDEX_ID_MIN
}

/// The location of a page in its cache file. Pages of columns are ordered by number, as in the descriptor: the set of
/// columns of a chunk never changes. An index has a separate file.
fn location_of(descriptor: &ChunkDescriptor, id: ColumnId) -> Result<PageRange> {
    let mut offset = 0;
    for page in descriptor.pages.iter().filter(|page| is_column(&page.column) || page.column == id) {
        if page.column == id {
            let offset = if is_column(&id) { offset } else { 0 };
            return Ok(PageRange { offset, byte_count: page.byte_count });
        }
        offset += u64::from(page.byte_count);
    }
    Err(Error::internal(format!("the chunk has no page of column {}", id.0)))
}
