//! Where the pages of a chunk lie. They are one stream of bytes under the chunk's payload number, cut into parts of equal
//! size: a row for each page would waste half a block of the server's file on each.

use atsdb_core::{ColumnId, Error, Result};

const ENTRY_BYTES: usize = 14;

/// Where one page lies in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) column: ColumnId,
    pub(crate) first: u64,
    pub(crate) byte_count: u32,
}

impl Place {
    /// The position behind the page.
    pub(crate) fn end(&self) -> u64 {
        self.first + u64::from(self.byte_count)
    }
}

/// The pages of a chunk, in the order of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Directory(pub(crate) Vec<Place>);

impl Directory {
    /// Places pages one after the other, the first at this position.
    pub(crate) fn place(&mut self, mut first: u64, pages: impl Iterator<Item = (ColumnId, usize)>) {
        for (column, byte_count) in pages {
            let place = Place { column, first, byte_count: byte_count as u32 };
            first = place.end();
            self.0.push(place);
        }
    }

    /// The position behind all pages.
    pub(crate) fn end(&self) -> u64 {
        self.0.iter().map(Place::end).max().unwrap_or(0)
    }

    /// Where a column's page lies.
    pub(crate) fn find(&self, column: ColumnId) -> Option<Place> {
        self.0.iter().find(|place| place.column == column).copied()
    }

    /// As stored: of each page the column (2 bytes), the position (8) and the length (4), little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * ENTRY_BYTES);
        for place in &self.0 {
            bytes.extend(place.column.0.to_le_bytes());
            bytes.extend(place.first.to_le_bytes());
            bytes.extend(place.byte_count.to_le_bytes());
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. Positions of damaged bytes are bounded, so that sums of them do not
    /// overflow.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        let read = |entry: &[u8; ENTRY_BYTES]| {
            let [c0, c1, first @ .., l0, l1, l2, l3] = *entry;
            let byte_count = u32::from_le_bytes([l0, l1, l2, l3]);
            Place { column: ColumnId(u16::from_le_bytes([c0, c1])), first: u64::from_le_bytes(first), byte_count }
        };
        let places: Vec<Place> = entries.iter().map(read).collect();
        match rest.is_empty() && places.iter().all(|place| place.first <= i64::MAX as u64 / 2) {
            true => Ok(Self(places)),
            false => Err(Error::corrupt("a chunk's list of pages is damaged")
                .with_hint("run verify to find what is affected, and restore that from a backup")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_comes_back_as_it_was() {
        let mut directory = Directory::default();
        directory.place(0, [(ColumnId(0), 7), (ColumnId(3), 0)].into_iter());
        directory.place(1 << 40, [(ColumnId(u16::MAX), 5)].into_iter());
        assert_eq!(Directory::from_bytes(&directory.to_bytes()).unwrap(), directory);
        assert_eq!((directory.end(), directory.find(ColumnId(3)).unwrap().first), ((1 << 40) + 5, 7));
        assert!(Directory::from_bytes(&directory.to_bytes()[1..]).is_err());
        assert!(Directory::from_bytes(&[0xff; ENTRY_BYTES]).is_err());
    }
}
