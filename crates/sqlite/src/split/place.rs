//! Where pages lie in page files.

/// From this number on a payload number is a place in a page file.
pub(crate) const PLACED: i64 = 1 << 62;

/// How many bits of it say where in the file.
const OFFSET_BITS: u32 = 32;

/// Where a chunk's block lies: the number of the page file, and the bytes before the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: i64,
    pub(crate) offset: u32,
}

impl Place {
    /// The place that a payload number is; `None` for pages in the catalogue.
    pub(crate) fn of(payload: i64) -> Option<Self> {
        (payload >= PLACED)
            .then_some(Self { file: (payload ^ PLACED) >> OFFSET_BITS, offset: (payload & 0xffff_ffff) as u32 })
    }

    /// The payload number.
    pub(crate) fn payload(self) -> i64 {
        PLACED | self.file << OFFSET_BITS | i64::from(self.offset)
    }

    /// The payload numbers of all places in a file: the first, and the one behind the last.
    pub(crate) fn range(file: i64) -> (i64, i64) {
        (PLACED | file << OFFSET_BITS, PLACED | (file + 1) << OFFSET_BITS)
    }
}

/// The number of the file of a payload number, in SQL.
pub(crate) fn file_of(payload: &str) -> String {
    format!("(({payload} - {PLACED}) >> {OFFSET_BITS})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_number_is_a_place_or_none() {
        for (file, offset) in [(1, 0), (1, u32::MAX), (0x3fff_fffe, 48), (7, 1 << 28)] {
            let place = Place { file, offset };
            assert_eq!(Place::of(place.payload()), Some(place));
            let (first, end) = Place::range(file);
            assert!((first..end).contains(&place.payload()));
        }
        assert_eq!([0, 1, 1 << 46, PLACED - 1].map(Place::of), [None; 4]);
        let sql = format!("SELECT {}", file_of("?1"));
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let file: i64 =
            connection.query_row(&sql, [Place { file: 77, offset: 9 }.payload()], |row| row.get(0)).unwrap();
        assert_eq!(file, 77);
    }
}
