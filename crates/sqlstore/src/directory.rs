//! The directory of a chunk's pages. They are one stream of bytes under the chunk's payload number, cut into parts of
//! equal size: a row for each page would waste half a block of the server's file for each.

use atsdb_core::{ColumnId, Error, Result, refusal};

const ENTRY_BYTES: usize = 14;

/// The extent of one page in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageExtent {
    pub(crate) column: ColumnId,
    pub(crate) first: u64,
    pub(crate) byte_count: u32,
}

impl PageExtent {
    /// Returns the end of the page in the stream.
    pub(crate) fn end(&self) -> u64 {
        self.first + u64::from(self.byte_count)
    }
}

/// The pages of a chunk, in the order of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageDirectory(pub(crate) Vec<PageExtent>);

impl PageDirectory {
    /// Appends pages one after the other, the first at this position. Pages are given by column and size in bytes.
    pub(crate) fn append_pages(&mut self, mut first: u64, pages: impl Iterator<Item = (ColumnId, usize)>) {
        for (column, byte_count) in pages {
            let location = PageExtent { column, first, byte_count: byte_count as u32 };
            first = location.end();
            self.0.push(location);
        }
    }

    /// Returns the end of all pages in the stream.
    pub(crate) fn end(&self) -> u64 {
        self.0.iter().map(PageExtent::end).max().unwrap_or(0)
    }

    /// Returns the extent of a column's page.
    pub(crate) fn find(&self, column: ColumnId) -> Option<PageExtent> {
        self.0.iter().find(|location| location.column == column).copied()
    }

    /// Encodes the directory: for each page the column (2 bytes), the position (8) and the length (4), little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * ENTRY_BYTES);
        for location in &self.0 {
            bytes.extend(location.column.0.to_le_bytes());
            bytes.extend(location.first.to_le_bytes());
            bytes.extend(location.byte_count.to_le_bytes());
        }
        bytes
    }

    /// Decodes what [`to_bytes`](Self::to_bytes) encoded. The positions of damaged bytes are bounded, so that sums do
    /// not overflow.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        let read = |entry: &[u8; ENTRY_BYTES]| {
            let [c0, c1, first @ .., l0, l1, l2, l3] = *entry;
            let byte_count = u32::from_le_bytes([l0, l1, l2, l3]);
            PageExtent { column: ColumnId(u16::from_le_bytes([c0, c1])), first: u64::from_le_bytes(first), byte_count }
        };
        let places: Vec<PageExtent> = entries.iter().map(read).collect();
        match rest.is_empty() && places.iter().all(|location| location.first <= i64::MAX as u64 / 2) {
            true => Ok(Self(places)),
            false => Err(Error::corrupt("a chunk's list of pages is damaged").with_hint(refusal::VERIFY)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_comes_back_as_it_was() {
        let mut directory = PageDirectory::default();
        directory.append_pages(0, [(ColumnId(0), 7), (ColumnId(3), 0)].into_iter());
        directory.append_pages(1 << 40, [(ColumnId(u16::MAX), 5)].into_iter());
        assert_eq!(PageDirectory::from_bytes(&directory.to_bytes()).unwrap(), directory);
        assert_eq!((directory.end(), directory.find(ColumnId(3)).unwrap().first), ((1 << 40) + 5, 7));
        assert!(PageDirectory::from_bytes(&directory.to_bytes()[1..]).is_err());
        assert!(PageDirectory::from_bytes(&[0xff; ENTRY_BYTES]).is_err());
    }
}
