//! The deleted rows of a part, page by page, so that another version that differs in one row shares the other pages.

use arrow::buffer::BooleanBuffer;
use std::ops::Range;
use std::sync::Arc;

/// The number of rows per page.
pub(crate) const PAGE_ROWS: usize = 1 << 14;

type Page = [u64; PAGE_ROWS / 64];

/// A set of deleted rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeletedRows {
    pages: Vec<Option<Arc<Page>>>,
    count: usize,
}

impl DeletedRows {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn contains(&self, row: usize) -> bool {
        match self.pages.get(row / PAGE_ROWS) {
            Some(Some(page)) => page[row % PAGE_ROWS / 64] >> (row % 64) & 1 == 1,
            _ => false,
        }
    }

    pub(crate) fn insert(&mut self, row: usize) {
        let page = row / PAGE_ROWS;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let page = Arc::make_mut(self.pages[page].get_or_insert_with(|| Arc::new([0; PAGE_ROWS / 64])));
        let word = &mut page[row % PAGE_ROWS / 64];
        self.count += usize::from(*word >> (row % 64) & 1 == 0);
        *word |= 1 << (row % 64);
    }

    /// Returns which rows of a range are live, or `None` if all are.
    pub(crate) fn live(&self, rows: Range<usize>) -> Option<BooleanBuffer> {
        if self.count == 0 || rows.is_empty() {
            return None;
        }
        let mut pages = rows.start / PAGE_ROWS..=(rows.end - 1) / PAGE_ROWS;
        pages
            .any(|page| matches!(self.pages.get(page), Some(Some(_))))
            .then(|| BooleanBuffer::collect_bool(rows.len(), |at| !self.contains(rows.start + at)))
    }

    pub(crate) fn byte_count(&self) -> usize {
        let pages = self.pages.iter().flatten().count() * size_of::<Page>();
        pages + self.pages.len() * size_of::<usize>()
    }
}
