//! The location of pages in page files.

/// Payload numbers from this one on are locations in page files.
pub(crate) const PAGE_LOCATION_MIN: i64 = 1 << 62;

/// The number of bits of a payload number that are the offset in the file.
const OFFSET_BITS: u32 = 32;

/// The location of a chunk's block: the number of the page file, and the offset of the block in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PageLocation {
    pub(crate) file: i64,
    pub(crate) offset: u32,
}

impl PageLocation {
    /// Returns the location of a payload number; `None` for pages in the catalogue.
    pub(crate) fn of(payload: i64) -> Option<Self> {
        (payload >= PAGE_LOCATION_MIN).then_some(Self {
            file: (payload ^ PAGE_LOCATION_MIN) >> OFFSET_BITS,
            offset: (payload & 0xffff_ffff) as u32,
        })
    }

    /// Returns the payload number.
    pub(crate) fn payload(self) -> i64 {
        PAGE_LOCATION_MIN | self.file << OFFSET_BITS | i64::from(self.offset)
    }

    /// Returns the payload numbers of all locations in a file: the first one, and the end.
    pub(crate) fn range(file: i64) -> (i64, i64) {
        (PAGE_LOCATION_MIN | file << OFFSET_BITS, PAGE_LOCATION_MIN | (file + 1) << OFFSET_BITS)
    }
}

/// Returns an SQL expression for the file number of a payload number.
pub(crate) fn file_of(payload: &str) -> String {
    format!("(({payload} - {PAGE_LOCATION_MIN}) >> {OFFSET_BITS})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_number_is_a_place_or_none() {
        for (file, offset) in [(1, 0), (1, u32::MAX), (0x3fff_fffe, 48), (7, 1 << 28)] {
            let location = PageLocation { file, offset };
            assert_eq!(PageLocation::of(location.payload()), Some(location));
            let (first, end) = PageLocation::range(file);
            assert!((first..end).contains(&location.payload()));
        }
        assert_eq!([0, 1, 1 << 46, PAGE_LOCATION_MIN - 1].map(PageLocation::of), [None; 4]);
        let sql = format!("SELECT {}", file_of("?1"));
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let file: i64 =
            connection.query_row(&sql, [PageLocation { file: 77, offset: 9 }.payload()], |row| row.get(0)).unwrap();
        assert_eq!(file, 77);
    }
}
