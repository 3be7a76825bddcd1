//! The pages of a small chunk, together in the chunk's row. A commit of few rows then changes fewer pages of the file,
//! and nothing is left to delete when the chunk is sealed.
//!
//! The bytes are a list and the pages, in the order of their columns: the number of pages, then for each page its
//! column and its length, 2 bytes each, little-endian; then the pages. Each page has its own checksum, which is bound
//! to its chunk and column, so damage to the list is found as damage to a page.

use atsdb_core::{ColumnId, NewChunk};

/// A chunk with more bytes of pages has a row of `atsdb_page` for each. So a column is read without the others if these
/// are more than half a page of the file.
const BYTES_MAX: u64 = 2_048;
const COUNT_BYTES: usize = 2;
const ENTRY_BYTES: usize = 4;

/// Encodes the pages of a small chunk; `None` if it is not small.
pub(crate) fn encode(chunk: &NewChunk) -> Option<Vec<u8>> {
    let list_bytes = COUNT_BYTES + ENTRY_BYTES * chunk.pages.len();
    let page_bytes = chunk.descriptor.byte_count();
    if page_bytes + list_bytes as u64 > BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::with_capacity(list_bytes + usize::try_from(page_bytes).ok()?);
    bytes.extend_from_slice(&u16::try_from(chunk.pages.len()).ok()?.to_le_bytes());
    for (described, page) in chunk.descriptor.pages.iter().zip(&chunk.pages) {
        bytes.extend_from_slice(&described.column.0.to_le_bytes());
        bytes.extend_from_slice(&u16::try_from(page.len()).ok()?.to_le_bytes());
    }
    chunk.pages.iter().for_each(|page| bytes.extend_from_slice(page));
    Some(bytes)
}

/// Returns each page with its column; `None` if the bytes are damaged.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<(ColumnId, &[u8])>> {
    let number = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let count = usize::from(number(0)?);
    let mut start = COUNT_BYTES + ENTRY_BYTES * count;
    let mut pages = Vec::with_capacity(count.min(bytes.len() / ENTRY_BYTES));
    for entry in (COUNT_BYTES..start).step_by(ENTRY_BYTES) {
        let (column, length) = (ColumnId(number(entry)?), usize::from(number(entry + 2)?));
        pages.push((column, bytes.get(start..start + length)?));
        start += length;
    }
    (start == bytes.len()).then_some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::TableId;
    use atsdb_testkit::sample::Plan;

    #[test]
    fn pages_come_back_and_damage_is_noticed() {
        let chunk = Plan::new(1).with_pages(3, 100).chunk(TableId(1));
        let bytes = encode(&chunk).unwrap();
        let pages = decode(&bytes).unwrap();
        let columns = chunk.descriptor.pages.iter().map(|page| page.column);
        let expected: Vec<(ColumnId, &[u8])> = columns.zip(chunk.pages.iter().map(Vec::as_slice)).collect();
        assert_eq!(pages, expected);
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None, "{length}");
        }
        assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn a_chunk_that_is_not_small_has_rows_of_its_pages() {
        assert!(encode(&Plan::new(1).with_pages(2, 1_000).chunk(TableId(1))).is_some());
        assert!(encode(&Plan::new(1).with_pages(2, 1_030).chunk(TableId(1))).is_none());
        let none = decode(&encode(&Plan::new(1).with_pages(0, 0).chunk(TableId(1))).unwrap()).map(|pages| pages.len());
        assert_eq!(none, Some(0));
    }
}
